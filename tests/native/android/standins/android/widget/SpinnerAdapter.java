package android.widget;

/** Stand-in. */
public interface SpinnerAdapter {
  int getCount();

  Object getItem(int position);
}
