package exportmobile;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;

import java.util.ArrayList;
import java.util.List;
import org.junit.Test;

public class WordsTest {
  @Test
  public void wordsAreWhatStandsBetweenWhiteSpace() {
    String text = "\u00a0wake  me\tat\u2003seven,\n";
    List<String> words = new ArrayList<>();
    for (Span word : Texts.words(text)) {
      words.add(word.text);
      assertEquals(word.text, text.substring(word.start, word.end));
    }
    assertEquals("[wake, me, at, seven,]", words.toString());
    assertEquals(0, Texts.words(" \n").size());
  }

  @Test
  public void tagsBecomeEntities() {
    assertEquals("[new york/PLACE, anna/NAME, smith/NAME]", entities("B-PLACE I-PLACE O B-NAME B-NAME"));
    assertEquals("[new york/PLACE, in/TIME, anna smith/NAME]", entities("I-PLACE I-PLACE I-TIME I-NAME I-NAME"));
    assertEquals("[new/PLACE, york/PLACE, anna smith/NAME]", entities("S-PLACE S-PLACE O B-NAME E-NAME"));
    assertEquals("[]", entities("O O O O O"));
    assertEquals("[smith/NAME]", entities("- - - - B-NAME"));
  }

  @Test
  public void anEntityIsAsProbableAsItsLeastProbableWord() {
    List<Span> words = new ArrayList<>();
    words.add(new Span("new", 0, 3, "B-X", 0.9f));
    words.add(new Span("york", 4, 8, "I-X", 0.6f));
    assertEquals(0.6f, Entities.of("new york", words).get(0).probability, 0);
  }

  @Test
  public void probabilitiesStandLargeLogits() {
    assertArrayEquals(new float[] {1, 0}, Probabilities.softmax(new float[] {1e9f, -1e9f}), 0);
    assertArrayEquals(new float[] {1, 0, 0.5f}, Probabilities.sigmoid(new float[] {1e9f, -1e9f, 0}), 0);
    assertEquals(1, Probabilities.largest(new float[] {9, 1, 3, 3}, 1, 3));
  }

  private static String entities(String tags) {
    String text = "new york in anna smith";
    String[] each = tags.split(" ");
    List<Span> tagged = new ArrayList<>();
    List<Span> words = Texts.words(text);
    for (int i = 0; i < each.length; i++) {
      Span word = words.get(i);
      tagged.add(new Span(word.text, word.start, word.end, each[i].equals("-") ? null : each[i], 1));
    }
    return Entities.of(text, tagged).toString();
  }
}
