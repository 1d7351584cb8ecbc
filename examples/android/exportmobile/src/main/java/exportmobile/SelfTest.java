package exportmobile;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * The outcome of examples.json on this device: inputs must be equal, answers may differ by the tolerance that the
 * export states for the file.
 */
public final class SelfTest {
  /** A line for each text that failed; empty if all passed. */
  public final List<String> failures;
  public final int examples;
  /** The largest difference of an answer. */
  public final double worst;
  public final double tolerance;

  private SelfTest(List<String> failures, int examples, double worst, double tolerance) {
    this.failures = Collections.unmodifiableList(failures);
    this.examples = examples;
    this.worst = worst;
    this.tolerance = tolerance;
  }

  public boolean passed() {
    return failures.isEmpty();
  }

  @Override
  public String toString() {
    return String.format(
        Locale.ROOT,
        "%s: %d examples, %d failed, largest difference %.2g of %.2g",
        passed() ? "passed" : "FAILED",
        examples,
        failures.size(),
        worst,
        tolerance);
  }

  static SelfTest of(TextModel model) throws IOException {
    Document document = model.folder.examples();
    Document files = document.object("files");
    if (!files.has(model.file())) {
      throw new IllegalArgumentException(
          "examples.json must hold answers of " + model.file() + ". Received: those of " + files.keys()
              + ". Copy both from the same export folder.");
    }
    double tolerance = files.object(model.file()).number("tolerance");
    List<String> failures = new ArrayList<>();
    double worst = 0;
    List<Document> examples = document.objects("examples");
    for (int i = 0; i < examples.size(); i++) {
      Document example = examples.get(i);
      Row row = row(model, example);
      String unequal = unequalInput(model, row, example.object("inputs"));
      Document wanted = example.object("outputs").object(model.file());
      Map<String, float[]> received = model.run(row, wanted.keys());
      double difference = 0;
      for (String output : wanted.keys()) {
        difference = Math.max(
            difference, difference(wanted.list(output), received.get(output), model.folder.labels.size()));
      }
      worst = Math.max(worst, difference);
      if (unequal != null || difference > tolerance) {
        failures.add(name(i, example) + (unequal != null
            ? ": the input " + unequal + " is another one"
            : ": an answer differs by " + difference + " where " + tolerance + " is allowed"));
      }
    }
    return new SelfTest(failures, examples.size(), worst, tolerance);
  }

  private static Row row(TextModel model, Document example) {
    if (example.has("words")) {
      return model.inputs.words(example.texts("words"));
    }
    if (example.has("text")) {
      return model.inputs.row(example.text("text"), example.has("text_pair") ? example.text("text_pair") : null);
    }
    throw new IllegalArgumentException(
        "examples.json must hold texts. Received: numbers alone, as of a model with random weights.");
  }

  /** The name of an input that is not that of the export, null if all are. Bytes are the text itself. */
  private static String unequalInput(TextModel model, Row row, Document wanted) {
    if (row.encoding != null) {
      for (String name : model.inputs.names()) {
        if (!Arrays.equals(Inputs.values(row.encoding, name), wanted.wholes(name))) {
          return name;
        }
      }
    } else if (model.inputs.takesFeatures()) {
      ByteBuffer features = ((ByteBuffer) row.feed.get("features")).duplicate();
      if (!sha256(features).equals(wanted.object("features").text("sha256"))) {
        return "features";
      }
    }
    return null;
  }

  /** The largest difference in the corner that the export wrote down: a list of numbers, or a list for each token. */
  private static double difference(List<?> wanted, float[] received, int width) {
    boolean tokens = !wanted.isEmpty() && wanted.get(0) instanceof List;
    if (wanted.size() * (tokens ? width : 1) > received.length) {
      return Double.POSITIVE_INFINITY;
    }
    double largest = 0;
    for (int i = 0; i < wanted.size(); i++) {
      Object value = wanted.get(i);
      if (tokens && value instanceof List) {
        float[] token = Arrays.copyOfRange(received, i * width, (i + 1) * width);
        largest = Math.max(largest, difference((List<?>) value, token, width));
      } else if (value instanceof Number) { // null stands for infinity
        double other = Math.abs(((Number) value).doubleValue() - received[i]);
        largest = Math.max(largest, Double.isNaN(other) ? Double.POSITIVE_INFINITY : other);
      }
    }
    return largest;
  }

  private static String sha256(ByteBuffer bytes) {
    try {
      MessageDigest digest = MessageDigest.getInstance("SHA-256");
      digest.update(bytes);
      StringBuilder hex = new StringBuilder();
      for (byte one : digest.digest()) {
        hex.append(String.format(Locale.ROOT, "%02x", one));
      }
      return hex.toString();
    } catch (NoSuchAlgorithmException impossible) { // every Java has it
      throw new IllegalStateException(impossible);
    }
  }

  private static String name(int index, Document example) {
    Object text = example.has("words") ? example.value("words") : example.value("text");
    String shown = String.valueOf(text);
    return "example " + index + " \"" + (shown.length() > 40 ? shown.substring(0, 40) + "..." : shown) + "\"";
  }
}
