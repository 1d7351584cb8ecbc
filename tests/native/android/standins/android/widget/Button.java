package android.widget;

/** Stand-in. */
public class Button extends TextView {}
