package exportmobile;

import java.util.Arrays;

/** Code points, each with its place in the text that they came from (UTF-16 indexes, end exclusive). */
final class Text {
  int[] points;
  int[] starts;
  int[] ends;
  int size;
  /** Whether all points are known to be below 128. */
  boolean ascii;

  Text(int room) {
    points = new int[room];
    starts = new int[room];
    ends = new int[room];
    ascii = true;
  }

  /** Half of a surrogate pair is not text: a question mark replaces it, as in the Python package. */
  static Text of(String source) {
    int length = source.length();
    Text text = new Text(length);
    int all = 0;
    int size = 0;
    for (int i = 0; i < length; ) {
      int point = source.charAt(i);
      int end = i + 1;
      if (point >= 0xD800 && point < 0xE000) {
        char next = point < 0xDC00 && end < length ? source.charAt(end) : 0;
        if (next >= 0xDC00 && next < 0xE000) {
          point = 0x10000 + ((point - 0xD800) << 10) + (next - 0xDC00);
          end++;
        } else {
          point = '?';
        }
      }
      all |= point;
      text.points[size] = point;
      text.starts[size] = i;
      text.ends[size++] = end;
      i = end;
    }
    text.size = size;
    text.ascii = all < 128;
    return text;
  }

  /** Whether a text has no half of a surrogate pair. */
  static boolean isWhole(String source) {
    for (int i = 0; i < source.length(); i++) {
      if (!Character.isSurrogate(source.charAt(i))) continue;
      if (i + 1 == source.length() || !Character.isSurrogatePair(source.charAt(i), source.charAt(i + 1))) return false;
      i++;
    }
    return true;
  }

  void add(int point, int start, int end) {
    if (size == points.length) {
      int room = size + (size >> 1) + 16;
      points = Arrays.copyOf(points, room);
      starts = Arrays.copyOf(starts, room);
      ends = Arrays.copyOf(ends, room);
    }
    if (point >= 128) ascii = false;
    points[size] = point;
    starts[size] = start;
    ends[size++] = end;
  }

  void addFrom(Text other, int index) {
    add(other.points[index], other.starts[index], other.ends[index]);
  }

  /** Replaces everything by another text's content. */
  void take(Text other) {
    points = other.points;
    starts = other.starts;
    ends = other.ends;
    size = other.size;
    ascii = other.ascii;
  }

  Text slice(int from, int to) {
    Text found = new Text(0);
    found.points = Arrays.copyOfRange(points, from, to);
    found.starts = Arrays.copyOfRange(starts, from, to);
    found.ends = Arrays.copyOfRange(ends, from, to);
    found.size = to - from;
    found.ascii = ascii;
    return found;
  }

  boolean matches(int at, int[] wanted) {
    if (at + wanted.length > size) return false;
    for (int i = 0; i < wanted.length; i++) if (points[at + i] != wanted[i]) return false;
    return true;
  }
}
