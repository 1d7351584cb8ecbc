// The Java side of examples/android/projection_jni.cc, for a JVM of the desktop: features of every line of a file.
// java ProjectionOnJvm.java LIBRARY CONFIG_TEXT VALUES FILE_OF_TEXTS OUTPUT
package exportmobile;

import java.io.FileOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

class ProjectionOnJvm {
  public static void main(String[] arguments) throws Exception {
    System.load(arguments[0]);
    Projection projection = new Projection();
    ByteBuffer features = ByteBuffer.allocateDirect(Integer.parseInt(arguments[2]));
    byte[] row = new byte[features.capacity()];
    try {
      long handle = projection.create(arguments[1].getBytes(StandardCharsets.UTF_8));
      try (FileOutputStream out = new FileOutputStream(arguments[4])) {
        for (String text : Files.readString(Path.of(arguments[3])).split("\n", -1)) {
          int tokens = projection.write(handle, text.getBytes(StandardCharsets.UTF_8), features);
          features.rewind().get(row);
          out.write(tokens);
          out.write(row);
        }
      }
      projection.free(handle);
    } catch (IllegalArgumentException error) {
      System.err.println(error.getMessage());
      System.exit(2);
    }
  }
}

class Projection {
  native long create(byte[] config);

  native int write(long handle, byte[] text, ByteBuffer out);

  native void free(long handle);
}
