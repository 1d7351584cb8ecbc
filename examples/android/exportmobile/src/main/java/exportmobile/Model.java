package exportmobile;

/** Splits a word into pieces of a vocabulary. */
interface Model {
  /** Adds the pieces of points `from` to `to` of a text. */
  void tokenize(Text text, int from, int to, int word, Tokens out);

  /** The id of a token, or -1. */
  int id(String token);

  int size();
}
