package exportmobile;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * A tag for every word: parts of speech, slots, entities.
 *
 * <p>Words are what stands between white space. If the training data was split in another way (most corpora separate
 * punctuation), split the text yourself and use {@link #tagWords}. A word that lies behind the longest text that the
 * model reads, or of which the tokenizer leaves nothing, has no tag: its label is null.
 */
public final class WordTagger extends TextModel {
  WordTagger(ModelFolder folder, Engine.Factory engines) throws IOException {
    super(folder, engines, null, ModelFolder.TAGS);
  }

  public static WordTagger open(ModelFiles files, Engine.Factory engines) throws IOException {
    return new WordTagger(new ModelFolder(files), engines);
  }

  /** A span for each word of the text. */
  public List<Span> tag(String text) {
    List<Span> words = Texts.words(Texts.checked(text));
    List<String> parts = new ArrayList<>();
    for (Span word : words) {
      parts.add(word.text);
    }
    List<Label> tags = tagWords(parts);
    List<Span> spans = new ArrayList<>();
    for (int i = 0; i < words.size(); i++) {
      Span word = words.get(i);
      Label tag = tags.get(i);
      spans.add(new Span(
          word.text, word.start, word.end, tag == null ? null : tag.name, tag == null ? 0 : tag.probability));
    }
    return spans;
  }

  /** The tag of each word, null where there is none. The first piece of a word decides. */
  public List<Label> tagWords(List<String> words) {
    List<Label> tags = new ArrayList<>();
    if (words.isEmpty()) {
      return tags;
    }
    Row row = inputs.words(words);
    float[] logits = logits(row);
    int count = folder.labels.size();
    for (int word = 0; word < words.size(); word++) {
      int place = row.encoding.firstPieces[word];
      if (place < 0) {
        tags.add(null);
        continue;
      }
      int best = Probabilities.largest(logits, place * count, count);
      float[] own = Arrays.copyOfRange(logits, place * count, (place + 1) * count);
      tags.add(new Label(folder.labels.get(best), best, Probabilities.softmax(own)[best], own[best]));
    }
    return tags;
  }

  /** The entities of a text, for tags such as B-PER, I-PER, O (also IOB1 and IOBES). */
  public List<Span> entities(String text) {
    return Entities.of(text, tag(text));
  }
}
