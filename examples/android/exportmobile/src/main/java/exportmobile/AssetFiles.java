package exportmobile;

import android.content.res.AssetFileDescriptor;
import android.content.res.AssetManager;
import java.io.ByteArrayOutputStream;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;

/** An export folder in the assets of an app: {@code new AssetFiles(context.getAssets(), "prado")}. */
public final class AssetFiles implements ModelFiles {
  private final AssetManager assets;
  private final String folder;

  public AssetFiles(AssetManager assets, String folder) {
    this.assets = assets;
    this.folder = folder;
  }

  @Override
  public List<String> names() throws IOException {
    String[] names = assets.list(folder);
    return names == null ? Collections.<String>emptyList() : Arrays.asList(names);
  }

  @Override
  public byte[] read(String name) throws IOException {
    try (InputStream stream = assets.open(folder + "/" + name)) {
      ByteArrayOutputStream content = new ByteArrayOutputStream();
      byte[] part = new byte[1 << 16];
      for (int size = stream.read(part); size >= 0; size = stream.read(part)) {
        content.write(part, 0, size);
      }
      return content.toByteArray();
    }
  }

  /** Gradle leaves .tflite files uncompressed, so they can be mapped; a compressed one is copied. */
  @Override
  public ByteBuffer map(String name) throws IOException {
    AssetFileDescriptor place;
    try {
      place = assets.openFd(folder + "/" + name);
    } catch (IOException compressed) {
      byte[] content = read(name);
      ByteBuffer copy = ByteBuffer.allocateDirect(content.length).order(ByteOrder.nativeOrder());
      copy.put(content).rewind();
      return copy;
    }
    try (AssetFileDescriptor open = place;
        FileInputStream stream = new FileInputStream(open.getFileDescriptor())) {
      return stream.getChannel()
          .map(FileChannel.MapMode.READ_ONLY, open.getStartOffset(), open.getDeclaredLength())
          .order(ByteOrder.nativeOrder());
    }
  }
}
