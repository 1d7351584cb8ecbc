package exportmobile;

import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;

/** Logits as probabilities. */
public final class Probabilities {
  private Probabilities() {}

  /** For models that give a text one label: all of them together are 1. */
  public static float[] softmax(float[] logits) {
    float largest = Float.NEGATIVE_INFINITY;
    for (float logit : logits) {
      largest = Math.max(largest, logit);
    }
    double sum = 0;
    double[] powers = new double[logits.length];
    for (int i = 0; i < logits.length; i++) {
      powers[i] = Math.exp(logits[i] - largest);
      sum += powers[i];
    }
    float[] result = new float[logits.length];
    for (int i = 0; i < logits.length; i++) {
      result[i] = (float) (powers[i] / sum);
    }
    return result;
  }

  /** For models that may give a text several labels: each by itself. */
  public static float[] sigmoid(float[] logits) {
    float[] result = new float[logits.length];
    for (int i = 0; i < logits.length; i++) {
      result[i] = (float) (1 / (1 + Math.exp(-logits[i])));
    }
    return result;
  }

  /** The place of the largest number, the first of them if there are several. */
  public static int largest(float[] numbers, int start, int count) {
    int best = start;
    for (int i = start + 1; i < start + count; i++) {
      if (numbers[i] > numbers[best]) {
        best = i;
      }
    }
    return best - start;
  }

  /** Labels by falling logit; labels of equal logits in the order of labels.txt. */
  static List<Label> ranked(List<String> names, float[] logits, boolean multiLabel) {
    float[] probabilities = multiLabel ? sigmoid(logits) : softmax(logits);
    List<Label> labels = new ArrayList<>();
    for (int i = 0; i < logits.length; i++) {
      labels.add(new Label(names.get(i), i, probabilities[i], logits[i]));
    }
    Collections.sort(
        labels,
        new Comparator<Label>() {
          @Override
          public int compare(Label one, Label other) {
            return Float.compare(other.logit, one.logit);
          }
        });
    return labels;
  }
}
