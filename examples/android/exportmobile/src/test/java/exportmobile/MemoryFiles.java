package exportmobile;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** An export folder in memory, which a test can damage. */
final class MemoryFiles implements ModelFiles {
  private final Map<String, byte[]> files = new LinkedHashMap<>();

  /** A bytes-in model with these labels. */
  static MemoryFiles projection(String labels) {
    return new MemoryFiles()
        .with("bytes_int8.tflite", "model")
        .with("labels.txt", labels)
        .with(
            "projection.json",
            "{\"format\": \"export-mobile-projection/1\", \"max_seq_len\": 4, \"length\": {\"any\": true}}");
  }

  MemoryFiles with(String name, String content) {
    files.put(name, content.getBytes(StandardCharsets.UTF_8));
    return this;
  }

  MemoryFiles without(String name) {
    files.remove(name);
    return this;
  }

  @Override
  public List<String> names() {
    return new ArrayList<>(files.keySet());
  }

  @Override
  public byte[] read(String name) throws IOException {
    if (!files.containsKey(name)) {
      throw new IOException(name);
    }
    return files.get(name);
  }

  @Override
  public ByteBuffer map(String name) throws IOException {
    byte[] content = read(name);
    ByteBuffer buffer = ByteBuffer.allocateDirect(content.length).order(ByteOrder.nativeOrder());
    buffer.put(content).rewind();
    return buffer;
  }
}
