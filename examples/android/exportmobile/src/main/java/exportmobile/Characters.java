package exportmobile;

import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;

/**
 * Properties of code points as the `tokenizers` package has them.
 *
 * <p>Not those of java.lang.Character or java.text.Normalizer: their version of Unicode depends on the device.
 */
final class Characters {
  static final int WHITESPACE = 1;
  static final int REMOVED = 2;
  static final int CHINESE = 4;
  static final int NONSPACING = 8;
  static final int COMBINING = 16;
  static final int PUNCTUATION = 32;
  static final int WORD = 64;
  private static final int LOWER = 128;
  private static final int CANONICAL = 256;
  private static final int COMPATIBLE = 512;
  private static final int ORDER_SHIFT = 10;
  private static final int GRAPHEME_SHIFT = 16;
  // Bits of a grapheme class, see tools/tokenizer_properties.py.
  static final int ATTACHES = 1;
  static final int PREPENDS = 2;
  static final int CONTROL = 4;
  static final int EXTENDS = 8;
  static final int PICTURE = 16;
  static final int CONSONANT = 32;
  static final int LINKER = 64;
  static final int JOINS = 128;
  static final int HANGUL_SHIFT = 8;

  private static final String DIGITS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_";
  private static final int[] EMPTY = new int[256];
  private static final int[][] PAGES = new int[0x1100][];
  private static final Parts LOWERED;
  private static final Parts CANONICALS;
  private static final Parts COMPATIBLES;
  // By the two code points that become one.
  private static final Map<Long, Integer> COMPOSED = new HashMap<>();

  static {
    Arrays.fill(PAGES, EMPTY);
    Reader in = new Reader(UnicodeTables.text());
    for (int bit = WHITESPACE; bit <= WORD; bit <<= 1) in.runs(bit, 0);
    LOWERED = in.lower(LOWER);
    CANONICALS = in.parts(CANONICAL);
    COMPATIBLES = in.parts(COMPATIBLE);
    in.composed(CANONICALS);
    in.runs(0, ORDER_SHIFT);
    in.runs(0, GRAPHEME_SHIFT);
    in.finish();
  }

  private Characters() {}

  /** All properties of a code point, for `is` and the questions below. */
  static int of(int point) {
    return PAGES[point >> 8][point & 255];
  }

  static boolean is(int point, int property) {
    return (of(point) & property) != 0;
  }

  /** Where a mark stands among others after decomposition; 0 for what is no such mark. */
  static int order(int point) {
    return of(point) >> ORDER_SHIFT & 63;
  }

  static int grapheme(int point) {
    return of(point) >>> GRAPHEME_SHIFT;
  }

  /** The small letter, or null if there is no other. */
  static int[] lower(int point) {
    return is(point, LOWER) ? LOWERED.of(point) : null;
  }

  /** The full decomposition, or null if there is none. */
  static int[] decomposed(int point, boolean compatible) {
    int properties = of(point);
    if (compatible && (properties & COMPATIBLE) != 0) return COMPATIBLES.of(point);
    if ((properties & CANONICAL) != 0) {
      int[] parts = CANONICALS.of(point);
      return compatible ? compatibles(parts) : parts;
    }
    int syllable = point - 0xAC00;
    if (syllable < 0 || syllable >= 11172) return null;
    int last = syllable % 28;
    int first = 0x1100 + syllable / 588;
    int middle = 0x1161 + syllable % 588 / 28;
    return last == 0 ? new int[] {first, middle} : new int[] {first, middle, 0x11A7 + last};
  }

  private static int[] compatibles(int[] parts) {
    boolean any = false;
    for (int part : parts) any |= is(part, COMPATIBLE);
    if (!any) return parts;
    int[] found = new int[0];
    for (int part : parts) {
      int[] more = is(part, COMPATIBLE) ? COMPATIBLES.of(part) : new int[] {part};
      int size = found.length;
      found = Arrays.copyOf(found, size + more.length);
      System.arraycopy(more, 0, found, size, more.length);
    }
    return found;
  }

  /** The one code point that two become, or -1. */
  static int composed(int first, int second) {
    int consonant = first - 0x1100;
    int vowel = second - 0x1161;
    if (consonant >= 0 && consonant < 19 && vowel >= 0 && vowel < 21) return 0xAC00 + (consonant * 21 + vowel) * 28;
    int syllable = first - 0xAC00;
    int last = second - 0x11A7;
    if (syllable >= 0 && syllable < 11172 && syllable % 28 == 0 && last > 0 && last < 28) return first + last;
    Integer found = COMPOSED.get(pair(first, second));
    return found == null ? -1 : found;
  }

