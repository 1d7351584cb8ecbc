package exportmobile;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;

/** The files of one export folder, wherever they are: in the assets of an app, or in a folder. */
public interface ModelFiles {
  /** Names of all files. */
  List<String> names() throws IOException;

  /** All bytes of a file. */
  byte[] read(String name) throws IOException;

  /** A file for the runtime: mapped into memory if that is possible, else a direct buffer in native order. */
  ByteBuffer map(String name) throws IOException;
}
