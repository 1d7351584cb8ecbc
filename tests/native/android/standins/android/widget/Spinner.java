package android.widget;

import android.view.View;

/** Stand-in: the first item is selected until another one is. */
public class Spinner extends View {
  private SpinnerAdapter adapter;
  private int selected;

  public SpinnerAdapter getAdapter() {
    return adapter;
  }

  public void setAdapter(SpinnerAdapter adapter) {
    this.adapter = adapter;
  }

  public void setSelection(int position) {
    selected = position;
  }

  public Object getSelectedItem() {
    return adapter.getCount() == 0 ? null : adapter.getItem(selected);
  }
}
