import exportmobile.FolderFiles;
import exportmobile.Label;
import exportmobile.LiteRtEngine;
import exportmobile.QuestionAnswerer;
import exportmobile.SelfTest;
import exportmobile.Span;
import exportmobile.TextClassifier;
import exportmobile.TextModel;
import exportmobile.WordTagger;
import java.io.File;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;

/**
 * The library in a desktop JVM. Arguments: "answers" FOLDER TEXTS OUT writes a line for each line of TEXTS, "selftest"
 * FOLDER prints the outcome. Exit code 1: the self-test failed, 2: something was refused, with one line.
 */
public final class RunModels {
  public static void main(String[] arguments) throws Exception {
    try (TextModel model = TextModel.open(new FolderFiles(new File(arguments[1])), LiteRtEngine.threads(1))) {
      if (arguments[0].equals("selftest")) {
        SelfTest result = model.selfTest();
        System.out.println(result);
        result.failures.forEach(System.out::println);
        System.exit(result.passed() ? 0 : 1);
      }
      String texts = new String(Files.readAllBytes(Paths.get(arguments[2])), StandardCharsets.UTF_8);
      try (PrintStream out = new PrintStream(arguments[3], "UTF-8")) {
        for (String text : texts.split("\n", -1)) {
          out.println(answer(model, text));
        }
      }
    } catch (IllegalArgumentException | IllegalStateException refused) {
      System.err.println(refused.getMessage());
      System.exit(2);
    }
  }

  /** Two texts have a tab between them. */
  private static String answer(TextModel model, String line) {
    String[] texts = line.split("\t", 2);
    String pair = texts.length > 1 ? texts[1] : null;
    if (model instanceof WordTagger) {
      StringBuilder tags = new StringBuilder();
      for (Span span : ((WordTagger) model).tag(line)) {
        tags.append(tags.length() == 0 ? "" : " ").append(span.label == null ? "-" : span.label);
      }
      return tags.toString();
    }
    if (model instanceof QuestionAnswerer) {
      Span answer = ((QuestionAnswerer) model).answer(texts[0], pair);
      return answer == null ? "-" : answer.text;
    }
    TextClassifier classifier = (TextClassifier) model;
    if (classifier.isRegression()) {
      return String.valueOf(classifier.score(texts[0], pair));
    }
    Label best = classifier.classify(texts[0], pair, 1).get(0);
    return best.name + "\t" + best.logit + "\t" + best.probability;
  }
}
