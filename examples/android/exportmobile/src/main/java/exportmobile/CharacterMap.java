package exportmobile;

import java.util.Arrays;
import java.util.concurrent.ConcurrentHashMap;

/**
 * SentencePiece's compiled character map: a double array over UTF-8 bytes, whose values are places in a list of texts.
 *
 * <p>As in `tokenizers`, a grapheme cluster below 6 bytes is replaced as a whole by what its shortest known prefix maps
 * to; the characters of a longer or unknown one are looked up one by one.
 */
final class CharacterMap {
  private static final int WHOLE = 6;
  private final Node node;
  private final int[] units;
  private final byte[] texts;
  private final ConcurrentHashMap<Integer, int[]> found = new ConcurrentHashMap<>();
  private final int[] simple = new int[128];

  private CharacterMap(Node node, byte[] data) {
    this.node = node;
    if (data.length < 4) throw damaged("its size in 4 bytes", data.length + " bytes");
    long size = (data[0] & 255L) | (data[1] & 255L) << 8 | (data[2] & 255L) << 16 | (data[3] & 255L) << 24;
    if (size < 1024 || size % 4 != 0 || size > data.length - 4) {
      throw damaged("an array of whole units inside of itself", size + " of " + (data.length - 4) + " bytes");
    }
    units = new int[(int) (size / 4)];
    for (int i = 0; i < units.length; i++) {
      int at = 4 + 4 * i;
      units[i] = data[at] & 255 | (data[at + 1] & 255) << 8 | (data[at + 2] & 255) << 16 | (data[at + 3] & 255) << 24;
    }
    texts = Arrays.copyOfRange(data, 4 + (int) size, data.length);
    checkTexts();
    check();
    for (int point = 0; point < 128; point++) {
      Text one = new Text(1);
      one.add(point, 0, 1);
      int[] found = find(one, 0, 1);
      // A carriage return may be half of a cluster.
      simple[point] = found == null ? point : found.length == 1 && point != '\r' ? found[0] : -1;
    }
  }

  static CharacterMap from(Node node) {
    return new CharacterMap(node, bytes(node));
  }

  /** Follows every way through the array once, so that a damaged one is found here and not in a text. */
  private void check() {
    boolean[] seen = new boolean[units.length];
    int[] stack = new int[units.length];
    int size = 0;
    stack[size++] = 0;
    seen[0] = true;
    while (size > 0) {
      int at = stack[--size];
      int base = at ^ offset(units[at]);
      if (at != 0 && (units[at] >>> 8 & 1) == 1) checkValue(base);
      for (int label = 1; label < 256; label++) {
        int next = base ^ label;
        if (next < 0 || next >= units.length) throw damaged("no unit beyond " + units.length, "unit " + next);
        if ((units[next] & 0x800000FF) != label || seen[next]) continue;
        seen[next] = true;
        stack[size++] = next;
      }
    }
  }

  private void checkValue(int at) {
    if (at < 0 || at >= units.length) throw damaged("no unit beyond " + units.length, "unit " + at);
    int value = units[at] & 0x7FFFFFFF;
    if (value > texts.length || (value < texts.length && (texts[value] & 0xC0) == 0x80)) {
      throw damaged("texts in its " + texts.length + " bytes", "one at byte " + value);
    }
  }

  private void checkTexts() {
    try {
      java.nio.charset.StandardCharsets.UTF_8.newDecoder().decode(java.nio.ByteBuffer.wrap(texts));
    } catch (java.nio.charset.CharacterCodingException error) {
      throw damaged("texts of UTF-8", "other bytes");
    }
  }

  private IllegalArgumentException damaged(String expected, String received) {
    return node.error("must be a character map with " + expected, received);
  }

  private static int offset(int unit) {
    return unit >>> 10 << ((unit & 512) >>> 6);
  }

