package exportmobile;

import java.util.ArrayList;
import java.util.List;

/** The steps that a text goes through before it is split, each as the `tokenizers` package does it. */
final class Normalizers {
  private Normalizers() {}

  /** One step; changes the text in place. */
  interface Step {
    void apply(Text text);
  }

  /** The steps of `normalizer` in tokenizer.json. */
  static List<Step> from(Node node) {
    List<Step> steps = new ArrayList<>();
    if (!node.isNull()) add(steps, node);
    return steps;
  }

  private static void add(List<Step> steps, Node node) {
    String type = node.get("type").text();
    switch (type) {
      case "Sequence":
        Node inner = node.get("normalizers");
        for (int i = 0; i < inner.array().size(); i++) add(steps, inner.item(i));
        return;
      case "BertNormalizer":
        addBert(steps, node);
        return;
      case "NFD":
      case "NFKD":
        boolean compatible = type.equals("NFKD");
        steps.add(text -> decompose(text, compatible));
        return;
      case "StripAccents":
        steps.add(text -> remove(text, Characters.COMBINING));
        return;
      case "Lowercase":
        steps.add(Normalizers::lower);
        return;
      case "Strip":
        boolean left = node.get("strip_left").flag();
        boolean right = node.get("strip_right").flag();
        steps.add(text -> strip(text, left, right));
        return;
      case "Replace":
        steps.add(replace(node));
        return;
      case "Precompiled":
        CharacterMap map = CharacterMap.from(node.get("precompiled_charsmap"));
        steps.add(map::apply);
        return;
      default:
        throw node.error(
            "must be BertNormalizer, NFD, NFKD, StripAccents, Lowercase, Strip, Replace, Precompiled or a Sequence of"
                + " them",
            Node.shown(type));
    }
  }

  private static void addBert(List<Step> steps, Node node) {
    boolean clean = node.get("clean_text").flag();
    boolean chinese = node.get("handle_chinese_chars").flag();
    boolean lower = node.get("lowercase").flag();
    boolean strip = node.get("strip_accents").flag(lower);
    steps.add(
        text -> {
          if (text.ascii) {
            simple(text, clean, lower);
            return;
          }
          if (clean) clean(text);
          if (chinese) spaceChinese(text);
          if (strip) {
            decompose(text, false);
            remove(text, Characters.NONSPACING);
          }
          if (lower) lower(text);
        });
  }

  /** BertNormalizer for a text of ASCII, which has neither accents nor Chinese: one pass. */
  private static void simple(Text text, boolean clean, boolean lower) {
    int size = 0;
    for (int i = 0; i < text.size; i++) {
      int point = text.points[i];
      if (point <= ' ' || point == 127) {
        if (clean) {
          if (Characters.is(point, Characters.REMOVED)) continue;
          point = ' ';
        }
      } else if (lower && point >= 'A' && point <= 'Z') {
        point += 32;
      }
      text.points[size] = point;
      text.starts[size] = text.starts[i];
      text.ends[size++] = text.ends[i];
    }
    text.size = size;
  }

  private static void clean(Text text) {
    remove(text, Characters.REMOVED);
    for (int i = 0; i < text.size; i++) {
      if (Characters.is(text.points[i], Characters.WHITESPACE)) text.points[i] = ' ';
    }
  }

  private static void spaceChinese(Text text) {
    int first = 0;
    while (first < text.size && !Characters.is(text.points[first], Characters.CHINESE)) first++;
    if (first == text.size) return;
    Text out = new Text(text.size + 16);
    for (int i = 0; i < text.size; i++) {
      if (Characters.is(text.points[i], Characters.CHINESE)) {
        out.add(' ', text.starts[i], text.ends[i]);
        out.addFrom(text, i);
        out.add(' ', text.starts[i], text.ends[i]);
      } else {
        out.addFrom(text, i);
      }
    }
    text.take(out);
  }

  static void remove(Text text, int property) {
    int size = 0;
    for (int i = 0; i < text.size; i++) {
      if (Characters.is(text.points[i], property)) continue;
      text.points[size] = text.points[i];
      text.starts[size] = text.starts[i];
      text.ends[size++] = text.ends[i];
    }
    text.size = size;
  }

