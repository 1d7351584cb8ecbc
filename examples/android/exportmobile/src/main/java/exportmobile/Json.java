package exportmobile;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A small strict JSON reader, for the files of an export folder.
 *
 * <p>Objects become {@code Map<String, Object>}, arrays {@code List<Object>}, texts {@code String}, numbers {@link
 * Decimal}, true and false {@code Boolean}, null {@code null}. A key that occurs twice has its last value, as elsewhere.
 * Bad input is an IllegalArgumentException of one line; nesting is limited, so that no file can exhaust the stack.
 */
public final class Json {
  private static final int DEPTH = 100;

  private final String text;
  private int at;

  private Json(String text) {
    this.text = text;
  }

  /** A number as it is written, so that nothing is lost before the reader says what it needs. */
  public static final class Decimal extends Number {
    private static final long serialVersionUID = 1;

    public final String text;

    Decimal(String text) {
      this.text = text;
    }

    @Override
    public double doubleValue() {
      return Double.parseDouble(text);
    }

    @Override
    public float floatValue() {
      return Float.parseFloat(text);
    }

    @Override
    public long longValue() {
      return (long) doubleValue();
    }

    @Override
    public int intValue() {
      return (int) doubleValue();
    }

    @Override
    public String toString() {
      return text;
    }
  }

  /** From UTF-8; a byte order mark at the start is skipped. */
  public static Object parse(byte[] utf8) {
    try {
      String text =
          StandardCharsets.UTF_8
              .newDecoder()
              .onMalformedInput(CodingErrorAction.REPORT)
              .onUnmappableCharacter(CodingErrorAction.REPORT)
              .decode(ByteBuffer.wrap(utf8))
              .toString();
      return parse(text.startsWith("\uFEFF") ? text.substring(1) : text);
    } catch (CharacterCodingException error) {
      throw new IllegalArgumentException("A JSON file must be UTF-8. Received: bytes that are not.");
    }
  }

  public static Object parse(String text) {
    Json reader = new Json(text);
    Object value = reader.value(0);
    reader.skipSpace();
    if (reader.at < text.length()) throw reader.bad("the end");
    return value;
  }

  private Object value(int depth) {
    skipSpace();
    if (at >= text.length()) throw bad("a value");
    switch (text.charAt(at)) {
      case '{':
        return object(depth);
      case '[':
        return array(depth);
      case '"':
        return string();
      case 't':
        return word("true", Boolean.TRUE);
      case 'f':
        return word("false", Boolean.FALSE);
      case 'n':
        return word("null", null);
      default:
        return number();
    }
  }

  private Map<String, Object> object(int depth) {
    checkDepth(depth);
    Map<String, Object> found = new LinkedHashMap<>();
    at++;
    skipSpace();
    if (take('}')) return found;
    do {
      skipSpace();
      if (at >= text.length() || text.charAt(at) != '"') throw bad("a key in quotes");
      String key = string();
      skipSpace();
      if (!take(':')) throw bad("a colon");
      found.put(key, value(depth + 1));
      skipSpace();
    } while (take(','));
    if (!take('}')) throw bad("a comma or }");
    return found;
  }

  private List<Object> array(int depth) {
    checkDepth(depth);
    List<Object> found = new ArrayList<>();
    at++;
    skipSpace();
    if (take(']')) return found;
    do {
      found.add(value(depth + 1));
      skipSpace();
    } while (take(','));
    if (!take(']')) throw bad("a comma or ]");
    return found;
  }

  private String string() {
    int start = ++at;
    while (at < text.length() && text.charAt(at) != '"' && text.charAt(at) != '\\' && text.charAt(at) >= ' ') at++;
    if (at < text.length() && text.charAt(at) == '"') return text.substring(start, at++);
    StringBuilder out = new StringBuilder(text.substring(start, at));
    while (at < text.length()) {
      char unit = text.charAt(at++);
      if (unit == '"') return out.toString();
      if (unit < ' ') {
        at--;
        throw bad("no control character in a text");
      }
      out.append(unit == '\\' ? escaped() : unit);
    }
    throw bad("a closing quote");
  }

  private char escaped() {
    char unit = at < text.length() ? text.charAt(at++) : 0;
    switch (unit) {
      case '"':
      case '\\':
      case '/':
        return unit;
      case 'b':
        return '\b';
      case 'f':
        return '\f';
      case 'n':
        return '\n';
      case 'r':
        return '\r';
      case 't':
        return '\t';
      case 'u':
        int code = 0;
        for (int end = at + 4; at < end; at++) {
          int digit = at < text.length() && text.charAt(at) < 128 ? Character.digit(text.charAt(at), 16) : -1;
          if (digit < 0) throw bad("four hexadecimal digits");
          code = code << 4 | digit;
        }
        return (char) code;
      default:
        at--;
        throw bad("a known escape");
    }
  }

  private Decimal number() {
    int start = at;
    take('-');
    if (!take('0')) digits();
    if (take('.')) digits();
    if (at < text.length() && (text.charAt(at) == 'e' || text.charAt(at) == 'E')) {
      at++;
      if (!take('+')) take('-');
      digits();
    }
    return new Decimal(text.substring(start, at));
  }

  private void digits() {
    int start = at;
    while (at < text.length() && text.charAt(at) >= '0' && text.charAt(at) <= '9') at++;
    if (at == start) throw bad("a value");
  }

  private Object word(String word, Object value) {
    if (!text.startsWith(word, at)) throw bad("a value");
    at += word.length();
    return value;
  }

  private boolean take(char expected) {
    if (at >= text.length() || text.charAt(at) != expected) return false;
    at++;
    return true;
  }

  private void skipSpace() {
    while (at < text.length()) {
      char unit = text.charAt(at);
      if (unit != ' ' && unit != '\n' && unit != '\r' && unit != '\t') return;
      at++;
    }
  }

  private void checkDepth(int depth) {
    if (depth >= DEPTH) throw bad("at most " + DEPTH + " levels");
  }

  private IllegalArgumentException bad(String expected) {
    String received = at < text.length() ? String.format("U+%04X", (int) text.charAt(at)) : "the end";
    return new IllegalArgumentException(
        "JSON must have " + expected + " at character " + at + ". Received: " + received + ".");
  }
}
