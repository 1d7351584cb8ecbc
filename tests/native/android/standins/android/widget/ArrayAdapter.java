package android.widget;

import android.content.Context;
import java.util.List;

/** Stand-in. */
public class ArrayAdapter<T> implements SpinnerAdapter {
  private final List<T> items;

  public ArrayAdapter(Context context, int layout, List<T> items) {
    this.items = items;
  }

  @Override
  public int getCount() {
    return items.size();
  }

  @Override
  public T getItem(int position) {
    return items.get(position);
  }
}
