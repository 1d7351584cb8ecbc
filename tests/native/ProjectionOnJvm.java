// exportmobile.jni.Projection in a JVM of the desktop: features of every line of a file of UTF-16 units, high byte
// first, which may be halves of pairs. Of a text the number of tokens is written in one byte, then its features.
// java -Djava.library.path=FOLDER -cp CLASSES ProjectionOnJvm.java CONFIG_TEXT VALUES FILE_OF_TEXTS OUTPUT
import exportmobile.jni.Projection;
import java.io.FileOutputStream;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;

class ProjectionOnJvm {
  public static void main(String[] arguments) throws Exception {
    ByteBuffer features = ByteBuffer.allocateDirect(Integer.parseInt(arguments[1]));
    byte[] row = new byte[features.capacity()];
    try (Projection projection = new Projection(arguments[0]);
        FileOutputStream out = new FileOutputStream(arguments[3])) {
      ByteBuffer units = ByteBuffer.wrap(Files.readAllBytes(Path.of(arguments[2])));
      char[] all = new char[units.capacity() / 2];
      units.asCharBuffer().get(all);
      for (String text : new String(all).split("\n", -1)) {
        int tokens = projection.project(text, features);
        features.rewind().get(row);
        out.write(tokens);
        out.write(row);
      }
    } catch (IllegalArgumentException error) {
      System.err.println(error.getMessage());
      System.exit(2);
    }
  }
}
