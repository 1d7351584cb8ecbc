package exportmobile;

import java.util.Arrays;

/** A growing list of tokens: id, place in the text, number of the word. */
final class Tokens {
  int[] ids = new int[64];
  int[] starts = new int[64];
  int[] ends = new int[64];
  int[] words = new int[64];
  int size;

  void add(int id, int start, int end, int word) {
    if (size == ids.length) {
      ids = Arrays.copyOf(ids, size * 2);
      starts = Arrays.copyOf(starts, size * 2);
      ends = Arrays.copyOf(ends, size * 2);
      words = Arrays.copyOf(words, size * 2);
    }
    ids[size] = id;
    starts[size] = start;
    ends[size] = end;
    words[size++] = word;
  }
}
