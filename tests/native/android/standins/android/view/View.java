package android.view;

/** Stand-in: a view that can be clicked. */
public class View {
  /** As on Android. */
  public interface OnClickListener {
    void onClick(View view);
  }

  private OnClickListener listener;

  public void setOnClickListener(OnClickListener listener) {
    this.listener = listener;
  }

  public boolean performClick() {
    listener.onClick(this);
    return true;
  }
}
