package exportmobile;

import java.util.Arrays;
import java.util.List;

/**
 * Texts into the ids that a token model takes, from the tokenizer.json of an export folder.
 *
 * <pre>{@code
 * Tokenizer tokenizer = Tokenizer.fromJson(bytes);
 * Encoding one = tokenizer.encode("play some music", 64);
 * Encoding two = tokenizer.encode("a question", "a passage", 128);
 * Encoding words = tokenizer.encodeWords(Arrays.asList("Anna", "lives"), 64); // for taggers
 * Encoding all = tokenizer.pieces("no special tokens, not cut");
 * }</pre>
 *
 * <p>WordPiece and Unigram (SentencePiece), equal to the `tokenizers` package of Python: ids, segments, cuts, places and
 * word numbers. Whatever else a tokenizer.json may hold is an IllegalArgumentException of one line when it is loaded.
 * Settings for cutting and padding in the file are ignored: length is an argument here, and rows are not padded. Half
 * of a surrogate pair is read as a question mark. A tokenizer may be used by several threads.
 */
public final class Tokenizer {
  private final Model model;
  private final List<Normalizers.Step> normalizers;
  private final List<Splits.Splitter> splitters;
  private final AddedTokens added;
  private final Template template;

  private Tokenizer(Node root) {
    Node node = root.get("model");
    String type = node.get("type").text();
    if (type.equals("WordPiece")) model = new WordPiece(node);
    else if (type.equals("Unigram")) model = new Unigram(node);
    else throw node.error("must be WordPiece or Unigram", Node.shown(type));
    normalizers = Normalizers.from(root.get("normalizer"));
    splitters = Splits.from(root.get("pre_tokenizer"));
    added = new AddedTokens(root.get("added_tokens"), model, normalizers);
    template = Template.from(root.get("post_processor"), added.total);
  }

  /** From the bytes of tokenizer.json. */
  public static Tokenizer fromJson(byte[] tokenizerJson) {
    Object document;
    try {
      document = Json.parse(tokenizerJson);
    } catch (IllegalArgumentException error) {
      throw new IllegalArgumentException("tokenizer.json: " + error.getMessage());
    }
    return new Tokenizer(new Node("tokenizer.json", document));
  }

  /** How many ids there are: the rows that the model's embedding must have. */
  public int vocabularySize() {
    return added.total;
  }

  /** The id of a token such as "[SEP]", or -1. */
  public int id(String token) {
    int found = added.id(token);
    return found >= 0 ? found : model.id(token);
  }

  /** One text with special tokens, at most `maxLen` in all. */
  public Encoding encode(String text, int maxLen) {
    int room = room(maxLen, false);
    Tokens tokens = new Tokens();
    addTokens(text, -1, maxLen, tokens);
    return template.apply(tokens, Math.min(tokens.size, room), null, 0, -1);
  }

  /** Two texts with special tokens, at most `maxLen` in all; the longer one is cut first. */
  public Encoding encode(String text, String pair, int maxLen) {
    int room = room(maxLen, true);
    Tokens first = new Tokens();
    Tokens second = new Tokens();
    // Not only the tokens that fit: the one with more of them gets the odd place.
    addTokens(text, -1, Integer.MAX_VALUE, first);
    addTokens(pair, -1, Integer.MAX_VALUE, second);
    int shorter = Math.min(first.size, second.size);
    int longer = Math.max(first.size, second.size);
    if (shorter + longer > room) {
      longer = shorter > room ? shorter : Math.max(shorter, room - shorter);
      if (shorter + longer > room) {
        shorter = room / 2;
        longer = shorter + room % 2;
      }
    }
    boolean swapped = first.size > second.size;
    return template.apply(first, swapped ? longer : shorter, second, swapped ? shorter : longer, -1);
  }

  /** A row that is already split into words; places are within each word. */
  public Encoding encodeWords(List<String> words, int maxLen) {
    int room = room(maxLen, false);
    Tokens tokens = new Tokens();
    int number = 0;
    for (String word : words) addTokens(word, number++, maxLen, tokens);
    return template.apply(tokens, Math.min(tokens.size, room), null, 0, number);
  }

  /** All tokens of a text, without special ones. */
  public Encoding pieces(String text) {
    Tokens tokens = new Tokens();
    addTokens(text, -1, Integer.MAX_VALUE, tokens);
    int size = tokens.size;
    return new Encoding(
        Arrays.copyOf(tokens.ids, size),
        new int[size],
        new int[size],
        Arrays.copyOf(tokens.starts, size),
        Arrays.copyOf(tokens.ends, size),
        Arrays.copyOf(tokens.words, size),
        null);
  }

  private int room(int maxLen, boolean isPair) {
    int specials = template.specials(isPair);
    if (maxLen <= specials) {
      throw new IllegalArgumentException(
          "The sequence length must be at least " + (specials + 1) + ": " + specials
              + " special tokens and one of the text. Received: " + maxLen + ".");
    }
    return maxLen - specials;
  }

  /** `word` is the number for all tokens, or -1 to count words; stops after the word that reaches `enough` tokens. */
  private void addTokens(String source, int word, int enough, Tokens out) {
    Run run = new Run(word, enough, out);
    Text text = Text.of(source);
    if (!added.hasAny(false)) {
      run.normalize(text);
      return;
    }
    added.find(
        text,
        false,
        (id, from, to) -> {
          if (id >= 0) run.added(id, text, from, to);
          else run.normalize(from == 0 && to == text.size ? text : text.slice(from, to));
        });
  }

  /** The state of one text on its way. */
  private final class Run {
    private final int fixed;
    private final int enough;
    private final int before;
    private final Tokens out;
    private int word;
    private boolean done;

    Run(int fixed, int enough, Tokens out) {
      this.fixed = fixed;
      this.enough = enough;
      this.out = out;
      this.before = out.size;
    }

    private int nextWord() {
      return fixed >= 0 ? fixed : word++;
    }

    void added(int id, Text text, int from, int to) {
      if (!done && from < to) out.add(id, text.starts[from], text.ends[to - 1], nextWord());
    }

    void normalize(Text text) {
      if (done) return;
      for (Normalizers.Step step : normalizers) step.apply(text);
      if (!added.hasAny(true)) {
        split(text);
        return;
      }
      added.find(
          text,
          true,
          (id, from, to) -> {
            if (id >= 0) added(id, text, from, to);
            else split(from == 0 && to == text.size ? text : text.slice(from, to));
          });
    }

    private void split(Text text) {
      if (done) return;
      Splits splits = new Splits(text);
      splits.add(0, text.size);
      for (Splits.Splitter splitter : splitters) splits = splitter.apply(splits);
      for (int i = 0; i < splits.size && !done; i += 2) {
        model.tokenize(splits.text, splits.bounds[i], splits.bounds[i + 1], nextWord(), out);
        done = out.size - before >= enough;
      }
    }
  }
}
