package exportmobile;

import java.util.Map;

/** One text as a model takes it. */
final class Row {
  /** By input name: int[1][length], or a direct buffer. */
  final Map<String, Object> feed;
  /** How many places each input has. */
  final int length;
  /** Of token models, without padding; else null. */
  final Encoding encoding;

  Row(Map<String, Object> feed, int length, Encoding encoding) {
    this.feed = feed;
    this.length = length;
    this.encoding = encoding;
  }
}
