package exportmobile;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Where the special tokens stand around one text or two: `post_processor` in tokenizer.json. */
final class Template {
  private static final int FIRST = -1;
  private static final int SECOND = -2;
  // Pairs of an id (or FIRST, SECOND for a text) and a segment.
  private final int[] single;
  private final int[] pair;

  private Template(int[] single, int[] pair) {
    this.single = single;
    this.pair = pair;
  }

  static Template from(Node node, int vocabulary) {
    if (node.isNull()) throw node.wrong("TemplateProcessing or BertProcessing");
    String type = node.get("type").text();
    if (type.equals("BertProcessing")) {
      int cls = special(node.get("cls"), vocabulary);
      int sep = special(node.get("sep"), vocabulary);
      return new Template(
          new int[] {cls, 0, FIRST, 0, sep, 0}, new int[] {cls, 0, FIRST, 0, sep, 0, SECOND, 1, sep, 1});
    }
    if (!type.equals("TemplateProcessing")) {
      throw node.error("must be TemplateProcessing or BertProcessing", Node.shown(type));
    }
    Node special = node.get("special_tokens");
    int[] single = pieces(node.get("single"), special, vocabulary);
    int[] pair = pieces(node.get("pair"), special, vocabulary);
    if (count(single, FIRST) != 1 || count(single, SECOND) != 0) throw node.get("single").wrong("a template with A once");
    if (count(pair, FIRST) != 1 || count(pair, SECOND) != 1) throw node.get("pair").wrong("a template with A and B once");
    return new Template(single, pair);
  }

  private static int special(Node node, int vocabulary) {
    if (node.array().size() != 2) throw node.wrong("a token and its id");
    return checked(node.item(1), vocabulary);
  }

  private static int checked(Node node, int vocabulary) {
    int id = node.number();
    if (id >= vocabulary) throw node.error("must be an id below " + vocabulary, String.valueOf(id));
    return id;
  }

  private static int[] pieces(Node node, Node special, int vocabulary) {
    List<Integer> found = new ArrayList<>();
    for (int i = 0; i < node.array().size(); i++) {
      Node item = node.item(i);
      Node sequence = item.get("Sequence");
      if (!sequence.isNull()) {
        String which = sequence.get("id").text();
        if (!which.equals("A") && !which.equals("B")) throw sequence.get("id").wrong("A or B");
        found.addAll(Arrays.asList(which.equals("A") ? FIRST : SECOND, sequence.get("type_id").number()));
        continue;
      }
      Node token = item.get("SpecialToken");
      Node ids = special.get(token.get("id").text()).get("ids");
      for (int j = 0; j < ids.array().size(); j++) {
        found.addAll(Arrays.asList(checked(ids.item(j), vocabulary), token.get("type_id").number()));
      }
    }
    int[] pieces = new int[found.size()];
    for (int i = 0; i < pieces.length; i++) pieces[i] = found.get(i);
    return pieces;
  }

  private static int count(int[] pieces, int wanted) {
    int found = 0;
    for (int i = 0; i < pieces.length; i += 2) if (pieces[i] == wanted) found++;
    return found;
  }

  /** How many special tokens there are. */
  int specials(boolean isPair) {
    return isPair ? pair.length / 2 - 2 : single.length / 2 - 1;
  }

  /** The first `firstSize` and `secondSize` tokens of each text among the special ones; `second` null for one text. */
  Encoding apply(Tokens first, int firstSize, Tokens second, int secondSize, int wordCount) {
    int[] pieces = second == null ? single : pair;
    int length = specials(second != null) + firstSize + secondSize;
    int[] ids = new int[length];
    int[] segments = new int[length];
    int[] texts = new int[length];
    int[] starts = new int[length];
    int[] ends = new int[length];
    int[] words = new int[length];
    int at = 0;
    for (int i = 0; i < pieces.length; i += 2) {
      Tokens tokens = pieces[i] == FIRST ? first : pieces[i] == SECOND ? second : null;
      int count = pieces[i] == FIRST ? firstSize : pieces[i] == SECOND ? secondSize : 1;
      Arrays.fill(segments, at, at + count, pieces[i + 1]);
      Arrays.fill(texts, at, at + count, pieces[i] == FIRST ? 0 : pieces[i] == SECOND ? 1 : -1);
      if (tokens == null) {
        ids[at] = pieces[i];
        starts[at] = ends[at] = words[at] = -1;
      } else {
        System.arraycopy(tokens.ids, 0, ids, at, count);
        System.arraycopy(tokens.starts, 0, starts, at, count);
        System.arraycopy(tokens.ends, 0, ends, at, count);
        System.arraycopy(tokens.words, 0, words, at, count);
      }
      at += count;
    }
    int[] firstPieces = null;
    if (wordCount >= 0) {
      firstPieces = new int[wordCount];
      Arrays.fill(firstPieces, -1);
      for (int i = length - 1; i >= 0; i--) if (words[i] >= 0) firstPieces[words[i]] = i;
    }
    return new Encoding(ids, segments, texts, starts, ends, words, firstPieces);
  }
}
