package exportmobile;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** What all models ask of a text before they read it. */
final class Texts {
  private Texts() {}

  /** The text itself, if it is one. Half a surrogate pair is no character, and has no UTF-8. */
  static String checked(String text) {
    if (text == null) {
      throw new IllegalArgumentException("Expected a text. Received: null.");
    }
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      if (Character.isHighSurrogate(c)
          && i + 1 < text.length()
          && Character.isLowSurrogate(text.charAt(i + 1))) {
        i++;
      } else if (Character.isSurrogate(c)) {
        throw new IllegalArgumentException(
            "Expected a text of whole characters. Received: half a surrogate pair (U+"
                + Integer.toHexString(c).toUpperCase(java.util.Locale.ROOT) + ") at index " + i
                + ". Cut texts between characters, not inside of one.");
      }
    }
    return text;
  }

  /** The words between white space, as spans without a tag. */
  static List<Span> words(String text) {
    List<Span> words = new ArrayList<>();
    int start = -1;
    for (int i = 0; i <= text.length(); i++) {
      boolean space = i == text.length() || isSpace(text.charAt(i));
      if (!space && start < 0) {
        start = i;
      } else if (space && start >= 0) {
        words.add(new Span(text.substring(start, i), start, i, null, 0));
        start = -1;
      }
    }
    return words;
  }

  /** As Python's str.split: the spaces of Unicode, and the controls that separate. */
  private static boolean isSpace(char c) {
    return Character.isWhitespace(c) || Character.isSpaceChar(c) || c == '\u0085';
  }
}
