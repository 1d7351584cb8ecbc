package exportmobile;

import java.util.ArrayList;
import java.util.List;

/** Words with BIO tags as entities, as conlleval joins them: I- without B- starts one, another type ends one. */
final class Entities {
  private Entities() {}

  static List<Span> of(String text, List<Span> words) {
    List<Span> entities = new ArrayList<>();
    Span open = null;
    boolean ended = true;
    for (Span word : words) {
      String tag = word.label == null ? "O" : word.label;
      boolean inside = tag.length() > 2 && tag.charAt(1) == '-' && "BIES".indexOf(tag.charAt(0)) >= 0;
      if (!inside) {
        open = null;
        continue;
      }
      char place = tag.charAt(0);
      String type = tag.substring(2);
      boolean begins = open == null || ended || place == 'B' || place == 'S' || !open.label.equals(type);
      int start = begins ? word.start : open.start;
      float probability = begins ? word.probability : Math.min(open.probability, word.probability);
      open = new Span(text.substring(start, word.end), start, word.end, type, probability);
      ended = place == 'E' || place == 'S';
      if (!begins) {
        entities.remove(entities.size() - 1);
      }
      entities.add(open);
    }
    return entities;
  }
}
