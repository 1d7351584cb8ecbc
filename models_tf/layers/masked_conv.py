"""Time convolution with masked batch norm, on `[batch, 1, time, channels]`.

In training the norm uses the statistics of the batch's real tokens; in inference it is folded into the kernel and a
bias, so the exported graph holds a single convolution.
"""

import tensorflow as tf
import tf_keras as keras


class MaskedConv(keras.layers.Layer):
    """`width` taps, `distance` apart; SAME padding; batch norm over real tokens; no activation.

    `offset` is added to the normalised output (a constant bias). `center` learns a bias.
    """

    def __init__(
        self,
        channels: int,
        *,
        width: int = 1,
        distance: int = 1,
        center: bool = False,
        offset: float = 0.0,
        momentum: float,
        epsilon: float,
        l2: float = 0.0,
        name: str,
    ) -> None:
        super().__init__(name=name)
        self.channels, self.width, self.distance = channels, width, distance
        self.center, self.offset = center, offset
        self.momentum, self.epsilon = momentum, epsilon
        self.regularizer = keras.regularizers.L2(l2) if l2 else None

    def build(self, shape: tf.TensorShape) -> None:
        self.kernel = self.add_weight(
            name="kernel",
            shape=(1, self.width, shape[-1], self.channels),
            initializer="glorot_uniform",
            regularizer=self.regularizer,
        )
        self.gamma = self.add_weight(name="gamma", shape=(self.channels,), initializer="ones")
        if self.center:
            self.beta = self.add_weight(name="beta", shape=(self.channels,), initializer="zeros")
        self.moving_mean = self.add_weight(
            name="moving_mean", shape=(self.channels,), initializer="zeros", trainable=False
        )
        self.moving_variance = self.add_weight(
            name="moving_variance", shape=(self.channels,), initializer="ones", trainable=False
        )
        super().build(shape)

    def call(self, x: tf.Tensor, mask: tf.Tensor, training: bool = False) -> tf.Tensor:
        if training:
            y = self._convolve_to_learn(x, self.kernel)
            mean, variance = self._masked_moments(y, mask)
            scale = self.gamma * tf.math.rsqrt(variance + self.epsilon)
            return y * scale + self._shift(mean, scale)
        scale = self.gamma * tf.math.rsqrt(self.moving_variance + self.epsilon)
        return self._convolve(x, self.kernel * scale) + self._shift(self.moving_mean, scale)

    def _convolve(self, x: tf.Tensor, kernel: tf.Tensor) -> tf.Tensor:
        return tf.nn.conv2d(x, kernel, strides=1, padding="SAME", dilations=(1, self.distance))

    def _convolve_to_learn(self, x: tf.Tensor, kernel: tf.Tensor) -> tf.Tensor:
        """The same with zeros between the taps instead of dilation.

        TensorFlow has no gradient for dilation without oneDNN, which is off by default on processors without
        AVX512-VNNI.
        """
        if self.distance == 1 or self.width == 1:
            return self._convolve(x, kernel)
        taps = tf.split(kernel, self.width, axis=1)
        gap = tf.zeros((1, self.distance - 1, *kernel.shape[2:]), kernel.dtype)
        spread = tf.concat([part for tap in taps for part in (tap, gap)][:-1], axis=1)
        return tf.nn.conv2d(x, spread, strides=1, padding="SAME")

    def _shift(self, mean: tf.Tensor, scale: tf.Tensor) -> tf.Tensor:
        shift = self.offset - mean * scale
        return shift + self.beta if self.center else shift

    def _masked_moments(self, y: tf.Tensor, mask: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Mean and variance over the real tokens, of all replicas; the moving averages follow them slowly."""
        tokens = _over_replicas(tf.reduce_sum(mask))
        weight = mask / tf.maximum(tokens, 1.0)  # [batch, 1, time, 1]
        mean = _over_replicas(tf.reduce_sum(y * weight, axis=(0, 1, 2)))
        variance = _over_replicas(tf.reduce_sum(tf.math.squared_difference(y, mean) * weight, axis=(0, 1, 2)))
        rate = (1.0 - self.momentum) * tf.minimum(tokens, 1.0)  # a batch of empty texts changes nothing
        for moving, value in ((self.moving_mean, mean), (self.moving_variance, variance)):
            moving.assign((1.0 - rate) * moving + rate * tf.stop_gradient(value))
        return mean, variance


def _over_replicas(value: tf.Tensor) -> tf.Tensor:
    """The sum over all parts of a batch that is learned on several devices or machines at once."""
    replica = tf.distribute.get_replica_context()
    if replica is None or replica.num_replicas_in_sync == 1:
        return value
    return replica.all_reduce(tf.distribute.ReduceOp.SUM, value)
