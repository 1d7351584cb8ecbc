package org.tensorflow.lite;

/** Stand-in for LiteRT's interface, with what the library asks of it. */
public interface Tensor {
  /** As in LiteRT: 0 and 0 where nothing is quantized. */
  final class QuantizationParams {
    private final float scale;
    private final int zeroPoint;

    public QuantizationParams(float scale, int zeroPoint) {
      this.scale = scale;
      this.zeroPoint = zeroPoint;
    }

    public float getScale() {
      return scale;
    }

    public int getZeroPoint() {
      return zeroPoint;
    }
  }

  DataType dataType();

  int[] shape();

  QuantizationParams quantizationParams();
}