  void apply(Text text) {
    if (text.ascii && applySimple(text)) return;
    Text out = new Text(text.size + 16);
    int[] changes = new int[text.size + 16];
    boolean modified = false;
    int end;
    for (int start = 0; start < text.size; start = end) {
      end = Graphemes.end(text, start);
      int[] whole = length(text, start, end) < WHOLE ? find(text, start, end) : null;
      int step = whole == null ? 1 : end - start;
      for (int at = start; at < end; at += step) {
        int[] next = whole == null && end - start > 1 ? find(text, at, at + 1) : whole;
        modified |= next != null;
        int count = next == null ? 1 : next.length;
        if (out.size + count > changes.length) changes = Arrays.copyOf(changes, (out.size + count) * 2);
        for (int i = 0; i < count; i++) {
          // A character more than there were is new; the others replace old ones.
          changes[out.size] = i < step ? 0 : 1;
          out.add(next == null ? text.points[at] : next[i], 0, 0);
        }
        if (count < step && out.size > 0) changes[out.size - 1] += count - step;
      }
    }
    if (!modified) return;
    place(text, out, changes);
    text.take(out);
  }

  /** Gives each new character its place: 1 is a new one, -n one that is followed by n that are gone. */
  private static void place(Text text, Text out, int[] changes) {
    int old = 0;
    for (int i = 0; i < out.size; i++) {
      if (changes[i] > 0) {
        out.starts[i] = old < 1 ? 0 : text.starts[old - 1];
        out.ends[i] = old < 1 ? 0 : text.ends[old - 1];
      } else {
        out.starts[i] = text.starts[old];
        out.ends[i] = text.ends[old];
        old += 1 - changes[i];
      }
    }
  }

  /** For ASCII that maps to single characters; false, and nothing changed, if the text has anything else. */
  private boolean applySimple(Text text) {
    for (int i = 0; i < text.size; i++) if (simple[text.points[i]] < 0) return false;
    for (int i = 0; i < text.size; i++) {
      int point = simple[text.points[i]];
      text.points[i] = point;
      if (point >= 128) text.ascii = false;
    }
    return true;
  }

  private static int length(Text text, int start, int end) {
    int found = 0;
    for (int i = start; i < end; i++) {
      int point = text.points[i];
      found += point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    }
    return found;
  }

  /** What the shortest known prefix of these characters maps to, or null. */
  private int[] find(Text text, int start, int end) {
    int at = offset(units[0]);
    for (int i = start; i < end; i++) {
      int point = text.points[i];
      int bytes = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
      for (int k = bytes - 1; k >= 0; k--) {
        int label = k < bytes - 1 ? 0x80 | point >> 6 * k & 63 : bytes == 1 ? point : (0xF00 >> bytes & 255) | point >> 6 * k;
        if (label == 0) return null;
        at ^= label;
        int unit = units[at];
        if ((unit & 0x800000FF) != label) return null;
        at ^= offset(unit);
        if ((unit >>> 8 & 1) == 1) return textAt(units[at] & 0x7FFFFFFF);
      }
    }
    return null;
  }

  private int[] textAt(int start) {
    int[] known = found.get(start);
    if (known != null) return known;
    int end = start;
    while (end < texts.length && texts[end] != 0) end++;
    known = Normalizers.points(new String(texts, start, end - start, java.nio.charset.StandardCharsets.UTF_8));
    found.put(start, known);
    return known;
  }

  /** Base 64; java.util.Base64 is not on every Android that this library runs on. */
  private static byte[] bytes(Node node) {
    String text = node.text();
    int length = text.length();
    int padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
    if (length % 4 != 0) throw node.error("must be in base 64", length + " characters");
    byte[] found = new byte[length / 4 * 3 - padding];
    int bits = 0;
    int to = 0;
    for (int i = 0; i < length; i++) {
      char unit = text.charAt(i);
      int digit = i >= length - padding ? 0 : BASE64.indexOf(unit);
      if (digit < 0) throw node.error("must be in base 64", "the character " + Node.shown(String.valueOf(unit)));
      bits = bits << 6 | digit;
      if (i % 4 < 3) continue;
      for (int shift = 16; shift >= 0; shift -= 8) {
        if (to < found.length) found[to++] = (byte) (bits >> shift);
      }
      bits = 0;
    }
    return found;
  }

  private static final String BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
}
