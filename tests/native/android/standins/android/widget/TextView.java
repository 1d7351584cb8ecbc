package android.widget;

import android.view.View;

/** Stand-in: keeps its text. */
public class TextView extends View {
  private volatile CharSequence text = "";

  public CharSequence getText() {
    return text;
  }

  public void setText(CharSequence text) {
    this.text = text;
  }

  public void setText(int resource) {
    this.text = "resource " + resource;
  }
}
