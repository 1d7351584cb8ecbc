// Runs the Java tokenizer on files of requests, see tests/support/tokenizers_elsewhere.py.
// java TokenizerOnJvm TOKENIZER REQUESTS ANSWERS [TOKENIZER REQUESTS ANSWERS ...]
package exportmobile;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;

class TokenizerOnJvm {
  public static void main(String[] arguments) throws Exception {
    for (int i = 0; i < arguments.length; i += 3) run(arguments[i], arguments[i + 1], arguments[i + 2]);
  }

  static void run(String file, String requests, String answers) throws Exception {
    try (DataInputStream in = new DataInputStream(new BufferedInputStream(new FileInputStream(requests), 1 << 20));
        DataOutputStream out =
            new DataOutputStream(new BufferedOutputStream(new FileOutputStream(answers), 1 << 20))) {
      Tokenizer tokenizer;
      try {
        tokenizer = Tokenizer.fromJson(Files.readAllBytes(Paths.get(file)));
      } catch (IllegalArgumentException error) {
        writeError(out, error);
        return;
      }
      while (true) {
        int kind;
        try {
          kind = in.readInt();
        } catch (EOFException end) {
          return;
        }
        int maxLen = in.readInt();
        List<String> texts = new ArrayList<>();
        for (int count = in.readInt(); count > 0; count--) texts.add(readText(in));
        try {
          write(out, answer(tokenizer, kind, maxLen, texts));
        } catch (IllegalArgumentException error) {
          writeError(out, error);
        }
      }
    }
  }

  static Encoding answer(Tokenizer tokenizer, int kind, int maxLen, List<String> texts) {
    if (kind == 0) return tokenizer.encode(texts.get(0), maxLen);
    if (kind == 1) return tokenizer.encode(texts.get(0), texts.get(1), maxLen);
    return kind == 2 ? tokenizer.encodeWords(texts, maxLen) : tokenizer.pieces(texts.get(0));
  }

  static String readText(DataInputStream in) throws Exception {
    byte[] units = new byte[2 * in.readInt()];
    in.readFully(units);
    char[] text = new char[units.length / 2];
    for (int i = 0; i < text.length; i++) text[i] = (char) ((units[2 * i] & 255) << 8 | units[2 * i + 1] & 255);
    return new String(text);
  }

  static void write(DataOutputStream out, Encoding found) throws Exception {
    out.writeInt(found.ids.length);
    out.writeInt(found.firstPieces == null ? 0 : found.firstPieces.length);
    int[][] rows = {
      found.ids, found.mask, found.segments, found.texts, found.starts, found.ends, found.words, found.firstPieces
    };
    for (int[] row : rows) if (row != null) for (int value : row) out.writeInt(value);
  }

  static void writeError(DataOutputStream out, Exception error) throws Exception {
    byte[] message = error.getMessage().getBytes(StandardCharsets.UTF_8);
    out.writeInt(-1);
    out.writeInt(message.length);
    out.write(message);
  }
}
