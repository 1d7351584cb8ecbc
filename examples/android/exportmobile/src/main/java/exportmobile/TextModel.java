package exportmobile;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * A model of an export folder. Safe for several threads: texts are prepared side by side and run one after the other.
 * Use it off the main thread, and close it when it is no longer needed.
 */
public abstract class TextModel implements AutoCloseable {
  static final String LOGITS = "logits";

  final ModelFolder folder;
  final Inputs inputs;
  private final Engine engine;
  private boolean closed;

  TextModel(ModelFolder folder, Engine.Factory engines, FeatureSource features, String... tasks) throws IOException {
    this.folder = folder;
    if (!Arrays.asList(tasks).contains(folder.task)) {
      throw new IllegalArgumentException(
          getClass().getSimpleName() + " runs models for " + Arrays.toString(tasks) + ". Received: one for "
              + folder.task + ". TextClassifier, WordTagger and QuestionAnswerer each have their tasks.");
    }
    engine = engines.open(folder.files.map(folder.file));
    try {
      inputs = new Inputs(folder, engine.inputs(), features);
      checkOutputs();
    } catch (RuntimeException unfit) {
      engine.close();
      throw unfit;
    }
  }

  /** The model of a folder, of the class that its task needs. */
  public static TextModel open(ModelFiles files, Engine.Factory engines) throws IOException {
    ModelFolder folder = new ModelFolder(files);
    if (folder.task.equals(ModelFolder.TAGS)) {
      return new WordTagger(folder, engines);
    }
    return folder.task.equals(ModelFolder.QUESTIONS)
        ? new QuestionAnswerer(folder, engines)
        : new TextClassifier(folder, engines, null);
  }

  /** The labels of labels.txt; none for question answering. */
  public final List<String> labels() {
    return folder.labels;
  }

  /** The name of the model file that runs. */
  public final String file() {
    return folder.file;
  }

  /** Runs the texts of examples.json and compares inputs and answers with those of the export. */
  public final SelfTest selfTest() throws IOException {
    return SelfTest.of(this);
  }

  @Override
  public final synchronized void close() {
    if (!closed) {
      closed = true;
      engine.close();
    }
  }

  /** Answers to a row, by output name, as floats. */
  final synchronized Map<String, float[]> run(Row row, Iterable<String> names) {
    if (closed) {
      throw new IllegalStateException("Expected an open model. Received: one that is closed. Open it again.");
    }
    Map<String, Object> buffers = new HashMap<>();
    List<TensorInfo> wanted = new ArrayList<>();
    for (String name : names) {
      TensorInfo output = output(name);
      wanted.add(output);
      buffers.put(
          name,
          ByteBuffer.allocateDirect(size(output, row) * output.type.bytes).order(ByteOrder.nativeOrder()));
    }
    engine.run(row.feed, buffers);
    Map<String, float[]> answers = new HashMap<>();
    for (TensorInfo output : wanted) {
      ByteBuffer buffer = (ByteBuffer) buffers.get(output.name);
      if (buffer.position() != buffer.capacity()) {
        throw new IllegalStateException(
            folder.file + " must answer with " + buffer.capacity() + " bytes of " + output.name
                + ". Received: " + buffer.position() + ". Export the model again.");
      }
      buffer.rewind();
      answers.put(output.name, floats(buffer, output));
    }
    return answers;
  }

  final float[] logits(Row row) {
    return run(row, Arrays.asList(LOGITS)).get(LOGITS);
  }

  final boolean perToken() {
    return folder.task.equals(ModelFolder.TAGS);
  }

  private int size(TensorInfo output, Row row) {
    if (folder.task.equals(ModelFolder.QUESTIONS)) {
      return row.length;
    }
    return perToken() ? row.length * output.last() : output.last();
  }

  private TensorInfo output(String name) {
    for (TensorInfo output : engine.outputs()) {
      if (output.name.equals(name)) {
        return output;
      }
    }
    throw new IllegalArgumentException(
        folder.file + " must have the output " + name + ". Received: " + engine.outputs()
            + ". Use the model file of the export folder.");
  }

  private void checkOutputs() {
    if (folder.task.equals(ModelFolder.QUESTIONS)) {
      checkType(output(QuestionAnswerer.START));
      checkType(output(QuestionAnswerer.END));
      return;
    }
    TensorInfo logits = output(LOGITS);
    checkType(logits);
    int labels = Math.max(1, folder.labels.size());
    if (logits.last() != labels) {
      throw new IllegalArgumentException(
          folder.file + " answers with " + logits.last() + " numbers, so labels.txt must have as many lines."
              + " Received: " + folder.labels.size() + ". Copy both from the same export folder.");
    }
  }

  private void checkType(TensorInfo output) {
    if (output.type != TensorInfo.Type.FLOAT32 && output.type != TensorInfo.Type.INT8) {
      throw new IllegalArgumentException(
          folder.file + " must answer in FLOAT32 or INT8. Received: " + output + ".");
    }
  }

  private static float[] floats(ByteBuffer buffer, TensorInfo output) {
    float[] values = new float[buffer.capacity() / output.type.bytes];
    if (output.type == TensorInfo.Type.FLOAT32) {
      buffer.asFloatBuffer().get(values);
      return values;
    }
    for (int i = 0; i < values.length; i++) {
      values[i] = (buffer.get(i) - output.zeroPoint) * output.scale;
    }
    return values;
  }
}
