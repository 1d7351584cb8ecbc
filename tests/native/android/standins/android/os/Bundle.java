package android.os;

/** Stand-in. */
public final class Bundle {}
