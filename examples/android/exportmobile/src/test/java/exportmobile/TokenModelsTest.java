package exportmobile;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.io.IOException;
import java.util.List;
import org.junit.Test;
import org.junit.function.ThrowingRunnable;

public class TokenModelsTest {
  private static final String[] WORDS = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "who", "anna", "lives", "in"};
  // Ids of these: 20, 21, 22, 23.
  private static final String[] CITIES = {"berlin", "rome", "oslo", "##es"};

  /** A folder of a token model for a task; its files take any length, or 8 tokens always. */
  private static MemoryFiles files(String task, boolean any) {
    StringBuilder vocabulary = new StringBuilder();
    for (int i = 0; i < WORDS.length; i++) {
      vocabulary.append('"').append(WORDS[i]).append("\": ").append(i).append(", ");
    }
    for (int i = WORDS.length; i < 20; i++) {
      vocabulary.append("\"unused").append(i).append("\": ").append(i).append(", ");
    }
    for (int i = 0; i < CITIES.length; i++) {
      vocabulary.append(i == 0 ? "\"" : ", \"").append(CITIES[i]).append("\": ").append(20 + i);
    }
    String special = "{\"SpecialToken\": {\"id\": \"[CLS]\", \"type_id\": 0}}, {\"Sequence\": {\"id\": \"A\", \"type_id\": 0}},"
        + " {\"SpecialToken\": {\"id\": \"[SEP]\", \"type_id\": 0}}";
    String tokenizer = "{\"added_tokens\": [], \"normalizer\": {\"type\": \"BertNormalizer\", \"clean_text\": true,"
        + " \"handle_chinese_chars\": true, \"strip_accents\": null, \"lowercase\": true}, \"pre_tokenizer\": {\"type\":"
        + " \"BertPreTokenizer\"}, \"post_processor\": {\"type\": \"TemplateProcessing\", \"single\": [" + special
        + "], \"pair\": [" + special + ", {\"Sequence\": {\"id\": \"B\", \"type_id\": 1}}, {\"SpecialToken\": {\"id\":"
        + " \"[SEP]\", \"type_id\": 1}}], \"special_tokens\": {\"[CLS]\": {\"id\": \"[CLS]\", \"ids\": [2], \"tokens\":"
        + " [\"[CLS]\"]}, \"[SEP]\": {\"id\": \"[SEP]\", \"ids\": [3], \"tokens\": [\"[SEP]\"]}}}, \"model\": {\"type\":"
        + " \"WordPiece\", \"unk_token\": \"[UNK]\", \"continuing_subword_prefix\": \"##\","
        + " \"max_input_chars_per_word\": 100, \"vocab\": {" + vocabulary + "}}}";
    boolean labelled = !task.equals(ModelFolder.QUESTIONS) && !task.equals(ModelFolder.REGRESSION);
    return new MemoryFiles()
        .with("model_int8.tflite", "model")
        .with("tokenizer.json", tokenizer)
        .with(
            "model.json",
            "{\"format\": \"export-mobile-tokens/1\", \"task\": \"" + task + "\", \"max_seq_len\": 8, \"length\":"
                + " {\"any\": " + any + "}, \"labels\": [" + (labelled ? "\"B-X\", \"I-X\", \"O\"" : "")
                + "], \"tokenizer\": {\"pad_id\": 0, \"vocab_size\": 24}}");
  }

  @Test
  public void textsAreAsLongAsTheyAreOrPadded() throws IOException {
    TokenEngine engine = new TokenEngine(ModelFolder.CLASSIFICATION);
    TextClassifier any = TextClassifier.open(files(ModelFolder.CLASSIFICATION, true), engine);
    assertEquals("I-X", any.classify("Rome rome in").get(0).name);
    assertArrayEquals(new int[] {2, 21, 21, 8, 3}, engine.ids);
    TextClassifier fixed = TextClassifier.open(files(ModelFolder.CLASSIFICATION, false), engine);
    fixed.classify("rome in");
    assertArrayEquals(new int[] {2, 21, 8, 3, 0, 0, 0, 0}, engine.ids);
    assertArrayEquals(new int[] {1, 1, 1, 1, 0, 0, 0, 0}, engine.mask);
    fixed.classify("");
    assertArrayEquals(new int[] {2, 3, 0, 0, 0, 0, 0, 0}, engine.ids);
  }

  @Test
  public void pairsHaveTwoSegmentsAndAreCut() throws IOException {
    TokenEngine engine = new TokenEngine(ModelFolder.CLASSIFICATION);
    TextClassifier model = TextClassifier.open(files(ModelFolder.CLASSIFICATION, true), engine);
    model.classify("who lives", "anna in oslo in rome in berlin");
    assertArrayEquals(new int[] {2, 5, 7, 3, 6, 8, 22, 3}, engine.ids);
    assertArrayEquals(new int[] {0, 0, 0, 0, 1, 1, 1, 1}, engine.segments);
  }

  @Test
  public void regressionGivesAScore() throws IOException {
    final TextClassifier model =
        TextClassifier.open(files(ModelFolder.REGRESSION, true), new TokenEngine(ModelFolder.REGRESSION));
    assertEquals(4, model.score("anna lives", null), 0);
    assertThrows(IllegalArgumentException.class, new ThrowingRunnable() {
      @Override
      public void run() {
        model.classify("anna lives");
      }
    });
  }

  @Test
  public void theFirstPieceOfAWordDecidesItsTag() throws IOException {
    WordTagger model = WordTagger.open(files(ModelFolder.TAGS, true), new TokenEngine(ModelFolder.TAGS));
    String text = " Berlin romees oslo anna";
    List<Span> spans = model.tag(text);
    assertEquals("[Berlin/B-X, romees/I-X, oslo/O, anna/B-X]", spans.toString());
    assertEquals("Berlin", text.substring(spans.get(0).start, spans.get(0).end));
    assertEquals("[Berlin romees/X, anna/X]", model.entities(text).toString());
    assertEquals(0, model.tag("").size());
  }

  @Test
  public void wordsThatWereNotReadHaveNoTag() throws IOException {
    WordTagger model = WordTagger.open(files(ModelFolder.TAGS, true), new TokenEngine(ModelFolder.TAGS));
    List<Span> spans = model.tag("rome rome rome rome rome rome rome rome");
    assertEquals("I-X", spans.get(5).label);
    assertNull(spans.get(6).label);
    assertNull(model.tag("\u0007 rome").get(0).label);
  }

  @Test
  public void anAnswerIsAPartOfThePassage() throws IOException {
    QuestionAnswerer model =
        QuestionAnswerer.open(files(ModelFolder.QUESTIONS, true), new TokenEngine(ModelFolder.QUESTIONS));
    Span answer = model.answer("oslo", "Anna lives\u00a0in Rome");
    assertEquals("Rome", answer.text);
    assertEquals(14, answer.start);
    assertNull(model.answer("who", ""));
  }

  @Test
  public void anAnswerIsFoundWhereBothTextsHaveSegmentZero() throws IOException {
    MemoryFiles files = files(ModelFolder.QUESTIONS, true);
    String second = "{\"Sequence\": {\"id\": \"B\", \"type_id\": 1}}";
    String separator = "{\"SpecialToken\": {\"id\": \"[SEP]\", \"type_id\": 0}}, ";
    // As MPNet and XLM-RoBERTa have it.
    String tokenizer = new String(files.read("tokenizer.json"), "UTF-8")
        .replace(second, separator + second)
        .replace("\"type_id\": 1", "\"type_id\": 0");
    TokenEngine engine = new TokenEngine(ModelFolder.QUESTIONS);
    QuestionAnswerer model = QuestionAnswerer.open(files.with("tokenizer.json", tokenizer), engine);
    Span answer = model.answer("oslo", "lives in Rome");
    assertArrayEquals(new int[] {2, 22, 3, 3, 7, 8, 21, 3}, engine.ids);
    assertArrayEquals(new int[8], engine.segments);
    assertEquals("Rome", answer.text);
    assertNull(model.answer("oslo", ""));
  }

  @Test
  public void aModelIsOpenedAsWhatItIs() throws IOException {
    assertTrue(TextModel.open(files(ModelFolder.TAGS, true), new TokenEngine(ModelFolder.TAGS)) instanceof WordTagger);
    final MemoryFiles tags = files(ModelFolder.TAGS, true);
    refused("runs models for", new ThrowingRunnable() {
      @Override
      public void run() throws IOException {
        TextClassifier.open(tags, new TokenEngine(ModelFolder.TAGS));
      }
    });
    refused("tokenizer.json must have 24 tokens", new ThrowingRunnable() {
      @Override
      public void run() throws IOException {
        String other = new String(tags.read("tokenizer.json"), "UTF-8").replace(", \"##es\": 23", "");
        WordTagger.open(tags.with("tokenizer.json", other), new TokenEngine(ModelFolder.TAGS));
      }
    });
    refused("Expected tokenizer.json", new ThrowingRunnable() {
      @Override
      public void run() throws IOException {
        WordTagger.open(tags.without("tokenizer.json"), new TokenEngine(ModelFolder.TAGS));
      }
    });
  }

  private static void refused(String part, ThrowingRunnable action) {
    String message = assertThrows(IllegalArgumentException.class, action).getMessage();
    assertTrue(message, message.contains(part));
  }
}
