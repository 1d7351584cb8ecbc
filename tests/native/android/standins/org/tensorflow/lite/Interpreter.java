package org.tensorflow.lite;

import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.MappedByteBuffer;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Stand-in for LiteRT's class on a desktop JVM. The file really runs: in LiteRT itself, in a child process
 * (litert_child.py), whose command is in the system property "litert.child". Asks of buffers and names what LiteRT asks.
 */
public final class Interpreter implements AutoCloseable {
  /** Only the number of threads is read. */
  public static final class Options {
    public Options setNumThreads(int threads) {
      return this;
    }
  }

  private record Info(DataType dataType, int[] shape, QuantizationParams quantizationParams) implements Tensor {}

  private record Signature(Map<String, Info> inputs, Map<String, Info> outputs) {}

  private final Map<String, Signature> signatures = new LinkedHashMap<>();
  private final Process child;
  private final DataOutputStream to;
  private final DataInputStream from;
  private boolean closed;

  public Interpreter(ByteBuffer model, Options options) {
    if (!(model instanceof MappedByteBuffer mapped && mapped.isDirect())
        && (!model.isDirect() || model.order() != ByteOrder.nativeOrder())) {
      throw new IllegalArgumentException("Model ByteBuffer should be mapped, or direct and in native order.");
    }
    byte[] content = new byte[model.remaining()];
    model.duplicate().get(content);
    try {
      child = new ProcessBuilder(System.getProperty("litert.child").split("\\|"))
          .redirectError(ProcessBuilder.Redirect.INHERIT)
          .start();
      to = new DataOutputStream(new BufferedOutputStream(child.getOutputStream()));
      from = new DataInputStream(new java.io.BufferedInputStream(child.getInputStream()));
      to.writeInt(content.length);
      to.write(content);
      to.flush();
      checkStatus();
      for (int count = from.readInt(); count > 0; count--) {
        signatures.put(from.readUTF(), new Signature(readInfos(), readInfos()));
      }
    } catch (IOException broken) {
      throw new UncheckedIOException(broken);
    } catch (IllegalArgumentException refused) {
      close();
      throw refused;
    }
  }

  public String[] getSignatureKeys() {
    return signatures.keySet().toArray(new String[0]);
  }

  public String[] getSignatureInputs(String key) {
    return signature(key).inputs.keySet().toArray(new String[0]);
  }

  public String[] getSignatureOutputs(String key) {
    return signature(key).outputs.keySet().toArray(new String[0]);
  }

  public Tensor getInputTensorFromSignature(String name, String key) {
    return known(signature(key).inputs, name);
  }

  public Tensor getOutputTensorFromSignature(String name, String key) {
    return known(signature(key).outputs, name);
  }

  public void runSignature(Map<String, Object> inputs, Map<String, Object> outputs, String key) {
    if (closed) {
      throw new IllegalStateException("Internal error: The Interpreter has already been closed.");
    }
    Signature signature = signature(key);
    if (!inputs.keySet().equals(signature.inputs.keySet())) {
      throw new IllegalArgumentException("Input error: expected " + signature.inputs.keySet());
    }
    for (String name : outputs.keySet()) {
      known(signature.outputs, name);
    }
    try {
      to.writeUTF(key);
      for (Map.Entry<String, Object> input : inputs.entrySet()) {
        write(input.getKey(), known(signature.inputs, input.getKey()), input.getValue());
      }
      to.flush();
      checkStatus();
      for (int count = signature.outputs.size(); count > 0; count--) {
        read(outputs);
      }
    } catch (IOException broken) {
      throw new UncheckedIOException(broken);
    }
  }

  @Override
  public void close() {
    closed = true;
    child.destroy();
  }

  private void write(String name, Info info, Object value) throws IOException {
    to.writeUTF(name);
    int[] shape = info.shape;
    byte[] content;
    if (value instanceof int[][] rows) {
      shape = new int[] {rows.length, rows[0].length};
      ByteBuffer buffer = ByteBuffer.allocate(4 * rows.length * rows[0].length).order(ByteOrder.nativeOrder());
      for (int[] row : rows) {
        for (int one : row) {
          buffer.putInt(one);
        }
      }
      content = buffer.array();
      if (info.dataType != DataType.INT32) {
        throw new IllegalArgumentException("Cannot convert between a tensor with " + info.dataType + " and int.");
      }
    } else {
      ByteBuffer buffer = ((ByteBuffer) value).duplicate();
      buffer.rewind();
      content = new byte[buffer.remaining()];
      buffer.get(content);
    }
    to.writeInt(shape.length);
    for (int length : shape) {
      to.writeInt(length);
    }
    to.writeInt(content.length);
    to.write(content);
  }

  private void read(Map<String, Object> outputs) throws IOException {
    String name = from.readUTF();
    byte[] content = new byte[from.readInt()];
    from.readFully(content);
    if (!outputs.containsKey(name)) {
      return;
    }
    Buffer target = (Buffer) outputs.get(name);
    if (content.length > target.capacity()) {
      throw new IllegalArgumentException("Cannot copy from a TensorFlowLite tensor (" + name + ") with "
          + content.length + " bytes to a Java Buffer with " + target.capacity() + " bytes.");
    }
    ((ByteBuffer) target).put(content);
  }

  private Map<String, Info> readInfos() throws IOException {
    Map<String, Info> infos = new LinkedHashMap<>();
    for (int count = from.readInt(); count > 0; count--) {
      String name = from.readUTF();
      DataType type = DataType.valueOf(from.readUTF());
      int[] shape = new int[from.readInt()];
      for (int axis = 0; axis < shape.length; axis++) {
        shape[axis] = from.readInt();
      }
      infos.put(name, new Info(type, shape, new Tensor.QuantizationParams(from.readFloat(), from.readInt())));
    }
    return infos;
  }

  private void checkStatus() throws IOException {
    String message = from.readUTF();
    if (!message.isEmpty()) {
      throw new IllegalArgumentException("Internal error: " + message);
    }
  }

  private Signature signature(String key) {
    if (!signatures.containsKey(key)) {
      throw new IllegalArgumentException("Input error: Signature " + key + " not found.");
    }
    return signatures.get(key);
  }

  private static Info known(Map<String, Info> infos, String name) {
    if (!infos.containsKey(name)) {
      throw new IllegalArgumentException("Invalid tensor name (" + name + ").");
    }
    return infos.get(name);
  }
}
