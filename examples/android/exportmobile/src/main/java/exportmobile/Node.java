package exportmobile;

import java.util.List;
import java.util.Map;

/** A place in a JSON document that knows its name, so that a wrong type is an error that says where. */
final class Node {
  final String name;
  final Object value;

  Node(String name, Object value) {
    this.name = name;
    this.value = value;
  }

  boolean isNull() {
    return value == null;
  }

  boolean isObject() {
    return value instanceof Map;
  }

  boolean isText() {
    return value instanceof String;
  }

  @SuppressWarnings("unchecked")
  Map<String, Object> object() {
    if (value instanceof Map) return (Map<String, Object>) value;
    throw wrong("an object");
  }

  @SuppressWarnings("unchecked")
  List<Object> array() {
    if (value instanceof List) return (List<Object>) value;
    throw wrong("an array");
  }

  /** A member; null where it is absent. */
  Node get(String key) {
    return new Node(name + "." + key, object().get(key));
  }

  Node item(int index) {
    return new Node(name + "[" + index + "]", array().get(index));
  }

  String text() {
    if (value instanceof String) return (String) value;
    throw wrong("text");
  }

  boolean flag() {
    if (value instanceof Boolean) return (Boolean) value;
    throw wrong("true or false");
  }

  boolean flag(boolean absent) {
    return value == null ? absent : flag();
  }

  /** A whole number from 0. */
  int number() {
    String text = value instanceof Json.Decimal ? ((Json.Decimal) value).text : "";
    boolean whole = !text.isEmpty() && text.length() < 10;
    for (int i = 0; i < text.length(); i++) whole &= text.charAt(i) >= '0' && text.charAt(i) <= '9';
    if (!whole) throw wrong("a whole number from 0 to 999999999");
    return Integer.parseInt(text);
  }

  /**
   * A score, as the serde_json library inside `tokenizers` reads it: its last bit may differ from that of the nearest
   * double, and where two ways through a text cost the same, that bit decides.
   */
  double score() {
    if (!(value instanceof Json.Decimal)) throw wrong("a number");
    String text = ((Json.Decimal) value).text;
    long digits = 0;
    int exponent = 0;
    boolean full = false;
    boolean fraction = false;
    int at = text.charAt(0) == '-' ? 1 : 0;
    for (; at < text.length(); at++) {
      char unit = text.charAt(at);
      if (unit == 'e' || unit == 'E') break;
      if (unit == '.') {
        fraction = true;
        continue;
      }
      int digit = unit - '0';
      // 1844674407370955161 * 10 + 5 is the largest number of 64 bits.
      full = full || digits > 1844674407370955161L || digits < 0 || (digits == 1844674407370955161L && digit > 5);
      if (!full) digits = digits * 10 + digit;
      if (full != fraction) exponent += full ? 1 : -1;
    }
    if (at < text.length()) {
      String written = text.substring(at + 1);
      if (written.length() > 5) throw wrong("a number that a double can hold");
      exponent += Integer.parseInt(written.startsWith("+") ? written.substring(1) : written);
    }
    double found = digits >= 0 ? digits : ((digits >>> 1 | digits & 1) * 2.0);
    if (found != 0 && exponent > 308) throw wrong("a number that a double can hold");
    while (exponent < -308 && found != 0) {
      found /= 1e308;
      exponent += 308;
    }
    if (found != 0) found = exponent >= 0 ? found * power(exponent) : found / power(-exponent);
    if (Double.isInfinite(found)) throw wrong("a number that a double can hold");
    return text.charAt(0) == '-' ? -found : found;
  }

  private static double power(int exponent) {
    return Double.parseDouble("1e" + exponent);
  }

  IllegalArgumentException wrong(String expected) {
    return error("must be " + expected, received());
  }

  IllegalArgumentException error(String claim, String received) {
    return new IllegalArgumentException(name + " " + claim + ". Received: " + received + ".");
  }

  private String received() {
    if (value == null) return "nothing";
    if (value instanceof Map) return "an object";
    if (value instanceof List) return "an array";
    if (value instanceof String) return "the text " + shown((String) value);
    return String.valueOf(value);
  }

  static String shown(String text) {
    return "\"" + (text.length() > 40 ? text.substring(0, 40) + "..." : text).replace("\n", "\\n") + "\"";
  }
}
