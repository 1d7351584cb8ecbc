package exportmobile;

import java.nio.ByteBuffer;

/**
 * Computes the features of a text for a features-in file. Only the optional native module has one
 * ({@code exportmobile.jni.Projection}): bytes-in files need none.
 */
public interface FeatureSource {
  /** Fills a direct buffer of exactly the features' size; gives the number of tokens. */
  int project(String text, ByteBuffer features);
}
