package exportmobile;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** A text with the words that it is split into: places of their first and after their last point, in turn. */
final class Splits {
  final Text text;
  int[] bounds = new int[32];
  int size;

  Splits(Text text) {
    this.text = text;
  }

  void add(int from, int to) {
    if (from == to) return;
    if (size + 2 > bounds.length) bounds = Arrays.copyOf(bounds, size * 2);
    bounds[size++] = from;
    bounds[size++] = to;
  }

  /** One way of splitting. */
  interface Splitter {
    Splits apply(Splits splits);
  }

  /** The splitters of `pre_tokenizer` in tokenizer.json. */
  static List<Splitter> from(Node node) {
    List<Splitter> found = new ArrayList<>();
    if (!node.isNull()) addSplitters(found, node);
    return found;
  }

  private static void addSplitters(List<Splitter> found, Node node) {
    String type = node.get("type").text();
    switch (type) {
      case "Sequence":
        Node inner = node.get("pretokenizers");
        for (int i = 0; i < inner.array().size(); i++) addSplitters(found, inner.item(i));
        return;
      case "BertPreTokenizer":
        found.add(splits -> byProperty(splits, Characters.PUNCTUATION));
        return;
      case "WhitespaceSplit":
        found.add(splits -> byProperty(splits, 0));
        return;
      case "Metaspace":
        found.add(metaspace(node));
        return;
      default:
        throw node.error(
            "must be BertPreTokenizer, WhitespaceSplit, Metaspace or a Sequence of them", Node.shown(type));
    }
  }

  /** At white space, which is dropped, and around signs of this property. */
  private static Splits byProperty(Splits splits, int alone) {
    Splits out = new Splits(splits.text);
    int[] points = splits.text.points;
    for (int i = 0; i < splits.size; i += 2) {
      int start = splits.bounds[i];
      int to = splits.bounds[i + 1];
      for (int at = start; at < to; at++) {
        int properties = Characters.of(points[at]);
        if ((properties & (Characters.WHITESPACE | alone)) == 0) continue;
        out.add(start, at);
        if ((properties & Characters.WHITESPACE) == 0) out.add(at, at + 1);
        start = at + 1;
      }
      out.add(start, to);
    }
    return out;
  }

  private static Splitter metaspace(Node node) {
    int[] sign = Normalizers.points(node.get("replacement").text());
    if (sign.length != 1) throw node.get("replacement").wrong("one character");
    Node scheme = node.get("prepend_scheme");
    String name = scheme.isNull() ? "always" : scheme.text();
    if (!node.get("add_prefix_space").flag(true) && !name.equals("never")) {
      throw scheme.error("must be \"never\" where add_prefix_space is false", Node.shown(name));
    }
    if (!Arrays.asList("always", "first", "never").contains(name)) throw scheme.wrong("always, first or never");
    boolean split = node.get("split").flag(true);
    return splits -> metaspace(splits, sign[0], name, split);
  }

  /** Spaces become the sign, each word starts with it, and it starts a new word. */
  private static Splits metaspace(Splits splits, int sign, String scheme, boolean split) {
    Text in = splits.text;
    Splits out = new Splits(new Text(in.size + splits.size / 2));
    for (int i = 0; i < splits.size; i += 2) {
      int from = splits.bounds[i];
      int first = in.points[from];
      int start = out.text.size;
      boolean wanted = scheme.equals("always") || (scheme.equals("first") && in.starts[from] == 0);
      if (wanted && first != sign && first != ' ') out.text.add(sign, in.starts[from], in.ends[from]);
      for (int at = from; at < splits.bounds[i + 1]; at++) {
        int point = in.points[at] == ' ' ? sign : in.points[at];
        if (split && point == sign) {
          out.add(start, out.text.size);
          start = out.text.size;
        }
        out.text.add(point, in.starts[at], in.ends[at]);
      }
      out.add(start, out.text.size);
    }
    return out;
  }
}
