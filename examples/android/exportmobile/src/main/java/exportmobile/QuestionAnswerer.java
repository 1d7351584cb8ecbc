package exportmobile;

import java.io.IOException;
import java.util.Arrays;
import java.util.Map;

/**
 * The part of a passage that answers a question. Reads as much of the passage as fits behind the question; give a long
 * one in parts and take the answer with the largest score.
 */
public final class QuestionAnswerer extends TextModel {
  static final String START = "start_logits";
  static final String END = "end_logits";
  private static final int LONGEST = 30;

  QuestionAnswerer(ModelFolder folder, Engine.Factory engines) throws IOException {
    super(folder, engines, null, ModelFolder.QUESTIONS);
  }

  public static QuestionAnswerer open(ModelFiles files, Engine.Factory engines) throws IOException {
    return new QuestionAnswerer(new ModelFolder(files), engines);
  }

  /** The best answer of at most 30 pieces; null if the passage has no word. Its "probability" is the sum of logits. */
  public Span answer(String question, String passage) {
    if (passage == null) {
      throw new IllegalArgumentException("Expected a passage. Received: null.");
    }
    Row row = inputs.row(question, passage);
    Map<String, float[]> logits = run(row, Arrays.asList(START, END));
    float[] starts = logits.get(START);
    float[] ends = logits.get(END);
    Encoding tokens = row.encoding;
    int bestStart = -1;
    int bestEnd = -1;
    float best = Float.NEGATIVE_INFINITY;
    for (int start = 0; start < tokens.ids.length; start++) {
      for (int end = start; inPassage(tokens, start) && end < tokens.ids.length; end++) {
        if (!inPassage(tokens, end) || end - start >= LONGEST) {
          break;
        }
        if (starts[start] + ends[end] > best) {
          best = starts[start] + ends[end];
          bestStart = tokens.starts[start];
          bestEnd = tokens.ends[end];
        }
      }
    }
    return bestStart < 0 ? null : new Span(passage.substring(bestStart, bestEnd), bestStart, bestEnd, "", best);
  }

  /** Not by the segment, which is 0 for both texts in some models. */
  private static boolean inPassage(Encoding tokens, int place) {
    return tokens.texts[place] == 1;
  }
}
