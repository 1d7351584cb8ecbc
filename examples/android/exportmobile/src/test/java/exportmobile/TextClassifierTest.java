package exportmobile;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.io.IOException;
import java.util.List;
import org.junit.Test;
import org.junit.function.ThrowingRunnable;

public class TextClassifierTest {
  private final CountingEngine floats = CountingEngine.of(TensorInfo.Type.FLOAT32, 0, 0);

  private TextClassifier model(CountingEngine engine) throws IOException {
    return TextClassifier.open(MemoryFiles.projection("one\ntwo\nthree\n"), engine.factory());
  }

  @Test
  public void labelsComeByFallingProbability() throws IOException {
    List<Label> labels = model(floats).classify("cbc");
    assertEquals("three", labels.get(0).name);
    assertEquals(2, labels.get(0).index);
    assertEquals(2, labels.get(0).logit, 0);
    assertEquals("two", labels.get(1).name);
    assertEquals("one", labels.get(2).name);
    assertEquals(1, labels.get(0).probability + labels.get(1).probability + labels.get(2).probability, 1e-6);
  }

  @Test
  public void topLabelsAreTheFirstOfAll() throws IOException {
    assertEquals(2, model(floats).classify("cbc", 2).size());
    assertEquals(3, model(floats).classify("cbc", 99).size());
  }

  @Test
  public void int8AnswersAreScaled() throws IOException {
    Label best = model(CountingEngine.of(TensorInfo.Type.INT8, 0.5f, -7)).classify("bb").get(0);
    assertEquals("two", best.name);
    assertEquals(2, best.logit, 0);
  }

  @Test
  public void severalLabelsStandForThemselves() throws IOException {
    MemoryFiles files = MemoryFiles.projection("one\ntwo\nthree\n")
        .with(
            "projection.json",
            "{\"format\": \"export-mobile-projection/1\", \"max_seq_len\": 4, \"length\": {\"any\": true},"
                + " \"multi_label\": true}");
    TextClassifier model = TextClassifier.open(files, floats.factory());
    assertTrue(model.isMultiLabel());
    List<Label> labels = model.classifyAbove("aabb", 0.6f);
    assertEquals(2, labels.size());
    assertEquals(1 / (1 + Math.exp(-2)), labels.get(0).probability, 1e-6);
  }

  @Test
  public void longTextIsCutAndEmptyTextIsRead() throws IOException {
    StringBuilder text = new StringBuilder("ab");
    while (text.length() < 1 << 20) {
      text.append("\uD83D\uDE00b");
    }
    // 8 bytes are read: a, b, an emoji of 4 bytes, b and a quarter of the next emoji.
    Label best = model(floats).classify(text.toString()).get(0);
    assertEquals("two", best.name);
    assertEquals(2, best.logit, 0);
    assertEquals(0, model(floats).classify("").get(0).logit, 0);
  }

  @Test
  public void whatIsNoTextIsRefused() throws IOException {
    refused("half a surrogate pair (U+D83D) at index 1", "a\uD83D");
    refused("half a surrogate pair (U+DE00) at index 0", "\uDE00\uD83D");
    refused("Received: null", null);
  }

  @Test
  public void fileOfAnotherSignatureIsRefusedAndClosed() {
    TensorInfo image = new TensorInfo("image", TensorInfo.Type.FLOAT32, new int[] {1, 9}, 0, 0);
    TensorInfo logits = new TensorInfo("logits", TensorInfo.Type.FLOAT32, new int[] {1, 3}, 0, 0);
    TensorInfo text = new TensorInfo("text", TensorInfo.Type.UINT8, new int[] {1, 8}, 0, 0);
    unfit("must take text", new CountingEngine(image, logits));
    unfit("must have the output logits", new CountingEngine(text, image));
  }

  @Test
  public void damagedFolderIsRefused() {
    damaged("labels.txt beside the model", MemoryFiles.projection("a\nb\nc").without("labels.txt"));
    damaged("must have as many lines. Received: 2", MemoryFiles.projection("a\nb"));
    damaged("a damaged one", MemoryFiles.projection("a\nb\nc").with("projection.json", "{\"format\": "));
    damaged("no object", MemoryFiles.projection("a\nb\nc").with("projection.json", "[]"));
    damaged("\"format\" must be a text", MemoryFiles.projection("a\nb\nc").with("projection.json", "{}"));
    damaged("must have the format", MemoryFiles.projection("a").with("projection.json", "{\"format\": \"x\"}"));
    damaged("bytes_int8.tflite. Received: none", MemoryFiles.projection("a").without("bytes_int8.tflite"));
    damaged("Expected an export folder", new MemoryFiles());
  }

  @Test
  public void selfTestNamesTheTextThatFails() throws IOException {
    MemoryFiles files = MemoryFiles.projection("one\ntwo\nthree\n").with("examples.json", examples(2));
    SelfTest good = TextClassifier.open(files, floats.factory()).selfTest();
    assertTrue(good.toString(), good.passed());
    assertEquals(2, good.examples);
    SelfTest bad = TextClassifier.open(files.with("examples.json", examples(5)), floats.factory()).selfTest();
    assertFalse(bad.passed());
    assertEquals(3, bad.worst, 0);
    assertEquals(1, bad.failures.size());
    assertTrue(bad.failures.get(0), bad.failures.get(0).startsWith("example 1 \"bb\": an answer differs by 3.0"));
    final TextClassifier model = TextClassifier.open(files.with("examples.json", "{"), floats.factory());
    assertThrows(IllegalArgumentException.class, new ThrowingRunnable() {
      @Override
      public void run() throws IOException {
        model.selfTest();
      }
    });
  }

  @Test
  public void closedModelSaysSo() throws IOException {
    final TextClassifier model = model(floats);
    model.close();
    model.close();
    assertThrows(IllegalStateException.class, new ThrowingRunnable() {
      @Override
      public void run() {
        model.classify("a");
      }
    });
  }

  private static String examples(int second) {
    return "{\"format\": \"export-mobile-examples/1\", \"files\": {\"bytes_int8.tflite\": {\"tolerance\": 0.5}},"
        + " \"examples\": [{\"text\": \"a\", \"inputs\": {}, \"outputs\": {\"bytes_int8.tflite\": {\"logits\":"
        + " [1.2, 0, null]}}}, {\"text\": \"bb\", \"inputs\": {}, \"outputs\": {\"bytes_int8.tflite\":"
        + " {\"logits\": [0, " + second + ", 0]}}}]}";
  }

  private void refused(String part, final String text) throws IOException {
    final TextClassifier model = model(floats);
    contains(part, new ThrowingRunnable() {
      @Override
      public void run() {
        model.classify(text);
      }
    });
  }

  private void damaged(String part, final MemoryFiles files) {
    contains(part, new ThrowingRunnable() {
      @Override
      public void run() throws IOException {
        TextClassifier.open(files, floats.factory());
      }
    });
  }

  private void unfit(String part, final CountingEngine engine) {
    contains(part, new ThrowingRunnable() {
      @Override
      public void run() throws IOException {
        model(engine);
      }
    });
    assertTrue(engine.closed);
  }

  private static void contains(String part, ThrowingRunnable action) {
    String message = assertThrows(IllegalArgumentException.class, action).getMessage();
    assertTrue(message, message.contains(part));
    assertFalse(message, message.contains("\n"));
  }
}
