package exportmobile.jni;

import exportmobile.FeatureSource;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/**
 * Texts to int8 features [1, max_seq_len, feature_size] by the C++ core; projection_jni.cc is the other side. Takes
 * "config_text" of projection.json. May be shared by threads until it is closed.
 */
public final class Projection implements FeatureSource, AutoCloseable {
  static {
    System.loadLibrary("export_mobile_jni");
  }

  private long handle;

  public Projection(String configText) {
    handle = create(configText.getBytes(StandardCharsets.UTF_8));
  }

  @Override
  public int project(String text, ByteBuffer features) {
    if (handle == 0) {
      throw new IllegalStateException("Expected an open projection. Received: one that is closed.");
    }
    return write(handle, text.getBytes(StandardCharsets.UTF_8), features);
  }

  @Override
  public void close() {
    free(handle);
    handle = 0;
  }

  private native long create(byte[] config);

  private native int write(long handle, byte[] text, ByteBuffer features);

  private native void free(long handle);
}