  /**
   * Decomposes, then orders the marks after each letter.
   *
   * <p>As in `tokenizers`, places do not move with the marks: the first part of each old character, wherever it ends
   * up, takes the next place, and a further part has the place that was given last.
   */
  static void decompose(Text text, boolean compatible) {
    int first = 0;
    while (first < text.size && isStable(text.points[first], compatible)) first++;
    if (first == text.size) return;
    Text out = new Text(text.size + 16);
    boolean[] isMore = new boolean[text.size + 16];
    for (int i = 0; i < text.size; i++) {
      int[] parts = text.points[i] < 128 ? null : Characters.decomposed(text.points[i], compatible);
      int count = parts == null ? 1 : parts.length;
      if (out.size + count > isMore.length) isMore = java.util.Arrays.copyOf(isMore, (out.size + count) * 2);
      for (int j = 0; j < count; j++) {
        isMore[out.size] = j > 0;
        out.add(parts == null ? text.points[i] : parts[j], 0, 0);
      }
    }
    sortMarks(out, isMore);
    for (int i = 0, old = 0; i < out.size; i++) {
      if (!isMore[i]) old++;
      out.starts[i] = text.starts[old - 1];
      out.ends[i] = text.ends[old - 1];
    }
    text.take(out);
  }

  private static boolean isStable(int point, boolean compatible) {
    return point < 128 || (Characters.order(point) == 0 && Characters.decomposed(point, compatible) == null);
  }

  /** Stable, by insertion for the usual few marks and by counting for a long run, so that no text takes long. */
  private static void sortMarks(Text out, boolean[] isMore) {
    for (int start = 0; start < out.size; start++) {
      if (Characters.order(out.points[start]) == 0) continue;
      int end = start + 1;
      boolean sorted = true;
      while (end < out.size && Characters.order(out.points[end]) != 0) {
        sorted &= Characters.order(out.points[end - 1]) <= Characters.order(out.points[end]);
        end++;
      }
      if (!sorted) {
        int[] points = java.util.Arrays.copyOfRange(out.points, start, end);
        boolean[] more = java.util.Arrays.copyOfRange(isMore, start, end);
        int to = start;
        for (int order = 1; order < 64 && to < end; order++) {
          for (int i = 0; i < points.length; i++) {
            if (Characters.order(points[i]) != order) continue;
            out.points[to] = points[i];
            isMore[to++] = more[i];
          }
        }
      }
      start = end - 1;
    }
  }

  static void lower(Text text) {
    for (int i = 0; i < text.size; i++) {
      int point = text.points[i];
      if (point < 128) {
        if (point >= 'A' && point <= 'Z') text.points[i] = point + 32;
        continue;
      }
      int[] small = Characters.lower(point);
      if (small == null) continue;
      if (small.length > 1) {
        lowerLonger(text, i);
        return;
      }
      text.points[i] = small[0];
    }
  }

  private static void lowerLonger(Text text, int from) {
    Text out = new Text(text.size + 16);
    for (int i = 0; i < text.size; i++) {
      int[] small = i < from ? null : Characters.lower(text.points[i]);
      if (small == null) out.addFrom(text, i);
      else for (int point : small) out.add(point, text.starts[i], text.ends[i]);
    }
    text.take(out);
  }

  private static void strip(Text text, boolean left, boolean right) {
    int start = 0;
    int end = text.size;
    while (left && start < end && Characters.is(text.points[start], Characters.WHITESPACE)) start++;
    while (right && end > start && Characters.is(text.points[end - 1], Characters.WHITESPACE)) end--;
    if (start > 0 || end < text.size) text.take(text.slice(start, end));
  }

  /** A text, or two spaces and more, which is the only pattern that published tokenizers of this kind have. */
  private static Step replace(Node node) {
    Node pattern = node.get("pattern");
    int[] content = points(node.get("content").text());
    if (!pattern.get("Regex").isNull()) {
      String regex = pattern.get("Regex").text();
      if (!regex.equals(" {2,}")) throw pattern.error("must be a text or the pattern \" {2,}\"", Node.shown(regex));
      return text -> replaceAll(text, new int[] {' ', ' '}, true, content);
    }
    int[] wanted = points(pattern.get("String").text());
    if (wanted.length == 0) throw pattern.error("must not be empty", "\"\"");
    return text -> replaceAll(text, wanted, false, content);
  }

  private static void replaceAll(Text text, int[] wanted, boolean more, int[] content) {
    int first = 0;
    while (first < text.size && !(text.points[first] == wanted[0] && text.matches(first, wanted))) first++;
    if (first >= text.size) return;
    Text out = new Text(text.size);
    for (int i = 0; i < text.size; ) {
      if (i < first || !text.matches(i, wanted)) {
        out.addFrom(text, i++);
        continue;
      }
      i += wanted.length;
      while (more && i < text.size && text.points[i] == wanted[0]) i++;
      for (int point : content) out.add(point, text.starts[i - 1], text.ends[i - 1]);
    }
    text.take(out);
  }

  static int[] points(String source) {
    Text text = Text.of(source);
    return java.util.Arrays.copyOf(text.points, text.size);
  }
}
