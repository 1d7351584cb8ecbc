package exportmobile;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.tensorflow.lite.DataType;
import org.tensorflow.lite.Interpreter;
import org.tensorflow.lite.Tensor;

/** LiteRT on the CPU, through {@code org.tensorflow.lite.Interpreter}. Tensors are bound by name, never by number. */
public final class LiteRtEngine implements Engine {
  private static final String SIGNATURE = "serving_default";

  private final Interpreter interpreter;
  private final List<TensorInfo> inputs = new ArrayList<>();
  private final List<TensorInfo> outputs = new ArrayList<>();

  /** Engines that run on this many threads. One is best for small models. */
  public static Engine.Factory threads(final int count) {
    return new Engine.Factory() {
      @Override
      public Engine open(ByteBuffer model) {
        return new LiteRtEngine(model, count);
      }
    };
  }

  public LiteRtEngine(ByteBuffer model, int threads) {
    interpreter = new Interpreter(model, new Interpreter.Options().setNumThreads(threads));
    String[] signatures = interpreter.getSignatureKeys();
    if (!Arrays.asList(signatures).contains(SIGNATURE)) {
      interpreter.close();
      throw new IllegalArgumentException(
          "Expected a model of export-mobile, with the signature " + SIGNATURE
              + ". Received: one with " + Arrays.toString(signatures) + ".");
    }
    for (String name : interpreter.getSignatureInputs(SIGNATURE)) {
      inputs.add(info(name, interpreter.getInputTensorFromSignature(name, SIGNATURE)));
    }
    for (String name : interpreter.getSignatureOutputs(SIGNATURE)) {
      outputs.add(info(name, interpreter.getOutputTensorFromSignature(name, SIGNATURE)));
    }
  }

  @Override
  public List<TensorInfo> inputs() {
    return Collections.unmodifiableList(inputs);
  }

  @Override
  public List<TensorInfo> outputs() {
    return Collections.unmodifiableList(outputs);
  }

  @Override
  public void run(Map<String, Object> inputs, Map<String, Object> outputs) {
    interpreter.runSignature(inputs, outputs, SIGNATURE);
  }

  @Override
  public void close() {
    interpreter.close();
  }

  private static TensorInfo info(String name, Tensor tensor) {
    Tensor.QuantizationParams quantized = tensor.quantizationParams();
    return new TensorInfo(
        name, type(tensor.dataType()), tensor.shape(), quantized.getScale(), quantized.getZeroPoint());
  }

  private static TensorInfo.Type type(DataType type) {
    switch (type) {
      case FLOAT32:
        return TensorInfo.Type.FLOAT32;
      case INT32:
        return TensorInfo.Type.INT32;
      case INT8:
        return TensorInfo.Type.INT8;
      case UINT8:
        return TensorInfo.Type.UINT8;
      default:
        return TensorInfo.Type.OTHER;
    }
  }
}
