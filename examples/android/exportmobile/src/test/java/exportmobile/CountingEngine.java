package exportmobile;

import java.nio.ByteBuffer;
import java.util.Collections;
import java.util.List;
import java.util.Map;

/** Answers how often the letters a, b and c stand in the bytes: an engine whose right answer a test knows. */
final class CountingEngine implements Engine {
  static final int ROOM = 8;
  private final TensorInfo input;
  private final TensorInfo output;
  boolean closed;

  CountingEngine(TensorInfo input, TensorInfo output) {
    this.input = input;
    this.output = output;
  }

  static CountingEngine of(TensorInfo.Type outputs, float scale, int zeroPoint) {
    return new CountingEngine(
        new TensorInfo("text", TensorInfo.Type.UINT8, new int[] {1, ROOM}, 0, 0),
        new TensorInfo("logits", outputs, new int[] {1, 3}, scale, zeroPoint));
  }

  Engine.Factory factory() {
    return new Engine.Factory() {
      @Override
      public Engine open(ByteBuffer model) {
        return CountingEngine.this;
      }
    };
  }

  @Override
  public List<TensorInfo> inputs() {
    return Collections.singletonList(input);
  }

  @Override
  public List<TensorInfo> outputs() {
    return Collections.singletonList(output);
  }

  @Override
  public void run(Map<String, Object> inputs, Map<String, Object> outputs) {
    int[] counts = new int[3];
    ByteBuffer text = (ByteBuffer) inputs.get("text");
    for (int i = 0; i < text.capacity(); i++) {
      int letter = text.get(i) - 'a';
      if (letter >= 0 && letter < counts.length) {
        counts[letter]++;
      }
    }
    ByteBuffer logits = (ByteBuffer) outputs.get("logits");
    for (int count : counts) {
      if (output.type == TensorInfo.Type.FLOAT32) {
        logits.putFloat(count);
      } else {
        logits.put((byte) (count / output.scale + output.zeroPoint));
      }
    }
  }

  @Override
  public void close() {
    closed = true;
  }
}
