package exportmobile;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/**
 * Labels or scores for texts: PRADO and SGNN (bytes-in files), BERT and the other token models.
 *
 * <pre>TextClassifier model = TextClassifier.open(new AssetFiles(assets, "prado"), LiteRtEngine.threads(1));</pre>
 */
public final class TextClassifier extends TextModel {
  TextClassifier(ModelFolder folder, Engine.Factory engines, FeatureSource features) throws IOException {
    super(
        folder,
        engines,
        features,
        ModelFolder.CLASSIFICATION,
        ModelFolder.SENTENCE_ORDER,
        ModelFolder.REGRESSION);
  }

  public static TextClassifier open(ModelFiles files, Engine.Factory engines) throws IOException {
    return open(files, engines, null);
  }

  /** With the features of the native module, for a features-in file. */
  public static TextClassifier open(ModelFiles files, Engine.Factory engines, FeatureSource features)
      throws IOException {
    return new TextClassifier(new ModelFolder(files), engines, features);
  }

  /** All labels, the most probable first. */
  public List<Label> classify(String text) {
    return classify(text, null, Integer.MAX_VALUE);
  }

  /** All labels of a pair of texts. */
  public List<Label> classify(String text, String pair) {
    return classify(text, pair, Integer.MAX_VALUE);
  }

  /** The {@code top} most probable labels. */
  public List<Label> classify(String text, int top) {
    return classify(text, null, top);
  }

  /** The {@code top} most probable labels of a text, or of a pair if {@code pair} is not null. */
  public List<Label> classify(String text, String pair, int top) {
    if (top < 1) {
      throw new IllegalArgumentException("Expected 1 label or more. Received: " + top + ".");
    }
    if (isRegression()) {
      throw new IllegalArgumentException(folder.file + " gives a score, not labels. Use score().");
    }
    float[] logits = logits(inputs.row(text, pair));
    List<Label> labels = Probabilities.ranked(folder.labels, logits, folder.multiLabel);
    return new ArrayList<>(labels.subList(0, Math.min(top, labels.size())));
  }

  /** The labels that are at least this probable, for models that may give a text several. */
  public List<Label> classifyAbove(String text, float threshold) {
    List<Label> labels = new ArrayList<>();
    for (Label label : classify(text)) {
      if (label.probability >= threshold) {
        labels.add(label);
      }
    }
    return labels;
  }

  /** True if a text may have several labels: then each probability stands for itself. */
  public boolean isMultiLabel() {
    return folder.multiLabel;
  }

  /** True if the model gives a score, not labels. */
  public boolean isRegression() {
    return folder.task.equals(ModelFolder.REGRESSION);
  }

  /** The number that a regression model gives a text, or a pair if {@code pair} is not null. */
  public float score(String text, String pair) {
    if (!isRegression()) {
      throw new IllegalArgumentException(folder.file + " gives labels, not a score. Use classify().");
    }
    return logits(inputs.row(text, pair))[0];
  }
}
