package exportmobile;

/**
 * Extended grapheme clusters (UAX 29) with the classes that `tokenizers` has.
 *
 * <p>Leaves out pairs of regional indicators: they only matter for clusters of 8 bytes and more, which {@link
 * CharacterMap} treats character by character anyway.
 */
final class Graphemes {
  private static final int JOINER = 0x200D;
  private static final int L = 1;
  private static final int V = 2;
  private static final int T = 3;
  private static final int LV = 4;

  private Graphemes() {}

  /** Where the cluster that starts here ends. */
  static int end(Text text, int start) {
    int at = start + 1;
    if (at == text.size) return at;
    int before = text.points[start];
    int last = Characters.grapheme(before);
    // A picture, what extends it, a joiner, a picture; a consonant, marks with a linker among them, a consonant.
    int picture = (last & Characters.PICTURE) != 0 ? 1 : 0;
    int consonant = (last & Characters.CONSONANT) != 0 ? 1 : 0;
    for (; at < text.size; at++) {
      int point = text.points[at];
      if (point < 128 && before < 128 && !(before == '\r' && point == '\n')) return at;
      int next = Characters.grapheme(point);
      if (!joins(before, last, point, next, picture, consonant)) return at;
      if (picture == 1 && point == JOINER) picture = 2;
      else if (picture != 1 || (next & Characters.EXTENDS) == 0) picture = (next & Characters.PICTURE) != 0 ? 1 : 0;
      if (consonant > 0 && (next & Characters.LINKER) != 0) consonant = 2;
      else if (consonant == 0 || (next & Characters.JOINS) == 0) {
        consonant = (next & Characters.CONSONANT) != 0 ? 1 : 0;
      }
      before = point;
      last = next;
    }
    return at;
  }

  private static boolean joins(int before, int last, int point, int next, int picture, int consonant) {
    if (before == '\r' && point == '\n') return true;
    if (((last | next) & Characters.CONTROL) != 0) return false;
    if ((next & Characters.ATTACHES) != 0 || (last & Characters.PREPENDS) != 0) return true;
    if (picture == 2 && (next & Characters.PICTURE) != 0) return true;
    if (consonant == 2 && (next & Characters.CONSONANT) != 0) return true;
    int left = last >> Characters.HANGUL_SHIFT;
    int right = next >> Characters.HANGUL_SHIFT;
    if (left == 0 || right == 0) return false;
    if (left == L) return right != T;
    if (left == V || left == LV) return right == V || right == T;
    return right == T;
  }
}
