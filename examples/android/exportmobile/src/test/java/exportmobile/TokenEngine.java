package exportmobile;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/**
 * An engine for token models whose right answer a test knows. Of label n, the logit of a token is 1 if its id ends in n;
 * that of a text is the sum over its tokens. An answer starts and ends best where the ids are largest. Remembers what
 * it was fed with.
 */
final class TokenEngine implements Engine, Engine.Factory {
  private static final int LABELS = 3;
  private final String task;
  int[] ids;
  int[] mask;
  int[] segments;

  TokenEngine(String task) {
    this.task = task;
  }

  @Override
  public Engine open(ByteBuffer model) {
    return this;
  }

  @Override
  public List<TensorInfo> inputs() {
    List<TensorInfo> inputs = new ArrayList<>();
    for (String name : Arrays.asList("segments", "mask", "ids")) {
      inputs.add(new TensorInfo(name, TensorInfo.Type.INT32, new int[] {1, 8}, 0, 0));
    }
    return inputs;
  }

  @Override
  public List<TensorInfo> outputs() {
    if (task.equals(ModelFolder.QUESTIONS)) {
      return Arrays.asList(output("end_logits", 1, 8), output("start_logits", 1, 8));
    }
    if (task.equals(ModelFolder.TAGS)) {
      return Arrays.asList(output("logits", 1, 8, LABELS));
    }
    return Arrays.asList(output("logits", 1, task.equals(ModelFolder.REGRESSION) ? 1 : LABELS));
  }

  private static TensorInfo output(String name, int... shape) {
    return new TensorInfo(name, TensorInfo.Type.FLOAT32, shape, 0, 0);
  }

  @Override
  public void run(Map<String, Object> inputs, Map<String, Object> outputs) {
    ids = ((int[][]) inputs.get("ids"))[0];
    mask = ((int[][]) inputs.get("mask"))[0];
    segments = ((int[][]) inputs.get("segments"))[0];
    if (task.equals(ModelFolder.QUESTIONS)) {
      for (String name : Arrays.asList("start_logits", "end_logits")) {
        for (int id : ids) {
          ((ByteBuffer) outputs.get(name)).putFloat(id);
        }
      }
      return;
    }
    ByteBuffer logits = (ByteBuffer) outputs.get("logits");
    if (task.equals(ModelFolder.REGRESSION)) {
      logits.putFloat(ids.length);
      return;
    }
    float[] sums = new float[LABELS];
    for (int place = 0; place < ids.length; place++) {
      for (int label = 0; label < LABELS; label++) {
        float logit = mask[place] == 1 && ids[place] % 10 == label ? 1 : 0;
        sums[label] += logit;
        if (task.equals(ModelFolder.TAGS)) {
          logits.putFloat(logit);
        }
      }
    }
    if (!task.equals(ModelFolder.TAGS)) {
      for (float sum : sums) {
        logits.putFloat(sum);
      }
    }
  }

  @Override
  public void close() {}
}
