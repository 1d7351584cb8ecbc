package android.widget;

/** Stand-in. */
public class ScrollView extends android.view.View {}
