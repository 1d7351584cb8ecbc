package exportmobile;

import java.util.Arrays;

/** Texts by code points, each with a number. Nodes are numbers from 0, the root; edges lie in one hash table. */
final class Trie {
  static final int NONE = -1;
  private int[] values = new int[1024];
  private int nodes = 1;
  // Open addressing: an edge's key is the node and the code point, its value the next node.
  private long[] keys = new long[2048];
  private int[] next = new int[2048];
  private int edges;

  Trie() {
    Arrays.fill(values, NONE);
  }

  private static int place(long key, int room) {
    long mixed = key * 0x9E3779B97F4A7C15L;
    return (int) (mixed >>> 40) & (room - 1);
  }

  /** The node after this one, or NONE. */
  int step(int node, int point) {
    // One more than the key, so that 0 is an empty place.
    long key = ((long) node << 21 | point) + 1;
    for (int at = place(key, keys.length); ; at = at + 1 & keys.length - 1) {
      if (keys[at] == key) return next[at];
      if (keys[at] == 0) return NONE;
    }
  }

  int value(int node) {
    return values[node];
  }

  void put(int[] points, int value) {
    int node = 0;
    for (int point : points) {
      int following = step(node, point);
      if (following == NONE) {
        following = nodes++;
        addEdge(((long) node << 21 | point) + 1, following);
      }
      node = following;
    }
    if (node >= values.length) grow(node);
    values[node] = value;
  }

  /** The number of exactly this text, or NONE. */
  int get(int[] points, int start, int end) {
    int node = 0;
    for (int i = start; i < end; i++) {
      node = step(node, points[i]);
      if (node == NONE) return NONE;
    }
    return values[node];
  }

  int get(int[] points) {
    return get(points, 0, points.length);
  }

  /** The node of a text that need not be a whole one, or NONE. */
  int find(int[] points) {
    int node = 0;
    for (int i = 0; i < points.length && node != NONE; i++) node = step(node, points[i]);
    return node;
  }

  /** To be called after the last `put`: values for nodes that have none of their own. */
  void finish() {
    if (nodes > values.length) grow(nodes);
  }

  private void grow(int least) {
    int old = values.length;
    values = Arrays.copyOf(values, Math.max(least + 1, old * 2));
    Arrays.fill(values, old, values.length, NONE);
  }

  private void addEdge(long key, int node) {
    if (++edges * 2 > keys.length) {
      long[] oldKeys = keys;
      int[] oldNext = next;
      keys = new long[oldKeys.length * 2];
      next = new int[oldKeys.length * 2];
      for (int i = 0; i < oldKeys.length; i++) if (oldKeys[i] != 0) insert(oldKeys[i], oldNext[i]);
    }
    insert(key, node);
  }

  private void insert(long key, int node) {
    int at = place(key, keys.length);
    while (keys[at] != 0) at = at + 1 & keys.length - 1;
    keys[at] = key;
    next[at] = node;
  }
}
