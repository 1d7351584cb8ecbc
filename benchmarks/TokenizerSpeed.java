// The Java side of benchmarks/tokenizers_elsewhere.py: reads files of texts, then encodes all of one per line of input.
// java TokenizerSpeed: lines "TOKENIZER TEXTS PASSES" (texts as JSON), answered with the processor's seconds and the tokens.
package exportmobile;

import com.sun.management.OperatingSystemMXBean;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

class TokenizerSpeed {
  public static void main(String[] arguments) throws Exception {
    OperatingSystemMXBean system = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    Map<String, Tokenizer> tokenizers = new HashMap<>();
    Map<String, Object> files = new HashMap<>();
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      String[] names = line.split(" ");
      if (!tokenizers.containsKey(names[0])) {
        tokenizers.put(names[0], Tokenizer.fromJson(Files.readAllBytes(Paths.get(names[0]))));
      }
      if (!files.containsKey(names[1])) files.put(names[1], Json.parse(Files.readAllBytes(Paths.get(names[1]))));
      Tokenizer tokenizer = tokenizers.get(names[0]);
      long tokens = 0;
      // Of the whole process: compiling and collecting garbage count.
      long start = system.getProcessCpuTime();
      for (int pass = Integer.parseInt(names[2]); pass > 0; pass--) {
        for (Object text : (List<?>) files.get(names[1])) tokens += tokenizer.pieces((String) text).ids.length;
      }
      System.out.println((system.getProcessCpuTime() - start) / 1e9 + " " + tokens);
    }
  }
}
