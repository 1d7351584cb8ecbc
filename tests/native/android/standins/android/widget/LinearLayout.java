package android.widget;

/** Stand-in. */
public class LinearLayout extends android.view.View {}
