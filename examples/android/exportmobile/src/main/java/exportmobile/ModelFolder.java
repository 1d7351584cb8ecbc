package exportmobile;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** What the files of an export folder say of its model, and which model file an app takes. */
final class ModelFolder {
  static final String CLASSIFICATION = "classification";
  static final String SENTENCE_ORDER = "sentence-order";
  static final String REGRESSION = "regression";
  static final String TAGS = "token-classification";
  static final String QUESTIONS = "question-answering";

  private static final String MODEL = "model.json";
  private static final String PROJECTION = "projection.json";
  private static final String LABELS = "labels.txt";
  private static final String TOKENIZER = "tokenizer.json";
  private static final String EXAMPLES = "examples.json";
  private static final String USUAL = "int8.tflite";

  final ModelFiles files;
  /** True for models that read tokens, false for those that read the text itself. */
  final boolean tokens;
  final String file;
  final String task;
  final List<String> labels;
  final boolean multiLabel;
  final int maxLength;
  final boolean anyLength;
  final int padId;
  /** Null for PRADO and SGNN, and for random weights, which read no text. */
  final Tokenizer tokenizer;

  ModelFolder(ModelFiles files) throws IOException {
    this.files = files;
    List<String> names = files.names();
    tokens = names.contains(MODEL);
    if (!tokens && !names.contains(PROJECTION)) {
      throw new IllegalArgumentException(
          "Expected an export folder, with " + MODEL + " or " + PROJECTION + ". Received: "
              + (names.isEmpty() ? "an empty or missing one" : shortened(names))
              + ". Copy what `export-mobile android` or copyModels writes.");
    }
    Document document = tokens
        ? Document.read(MODEL, files.read(MODEL), "export-mobile-tokens/1")
        : Document.read(PROJECTION, files.read(PROJECTION), "export-mobile-projection/1");
    file = choose(names, tokens ? new String[] {"model_"} : new String[] {"bytes_", "features_"});
    task = tokens ? document.text("task") : CLASSIFICATION;
    multiLabel = document.flag("multi_label");
    maxLength = document.whole("max_seq_len");
    Document length = document.object("length");
    anyLength = length.flag("any");
    if (maxLength < 1) {
      throw new IllegalArgumentException(
          "\"max_seq_len\" must be 1 or more. Received: " + maxLength + ". Copy the export folder again.");
    }
    labels = Collections.unmodifiableList(tokens ? document.texts("labels") : lines(names));
    Tokenizer found = null;
    int pad = 0;
    if (tokens && document.has("tokenizer")) {
      pad = document.object("tokenizer").whole("pad_id");
      need(names, TOKENIZER);
      found = Tokenizer.fromJson(files.read(TOKENIZER));
      int size = document.object("tokenizer").whole("vocab_size");
      if (found.vocabularySize() != size) {
        throw new IllegalArgumentException(
            TOKENIZER + " must have " + size + " tokens, as " + MODEL + " says. Received: " + found.vocabularySize()
                + ". Copy both from the same export folder.");
      }
    }
    tokenizer = found;
    padId = pad;
  }

  Document examples() throws IOException {
    need(files.names(), EXAMPLES);
    return Document.read(EXAMPLES, files.read(EXAMPLES), "export-mobile-examples/1");
  }

  /** The int8 file if there is one, else the first by name. */
  private static String choose(List<String> names, String... kinds) {
    List<String> models = new ArrayList<>();
    for (String name : names) {
      if (name.endsWith(".tflite")) {
        models.add(name);
      }
    }
    Collections.sort(models);
    for (String kind : kinds) {
      if (models.contains(kind + USUAL)) {
        return kind + USUAL;
      }
      for (String name : models) {
        if (name.startsWith(kind)) {
          return name;
        }
      }
    }
    throw new IllegalArgumentException(
        "Expected a model file such as " + kinds[0] + USUAL + ". Received: "
            + (models.isEmpty() ? "none" : shortened(models)) + ". Export with --target tflite.");
  }

  private List<String> lines(List<String> names) throws IOException {
    need(names, LABELS);
    List<String> lines = new ArrayList<>();
    for (String line : new String(files.read(LABELS), StandardCharsets.UTF_8).split("\n")) {
      String label = line.endsWith("\r") ? line.substring(0, line.length() - 1) : line;
      if (!label.isEmpty()) {
        lines.add(label);
      }
    }
    return lines;
  }

  private static void need(List<String> names, String name) {
    if (!names.contains(name)) {
      throw new IllegalArgumentException(
          "Expected " + name + " beside the model. Received: a folder without it."
              + " Copy it from the export folder.");
    }
  }

  private static String shortened(List<String> names) {
    List<String> sorted = new ArrayList<>(names);
    Collections.sort(sorted);
    return sorted.size() > 5 ? sorted.subList(0, 5) + " and others" : sorted.toString();
  }
}
