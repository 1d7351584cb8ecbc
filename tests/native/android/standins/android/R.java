package android;

/** Stand-in. */
public final class R {
  private R() {}

  /** Layouts of the platform. */
  public static final class layout {
    public static final int simple_spinner_dropdown_item = 1;

    private layout() {}
  }
}
