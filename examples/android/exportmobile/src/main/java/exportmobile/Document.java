package exportmobile;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** An object of a JSON file. What does not fit is named with the file and the key. */
final class Document {
  private final String file;
  private final Map<?, ?> values;

  private Document(String file, Map<?, ?> values) {
    this.file = file;
    this.values = values;
  }

  /** A whole file, whose "format" must be this one. */
  static Document read(String file, byte[] content, String format) {
    Object value;
    try {
      value = Json.parse(content);
    } catch (IllegalArgumentException damaged) {
      throw new IllegalArgumentException(
          file + " must be the file that export-mobile wrote. Received: a damaged one ("
              + damaged.getMessage() + "). Copy the export folder again.",
          damaged);
    }
    if (!(value instanceof Map)) {
      throw new IllegalArgumentException(
          file + " must be the file that export-mobile wrote. Received: JSON that is no object.");
    }
    Document document = new Document(file, (Map<?, ?>) value);
    String received = document.text("format");
    if (!format.equals(received)) {
      throw new IllegalArgumentException(
          file + " must have the format " + format + ". Received: " + received
              + ". Take the library and the folder from the same release of export-mobile.");
    }
    return document;
  }

  boolean has(String key) {
    return values.get(key) != null;
  }

  /** The value as it is: a String, a Number, a Boolean, a List, or null. */
  Object value(String key) {
    return values.get(key);
  }

  String text(String key) {
    return of(key, values.get(key), String.class, "a text");
  }

  int whole(String key) {
    return of(key, values.get(key), Number.class, "a number").intValue();
  }

  double number(String key) {
    return of(key, values.get(key), Number.class, "a number").doubleValue();
  }

  /** False if the key is not there. */
  boolean flag(String key) {
    return has(key) && of(key, values.get(key), Boolean.class, "true or false");
  }

  Document object(String key) {
    return new Document(file, of(key, values.get(key), Map.class, "an object"));
  }

  List<?> list(String key) {
    return of(key, values.get(key), List.class, "a list");
  }

  List<Document> objects(String key) {
    List<Document> objects = new ArrayList<>();
    for (Object value : list(key)) {
      objects.add(new Document(file, of(key, value, Map.class, "a list of objects")));
    }
    return objects;
  }

  List<String> texts(String key) {
    List<String> texts = new ArrayList<>();
    for (Object value : list(key)) {
      texts.add(of(key, value, String.class, "a list of texts"));
    }
    return texts;
  }

  int[] wholes(String key) {
    List<?> list = list(key);
    int[] numbers = new int[list.size()];
    for (int i = 0; i < numbers.length; i++) {
      numbers[i] = of(key, list.get(i), Number.class, "a list of numbers").intValue();
    }
    return numbers;
  }

  /** The keys of an object, in the order of the file. */
  List<String> keys() {
    List<String> keys = new ArrayList<>();
    for (Object key : values.keySet()) {
      keys.add((String) key);
    }
    return keys;
  }

  private <T> T of(String key, Object value, Class<T> type, String expected) {
    if (!type.isInstance(value)) {
      throw new IllegalArgumentException(
          file + ": \"" + key + "\" must be " + expected + ". Received: "
              + (value == null ? "nothing" : "something else") + ". Copy the export folder again.");
    }
    return type.cast(value);
  }
}
