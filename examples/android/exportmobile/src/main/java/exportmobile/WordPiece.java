package exportmobile;

import java.util.Map;

/** BERT's model: the longest piece that the vocabulary has, again and again; a word that does not work out is unknown. */
final class WordPiece implements Model {
  private final Trie trie = new Trie();
  private final int size;
  private final int unknown;
  private final int longest;
  private final int inside;

  WordPiece(Node node) {
    Node vocab = node.get("vocab");
    Map<String, Object> tokens = vocab.object();
    boolean[] seen = new boolean[tokens.size()];
    for (String token : tokens.keySet()) {
      int id = vocab.get(token).number();
      if (id >= seen.length || seen[id]) {
        throw vocab.error(
            "must number its " + seen.length + " tokens from 0 without gaps", Node.shown(token) + " with number " + id);
      }
      if (!Text.isWhole(token)) throw vocab.error("must have tokens of whole characters", "half of one, number " + id);
      seen[id] = true;
      trie.put(Normalizers.points(token), id);
    }
    trie.finish();
    size = seen.length;
    String name = node.get("unk_token").text();
    unknown = id(name);
    if (unknown < 0) throw vocab.error("must have the unknown token " + Node.shown(name), size + " tokens without it");
    longest = node.get("max_input_chars_per_word").number();
    inside = trie.find(Normalizers.points(node.get("continuing_subword_prefix").text()));
  }

  @Override
  public void tokenize(Text text, int from, int to, int word, Tokens out) {
    int before = out.size;
    int start = from;
    while (to - from <= longest && start < to) {
      int node = start == from ? 0 : inside;
      int id = Trie.NONE;
      int end = start;
      for (int at = start; at < to && node != Trie.NONE; ) {
        node = trie.step(node, text.points[at++]);
        if (node != Trie.NONE && trie.value(node) != Trie.NONE) {
          id = trie.value(node);
          end = at;
        }
      }
      if (id == Trie.NONE) break;
      out.add(id, text.starts[start], text.ends[end - 1], word);
      start = end;
    }
    if (start == to) return;
    out.size = before;
    out.add(unknown, text.starts[from], text.ends[to - 1], word);
  }

  @Override
  public int id(String token) {
    return trie.get(Normalizers.points(token));
  }

  @Override
  public int size() {
    return size;
  }
}
