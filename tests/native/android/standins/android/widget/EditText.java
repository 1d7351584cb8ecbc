package android.widget;

/** Stand-in. */
public class EditText extends TextView {}
