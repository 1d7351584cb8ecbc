package exportmobile;

import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** Tokens that are found in a text before it is split, such as [SEP]: the leftmost first, of several the longest. */
final class AddedTokens {
  /** Added to flags of a match. */
  private static final int SINGLE = 1;

  private static final int LEFT = 2;
  private static final int RIGHT = 4;

  private final Trie raw = new Trie();
  private final Trie normalized = new Trie();
  private final int[] flags;
  private final int[] ids;
  private boolean anyRaw;
  private boolean anyNormalized;
  /** How many ids there are with those of the model. */
  final int total;

  private final java.util.Map<String, Integer> numbers = new java.util.HashMap<>();

  AddedTokens(Node node, Model model, List<Normalizers.Step> normalizers) {
    int count = node.isNull() ? 0 : node.array().size();
    flags = new int[count];
    ids = new int[count];
    int next = model.size();
    Set<String> seen = new HashSet<>();
    for (int i = 0; i < count; i++) {
      Node token = node.item(i);
      String content = token.get("content").text();
      int id = token.get("id").number();
      int known = model.id(content);
      if (!seen.add(content) || content.isEmpty()) throw token.error("must be a new text", Node.shown(content));
      int due = known >= 0 ? known : next++;
      if (id != due) {
        throw token.error("must have the id " + due + " for " + Node.shown(content), String.valueOf(id));
      }
      ids[i] = id;
      numbers.put(content, id);
      flags[i] =
          (token.get("single_word").flag() ? SINGLE : 0)
              | (token.get("lstrip").flag() ? LEFT : 0)
              | (token.get("rstrip").flag() ? RIGHT : 0);
      boolean isNormalized = token.get("normalized").flag();
      Text text = Text.of(content);
      if (isNormalized) for (Normalizers.Step step : normalizers) step.apply(text);
      Trie trie = isNormalized ? normalized : raw;
      int[] points = java.util.Arrays.copyOf(text.points, text.size);
      if (text.size == 0 || trie.get(points) != Trie.NONE) {
        throw token.error("must differ from other added tokens after normalization", Node.shown(content));
      }
      trie.put(points, i);
      if (isNormalized) anyNormalized = true;
      else anyRaw = true;
    }
    raw.finish();
    normalized.finish();
    total = next;
  }

  /** The id of an added token, or -1. */
  int id(String token) {
    Integer found = numbers.get(token);
    return found == null ? -1 : found;
  }

  boolean hasAny(boolean isNormalized) {
    return isNormalized ? anyNormalized : anyRaw;
  }

  /** Receives the parts of a text in order. */
  interface Sink {
    /** `id` is -1 for text between added tokens. */
    void part(int id, int from, int to);
  }

  void find(Text text, boolean isNormalized, Sink sink) {
    Trie trie = isNormalized ? normalized : raw;
    int done = 0;
    for (int at = 0; at < text.size; ) {
      int node = trie.step(0, text.points[at]);
      int match = Trie.NONE;
      int end = at;
      for (int i = at + 1; node != Trie.NONE; i++) {
        if (trie.value(node) != Trie.NONE) {
          match = trie.value(node);
          end = i;
        }
        node = i < text.size ? trie.step(node, text.points[i]) : Trie.NONE;
      }
      if (match == Trie.NONE) {
        at++;
        continue;
      }
      int start = at;
      int stop = end;
      at = end;
      if ((flags[match] & SINGLE) != 0 && (isWord(text, start - 1) || isWord(text, end))) continue;
      if ((flags[match] & LEFT) != 0) {
        while (start > 0 && Characters.is(text.points[start - 1], Characters.WHITESPACE)) start--;
        start = Math.max(start, done);
      }
      if ((flags[match] & RIGHT) != 0) {
        while (stop < text.size && Characters.is(text.points[stop], Characters.WHITESPACE)) stop++;
      }
      if (done < start) sink.part(-1, done, start);
      sink.part(ids[match], start, stop);
      done = stop;
    }
    if (done != text.size) sink.part(-1, done, text.size);
  }

  private static boolean isWord(Text text, int at) {
    return at >= 0 && at < text.size && Characters.is(text.points[at], Characters.WORD);
  }
}
