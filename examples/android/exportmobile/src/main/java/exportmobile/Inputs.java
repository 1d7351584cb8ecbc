package exportmobile;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Texts as the inputs of one file: UTF-8 bytes, features or tokens. The file's own inputs say which. */
final class Inputs {
  private static final String TEXT = "text";
  private static final String FEATURES = "features";
  private static final List<String> TOKENS = Arrays.asList("ids", "mask", "segments");

  private final ModelFolder folder;
  private final FeatureSource source;
  private final List<TensorInfo> inputs;

  Inputs(ModelFolder folder, List<TensorInfo> inputs, FeatureSource source) {
    this.folder = folder;
    this.inputs = inputs;
    this.source = source;
    if (!(takesBytes() || takesFeatures() || takesTokens())) {
      throw new IllegalArgumentException(
          folder.file + " must take " + (folder.tokens ? "ids (INT32)" : "text (UINT8) or features (INT8)")
              + ", as export-mobile writes it. Received: " + inputs + ". Use the model file of the export folder.");
    }
    if (takesFeatures() && source == null) {
      throw new IllegalArgumentException(
          folder.file + " takes features, which need the native module exportmobile-jni. Received: no"
              + " source of features. Copy a bytes-in file, which needs none.");
    }
  }

  boolean takesBytes() {
    return only(TEXT, TensorInfo.Type.UINT8);
  }

  boolean takesFeatures() {
    return only(FEATURES, TensorInfo.Type.INT8);
  }

  private boolean takesTokens() {
    if (!folder.tokens) {
      return false;
    }
    boolean ids = false;
    for (TensorInfo input : inputs) {
      if (!TOKENS.contains(input.name) || input.type != TensorInfo.Type.INT32) {
        return false;
      }
      ids |= input.name.equals(TOKENS.get(0));
    }
    return ids;
  }

  private boolean only(String name, TensorInfo.Type type) {
    return !folder.tokens && inputs.size() == 1 && inputs.get(0).name.equals(name) && inputs.get(0).type == type;
  }

  /** Of a text, and of a second one if it is not null. */
  Row row(String text, String pair) {
    Texts.checked(text);
    if (pair != null) {
      Texts.checked(pair);
    }
    if (takesTokens()) {
      Tokenizer tokenizer = tokenizer();
      return row(pair == null
          ? tokenizer.encode(text, folder.maxLength)
          : tokenizer.encode(text, pair, folder.maxLength));
    }
    if (pair != null) {
      throw new IllegalArgumentException(
          folder.file + " reads one text at a time. Received: two. Join them into one.");
    }
    TensorInfo input = inputs.get(0);
    ByteBuffer buffer = ByteBuffer.allocateDirect(input.size()).order(ByteOrder.nativeOrder());
    int length = takesBytes() ? putBytes(text, buffer) : source.project(text, buffer);
    buffer.rewind();
    Map<String, Object> feed = new HashMap<>();
    feed.put(input.name, buffer);
    return new Row(feed, length, null);
  }

  Row words(List<String> words) {
    for (String word : words) {
      Texts.checked(word);
    }
    return row(tokenizer().encodeWords(words, folder.maxLength));
  }

  /** Ids, mask and segments, as long as they are or padded, as the file wants it. */
  Row row(Encoding encoding) {
    int length = folder.anyLength ? encoding.ids.length : folder.maxLength;
    Map<String, Object> feed = new HashMap<>();
    for (TensorInfo input : inputs) {
      int[] values = values(encoding, input.name);
      int[] padded = Arrays.copyOf(values, length);
      if (input.name.equals(TOKENS.get(0))) {
        Arrays.fill(padded, values.length, length, folder.padId);
      }
      feed.put(input.name, new int[][] {padded});
    }
    return new Row(feed, length, encoding);
  }

  /** Names and values of what the file takes, to compare them with those of the export. */
  List<String> names() {
    List<String> names = new ArrayList<>();
    for (TensorInfo input : inputs) {
      names.add(input.name);
    }
    return names;
  }

  static int[] values(Encoding encoding, String name) {
    return name.equals(TOKENS.get(0)) ? encoding.ids : name.equals(TOKENS.get(1)) ? encoding.mask : encoding.segments;
  }

  private Tokenizer tokenizer() {
    if (folder.tokenizer == null) {
      throw new IllegalArgumentException(
          folder.file + " reads tokens. Received: a text, but the export has no tokenizer"
              + " (random weights). Export a trained checkpoint.");
    }
    return folder.tokenizer;
  }

  /** The first bytes of the text; zeros stay behind them. A character that is cut in half is dropped by the model. */
  private static int putBytes(String text, ByteBuffer buffer) {
    int room = buffer.capacity();
    // A char is at least a byte, so that no more than these can be read. One more, lest a pair is cut in half.
    byte[] bytes = text.substring(0, Math.min(text.length(), room + 1)).getBytes(StandardCharsets.UTF_8);
    int length = Math.min(bytes.length, room);
    buffer.put(bytes, 0, length);
    return length;
  }
}
