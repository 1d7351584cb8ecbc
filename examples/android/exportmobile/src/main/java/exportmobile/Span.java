package exportmobile;

/** A part of a text with its tag: a word, or an entity of several words. */
public final class Span {
  /** The part itself, {@code text.substring(start, end)}. */
  public final String text;
  public final int start;
  public final int end;
  /** The tag of a word, as in labels.txt, or the type of an entity. Null if the word was not read: see WordTagger. */
  public final String label;
  /** How probable the tag is; of an entity the least of its words. */
  public final float probability;

  public Span(String text, int start, int end, String label, float probability) {
    this.text = text;
    this.start = start;
    this.end = end;
    this.label = label;
    this.probability = probability;
  }

  @Override
  public String toString() {
    return text + "/" + label;
  }
}
