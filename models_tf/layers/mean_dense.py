"""Dense layer on a mean over time, as if it were the sum.

int8 SUM is wrong in TFLite 2.12 and in LiteRT's reference kernels, so graphs hold MEAN and this
kernel carries the length; once shapes are static that is a constant.
"""

import tensorflow as tf
import tf_keras as keras


class MeanDense(keras.layers.Layer):
    def __init__(self, units: int, *, l2: float = 0.0, name: str) -> None:
        super().__init__(name=name)
        self.units = units
        self.regularizer = keras.regularizers.L2(l2) if l2 else None

    def build(self, shape: tf.TensorShape) -> None:
        self.kernel = self.add_weight(
            name="kernel",
            shape=(shape[-1], self.units),
            initializer="glorot_uniform",
            regularizer=self.regularizer,
        )
        self.bias = self.add_weight(name="bias", shape=(self.units,), initializer="zeros")
        super().build(shape)

    def call(self, mean: tf.Tensor, length: tf.Tensor) -> tf.Tensor:
        """`mean` over `length` positions: `[batch, channel]` -> `[batch, units]`."""
        return tf.matmul(mean, self.kernel * tf.cast(length, tf.float32)) + self.bias
