package exportmobile;

import java.util.ArrayList;
import java.util.List;

/** The steps that a text goes through before it is split, each as the `tokenizers` package does it. */
final class Normalizers {
  private static final String SPACES = " {2,}";
  private static final String WHITE_SPACES = "\\s{2,}|[\\n\\r\\t]";

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
      case "NFC":
      case "NFKC":
        boolean merges = type.equals("NFKC");
        steps.add(text -> compose(text, merges));
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
            "must be BertNormalizer, NFD, NFKD, NFC, NFKC, StripAccents, Lowercase, Strip, Replace, Precompiled or a"
                + " Sequence of them",
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

  /** Decomposes, then orders the marks after each letter. */
  static void decompose(Text text, boolean compatible) {
    int first = 0;
    while (first < text.size && isStable(text.points[first], compatible)) first++;
    if (first == text.size) return;
    Parts parts = new Parts(text, compatible);
    place(text, parts.out, parts.more);
  }

  /** Below U+0300 all is composed already, and no mark stands there that could join a letter. */
  private static void compose(Text text, boolean compatible) {
    int plain = compatible ? 0x80 : 0x300;
    int first = 0;
    while (first < text.size && text.points[first] < plain) first++;
    if (first == text.size) return;
    Parts parts = new Parts(text, compatible);
    Text out = parts.out;
    int[] more = parts.more;
    int size = 0;
    int start = -1; // of what marks may join
    int order = 0; // of the mark before, if it joined nothing
    for (int i = 0; i < out.size; i++) {
      int point = out.points[i];
      int own = Characters.order(point);
      boolean reaches = start >= 0 && (order == 0 || order < own);
      int joined = reaches ? Characters.composed(out.points[start], point) : -1;
      if (joined >= 0) {
        out.points[start] = joined;
        more[start] += more[i] - 1;
        continue;
      }
      if (own == 0) start = size;
      order = own;
      out.points[size] = point;
      more[size++] = more[i];
    }
    out.size = size;
    place(text, out, more);
  }

  /**
   * The parts of all characters, with the marks after each letter in order; `more` is 0 for each, or 1 for a further
   * part of a character.
   */
  private static final class Parts {
    final Text out;
    int[] more;

    Parts(Text text, boolean compatible) {
      out = new Text(text.size + 16);
      more = new int[text.size + 16];
      for (int i = 0; i < text.size; i++) {
        int[] parts = text.points[i] < 128 ? null : Characters.decomposed(text.points[i], compatible);
        int count = parts == null ? 1 : parts.length;
        if (out.size + count > more.length) more = java.util.Arrays.copyOf(more, (out.size + count) * 2);
        for (int j = 0; j < count; j++) {
          more[out.size] = j > 0 ? 1 : 0;
          out.add(parts == null ? text.points[i] : parts[j], 0, 0);
        }
      }
      sortMarks(out, more);
    }
  }

  /**
   * Puts `out` in place of a text.
   *
   * <p>As in `tokenizers`, places do not move with the marks: each character takes the next place of the old text and
   * passes over as many as it joins, `-more`; a further part, 1, has the place given last.
   */
  private static void place(Text text, Text out, int[] more) {
    for (int i = 0, old = 0; i < out.size; i++) {
      int at = more[i] > 0 ? old - 1 : old;
      out.starts[i] = text.starts[at];
      out.ends[i] = text.ends[at];
      old += 1 - more[i];
    }
    text.take(out);
  }

  private static boolean isStable(int point, boolean compatible) {
    return point < 128 || (Characters.order(point) == 0 && Characters.decomposed(point, compatible) == null);
  }

  /** Stable, by insertion for the usual few marks and by counting for a long run, so that no text takes long. */
  private static void sortMarks(Text out, int[] more) {
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
        int[] further = java.util.Arrays.copyOfRange(more, start, end);
        int to = start;
        for (int order = 1; order < 64 && to < end; order++) {
          for (int i = 0; i < points.length; i++) {
            if (Characters.order(points[i]) != order) continue;
            out.points[to] = points[i];
            more[to++] = further[i];
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

  /** A text, or a pattern that published tokenizers have, by hand: what \s means differs between languages. */
  private static Step replace(Node node) {
    Node pattern = node.get("pattern");
    int[] content = points(node.get("content").text());
    if (!pattern.get("Regex").isNull()) {
      String regex = pattern.get("Regex").text();
      if (regex.equals(SPACES)) return text -> replaceAll(text, Normalizers::spaces, content);
      if (regex.equals(WHITE_SPACES)) return text -> replaceAll(text, Normalizers::whiteSpaces, content);
      throw pattern.error(
          "must be a text or one of the patterns " + SPACES + " and " + WHITE_SPACES, Node.shown(regex));
    }
    int[] wanted = points(pattern.get("String").text());
    if (wanted.length == 0) throw pattern.error("must not be empty", "\"\"");
    return text -> replaceAll(text, (in, at) -> in.matches(at, wanted) ? at + wanted.length : at, content);
  }

  /** The end of the match that begins at a point, or the point itself. */
  private interface Pattern {
    int end(Text text, int at);
  }

  private static void replaceAll(Text text, Pattern pattern, int[] content) {
    int first = 0;
    while (first < text.size && pattern.end(text, first) == first) first++;
    if (first >= text.size) return;
    Text out = new Text(text.size);
    for (int i = 0; i < text.size; ) {
      int end = i < first ? i : pattern.end(text, i);
      if (end == i) {
        out.addFrom(text, i++);
        continue;
      }
      i = end;
      for (int point : content) out.add(point, text.starts[i - 1], text.ends[i - 1]);
    }
    text.take(out);
  }

  private static int spaces(Text text, int at) {
    int end = at;
    while (end < text.size && text.points[end] == ' ') end++;
    return end - at < 2 ? at : end;
  }

  private static int whiteSpaces(Text text, int at) {
    int end = at;
    while (end < text.size && Characters.is(text.points[end], Characters.WHITESPACE)) end++;
    if (end - at >= 2) return end;
    int point = text.points[at];
    return point == '\n' || point == '\r' || point == '\t' ? at + 1 : at;
  }

  static int[] points(String source) {
    Text text = Text.of(source);
    return java.util.Arrays.copyOf(text.points, text.size);
  }
}
