package exportmobile;

import java.util.Arrays;

/** SentencePiece's model: the pieces with the highest sum of scores. Unknown characters in a row are one token. */
final class Unigram implements Model {
  private static final double PENALTY = 10.0;
  private final Trie trie = new Trie();
  private final double[] scores;
  private final double unknownScore;
  private final int unknown;

  Unigram(Node node) {
    if (node.get("byte_fallback").flag(false)) {
      throw node.get("byte_fallback").error("must be false: bytes as tokens are not supported", "true");
    }
    Node vocab = node.get("vocab");
    int size = vocab.array().size();
    scores = new double[size];
    double lowest = Double.POSITIVE_INFINITY;
    for (int id = 0; id < size; id++) {
      Node pair = vocab.item(id);
      if (pair.array().size() != 2) throw pair.wrong("a piece and its score");
      scores[id] = pair.item(1).score();
      lowest = Math.min(lowest, scores[id]);
      String token = pair.item(0).text();
      if (!Text.isWhole(token)) throw pair.error("must be a piece of whole characters", "half of one");
      int[] piece = Normalizers.points(token);
      if (trie.get(piece) != Trie.NONE) throw pair.error("must be another piece than those before", Node.shown(token));
      trie.put(piece, id);
    }
    trie.finish();
    unknownScore = lowest - PENALTY;
    unknown = node.get("unk_id").number();
    if (unknown >= size) throw node.get("unk_id").error("must be a number below " + size, String.valueOf(unknown));
  }

  @Override
  public void tokenize(Text text, int from, int to, int word, Tokens out) {
    int length = to - from;
    double[] best = new double[length + 1];
    int[] begins = new int[length + 1];
    int[] ids = new int[length + 1];
    Arrays.fill(begins, -1);
    for (int start = 0; start < length; start++) {
      double here = best[start];
      boolean single = false;
      int node = 0;
      for (int end = start; end < length; ) {
        node = trie.step(node, text.points[from + end++]);
        if (node == Trie.NONE) break;
        int id = trie.value(node);
        if (id == Trie.NONE) continue;
        double score = scores[id] + here;
        if (begins[end] < 0 || score > best[end]) {
          best[end] = score;
          begins[end] = start;
          ids[end] = id;
        }
        single |= end == start + 1;
      }
      if (single) continue;
      double score = unknownScore + here;
      int end = start + 1;
      if (begins[end] < 0 || score > best[end]) {
        best[end] = score;
        begins[end] = start;
        ids[end] = unknown;
      }
    }
    add(text, from, length, begins, ids, word, out);
  }

  private void add(Text text, int from, int length, int[] begins, int[] ids, int word, Tokens out) {
    // Backwards; `ends` of the pieces in order then lie at the end of the array that they were read from.
    int[] ends = new int[length];
    int count = 0;
    for (int end = length; end > 0; ) {
      ends[count++] = end;
      boolean fused = ids[end] == unknown;
      end = begins[end];
      while (fused && end > 0 && ids[end] == unknown) end = begins[end];
    }
    int start = 0;
    while (count > 0) {
      int end = ends[--count];
      int id = ids[end];
      if (id == unknown) {
        // Unknown characters together may be a piece that costs more than they do.
        id = trie.get(text.points, from + start, from + end);
        if (id == Trie.NONE) id = unknown;
      }
      out.add(id, text.starts[from + start], text.ends[from + end - 1], word);
      start = end;
    }
  }

  @Override
  public int id(String token) {
    return trie.get(Normalizers.points(token));
  }

  @Override
  public int size() {
    return scores.length;
  }
}
