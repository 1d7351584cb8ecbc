package exportmobile;

import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;

/**
 * The runtime behind a model: one file and its signature "serving_default". {@link LiteRtEngine} is the one of a phone.
 * An engine is for one thread at a time; the models of this package take care of that.
 */
public interface Engine extends AutoCloseable {
  /** Opens a model that {@link ModelFiles#map} gave. */
  interface Factory {
    Engine open(ByteBuffer model);
  }

  /** The inputs of the signature, bound by name. */
  List<TensorInfo> inputs();

  /** The outputs of the signature. */
  List<TensorInfo> outputs();

  /**
   * Runs the signature. An input is an {@code int[][]}, to whose shape the tensor is resized, or a direct buffer of
   * exactly the tensor's size. An output is written into a direct buffer in native order, from its position on.
   */
  void run(Map<String, Object> inputs, Map<String, Object> outputs);

  @Override
  void close();
}