  private static long pair(int first, int second) {
    return (long) first << 32 | second;
  }

  /** What code points become, in order of the code points. */
  private static final class Parts {
    final int[] points;
    final int[][] parts;

    Parts(int[] points, int[][] parts) {
      this.points = points;
      this.parts = parts;
    }

    int[] of(int point) {
      return parts[Arrays.binarySearch(points, point)];
    }
  }

  private static final class Reader {
    private final String text;
    private final byte[] values = new byte[128];
    private int at;

    Reader(String text) {
      this.text = text;
      for (int i = 0; i < DIGITS.length(); i++) values[DIGITS.charAt(i)] = (byte) i;
    }

    int number() {
      int found = 0;
      for (int shift = 0; ; shift += 5) {
        int digit = values[text.charAt(at++)];
        found |= (digit & 31) << shift;
        if (digit < 32) return found;
      }
    }

    int signed() {
      int found = number();
      return (found & 1) == 0 ? found >> 1 : -((found + 1) >> 1);
    }

    /** Runs of one bit, or of values at a shift. */
    void runs(int bit, int shift) {
      int point = 0;
      for (int count = number(); count > 0; count--) {
        point += number();
        int end = point + number() + 1;
        int value = bit != 0 ? bit : number() << shift;
        for (; point < end; point++) set(point, value);
      }
    }

    Parts lower(int bit) {
      int[] points = new int[2048];
      int[][] parts = new int[2048][];
      int size = 0;
      int point = 0;
      for (int count = number(); count > 0; count--) {
        point += number();
        int more = number();
        int step = number();
        int distance = signed();
        for (int i = 0; i <= more; i++) {
          points[size] = point + i * step;
          parts[size++] = new int[] {point + i * step + distance};
        }
        point += more * step;
      }
      Parts longer = parts(0);
      for (int i = 0; i < longer.points.length; i++) {
        int place = -1 - Arrays.binarySearch(points, 0, size, longer.points[i]);
        System.arraycopy(points, place, points, place + 1, size - place);
        System.arraycopy(parts, place, parts, place + 1, size - place);
        points[place] = longer.points[i];
        parts[place] = longer.parts[i];
        size++;
      }
      for (int i = 0; i < size; i++) set(points[i], bit);
      return new Parts(Arrays.copyOf(points, size), Arrays.copyOf(parts, size));
    }

    Parts parts(int bit) {
      int count = number();
      int[] points = new int[count];
      int[][] parts = new int[count][];
      int point = 0;
      for (int i = 0; i < count; i++) {
        point += number();
        points[i] = point;
        parts[i] = new int[number()];
        int last = point;
        for (int j = 0; j < parts[i].length; j++) parts[i][j] = last += signed();
        set(point, bit);
      }
      return new Parts(points, parts);
    }

    /** Short ones first: longer ones begin with them. */
    void composed(Parts parts) {
      int[] points = new int[2048];
      int size = 0;
      int point = 0;
      for (int count = number(); count > 0; count--) {
        point += number();
        for (int more = number(); more >= 0; more--) points[size++] = point++;
      }
      for (int length = 2, left = size; left > 0; length++) {
        for (int i = 0; i < size; i++) {
          int[] own = parts.of(points[i]);
          if (own.length != length) continue;
          int first = own[0];
          for (int j = 1; j < length - 1; j++) first = Characters.composed(first, own[j]);
          COMPOSED.put(pair(first, own[length - 1]), points[i]);
          left--;
        }
      }
    }

    private void set(int point, int value) {
      int[] page = PAGES[point >> 8];
      if (page == EMPTY) page = PAGES[point >> 8] = EMPTY.clone();
      page[point & 255] |= value;
    }

    /** Equal neighbours share a page: most of the large blocks are alike. */
    void finish() {
      if (at != text.length()) throw new IllegalStateException("The Unicode tables must end here.");
      for (int i = 1; i < PAGES.length; i++) {
        if (Arrays.equals(PAGES[i], PAGES[i - 1])) PAGES[i] = PAGES[i - 1];
      }
    }
  }
}
