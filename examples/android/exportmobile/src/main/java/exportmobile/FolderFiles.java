package exportmobile;

import java.io.DataInputStream;
import java.io.File;
import java.io.FileInputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;

/** An export folder on disk, such as one that an app has downloaded. */
public final class FolderFiles implements ModelFiles {
  private final File folder;

  public FolderFiles(File folder) {
    if (!folder.isDirectory()) {
      throw new IllegalArgumentException("Expected the folder of an export. Received: " + folder + ".");
    }
    this.folder = folder;
  }

  @Override
  public List<String> names() {
    String[] names = folder.list();
    return names == null ? Collections.<String>emptyList() : Arrays.asList(names);
  }

  @Override
  public byte[] read(String name) throws IOException {
    File file = new File(folder, name);
    byte[] content = new byte[(int) file.length()];
    try (DataInputStream stream = new DataInputStream(new FileInputStream(file))) {
      stream.readFully(content);
    }
    return content;
  }

  @Override
  public ByteBuffer map(String name) throws IOException {
    try (FileInputStream stream = new FileInputStream(new File(folder, name))) {
      FileChannel channel = stream.getChannel();
      return channel.map(FileChannel.MapMode.READ_ONLY, 0, channel.size()).order(ByteOrder.nativeOrder());
    }
  }
}
