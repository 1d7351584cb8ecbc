package exportmobile;

/**
 * The tokens of a text, ready for a model.
 *
 * <p>All arrays have one entry per token, without padding. `texts` says which text token i is of: 0 the first, 1 the
 * second, -1 for special tokens that no text holds. `segments` are what the model takes, and may be 0 for both texts.
 * `starts` and `ends` are UTF-16 indexes, so that {@code text.substring(starts[i], ends[i])} is what token i stands for
 * in its text, or in its word for `encodeWords`; -1 for special tokens. `words` is the number of the token's word, or -1.
 */
public final class Encoding {
  public final int[] ids;
  public final int[] mask;
  public final int[] segments;
  public final int[] texts;
  public final int[] starts;
  public final int[] ends;
  public final int[] words;
  /** The position of each word's first token, -1 if it has none; null unless made by `encodeWords`. */
  public final int[] firstPieces;

  Encoding(int[] ids, int[] segments, int[] texts, int[] starts, int[] ends, int[] words, int[] firstPieces) {
    this.ids = ids;
    this.mask = new int[ids.length];
    java.util.Arrays.fill(this.mask, 1);
    this.segments = segments;
    this.texts = texts;
    this.starts = starts;
    this.ends = ends;
    this.words = words;
    this.firstPieces = firstPieces;
  }
}
