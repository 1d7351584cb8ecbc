package android.content.res;

import java.io.Closeable;
import java.io.File;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.IOException;

/** Stand-in: a whole file on disk. */
public final class AssetFileDescriptor implements Closeable {
  private final FileInputStream stream;
  private final long length;

  AssetFileDescriptor(File file) throws IOException {
    stream = new FileInputStream(file);
    length = file.length();
  }

  public FileDescriptor getFileDescriptor() throws IOException {
    return stream.getFD();
  }

  public long getStartOffset() {
    return 0;
  }

  public long getDeclaredLength() {
    return length;
  }

  @Override
  public void close() throws IOException {
    stream.close();
  }
}
