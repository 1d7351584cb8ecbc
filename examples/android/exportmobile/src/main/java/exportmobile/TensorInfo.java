package exportmobile;

/** What a file says of an input or output. An int8 value q stands for (q - zeroPoint) * scale. */
public final class TensorInfo {
  /** The types that exported files have at their borders. */
  public enum Type {
    FLOAT32(4),
    INT32(4),
    INT8(1),
    UINT8(1),
    OTHER(0);

    public final int bytes;

    Type(int bytes) {
      this.bytes = bytes;
    }
  }

  public final String name;
  public final Type type;
  public final float scale;
  public final int zeroPoint;
  private final int[] shape;

  public TensorInfo(String name, Type type, int[] shape, float scale, int zeroPoint) {
    this.name = name;
    this.type = type;
    this.shape = shape.clone();
    this.scale = scale;
    this.zeroPoint = zeroPoint;
  }

  public int[] shape() {
    return shape.clone();
  }

  /** The length of the last axis, 1 of a scalar. */
  public int last() {
    return shape.length == 0 ? 1 : shape[shape.length - 1];
  }

  /** The number of values. */
  public int size() {
    int size = 1;
    for (int length : shape) {
      size *= length;
    }
    return size;
  }

  @Override
  public String toString() {
    StringBuilder text = new StringBuilder(name).append(' ').append(type).append(" [");
    for (int axis = 0; axis < shape.length; axis++) {
      text.append(axis == 0 ? "" : ", ").append(shape[axis]);
    }
    return text.append(']').toString();
  }
}
