"""TFLite files as TensorFlow's converter and ai-edge-quantizer write them, one small file for each way."""

import functools
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

LENGTH, WORDS, WIDTH, LABELS = 12, 300, 32, 5


@functools.cache
def keras_images() -> Any:
    """Convolutions and dense layers over pictures. Biases and norms are random: zeros are left out of files."""
    import tf_keras as keras

    keras.utils.set_random_seed(0)
    layers = keras.layers
    x = keras.Input((16, 16, 3), batch_size=1, name="picture")
    y = layers.Conv2D(16, 3, activation="relu", name="first")(x)
    y = layers.DepthwiseConv2D(3, name="depthwise")(y)
    y = layers.Conv2D(32, 1, activation="relu", name="second")(y)
    y = layers.Flatten()(y)
    y = layers.Dense(64, activation="relu", name="hidden")(y)
    y = layers.Dense(LABELS, name="logits")(y)
    return _random(keras.Model(x, y))


@functools.cache
def keras_words() -> Any:
    """Embedding, one attention, layer norm: what int8 tools stumble over."""
    import tf_keras as keras

    keras.utils.set_random_seed(0)
    layers = keras.layers
    x = keras.Input((LENGTH,), batch_size=1, dtype="int32", name="ids")
    y = layers.Embedding(WORDS, WIDTH, name="table")(x)
    y = layers.LayerNormalization(name="norm")(y + layers.MultiHeadAttention(2, 16, name="attention")(y, y))
    y = layers.Dense(64, activation="gelu", name="wide")(y)
    y = layers.GlobalAveragePooling1D()(y)
    return _random(keras.Model(x, layers.Dense(LABELS, name="logits")(y)))


def _random(model: Any) -> Any:
    generator = np.random.default_rng(0)
    for weight in model.weights:
        weight.assign(weight.numpy() + generator.normal(0, 0.1, weight.shape))
    return model


def _pictures(count: int = 8) -> list[np.ndarray]:
    return list(np.random.default_rng(1).normal(0, 1, (count, 1, 16, 16, 3)).astype(np.float32))


def texts(count: int = 8) -> list[np.ndarray]:
    return list(np.random.default_rng(1).integers(0, WORDS, (count, 1, LENGTH)).astype(np.int32))


def _converted(model: Any, rows: list[np.ndarray] | None = None, **settings: Any) -> bytes:
    import tensorflow as tf

    converter = tf.lite.TFLiteConverter.from_keras_model(model)
    if rows is not None:
        converter.representative_dataset = lambda: ([row] for row in rows)
    for name, value in settings.items():
        place: Any = converter
        *path, last = name.split("__")
        for part in path:
            place = getattr(place, part)
        setattr(place, last, value)
    return converter.convert()


def _optimize() -> list[Any]:
    import tensorflow as tf

    return [tf.lite.Optimize.DEFAULT]


@functools.cache
def tflite_float() -> bytes:
    return _converted(keras_images())


@functools.cache
def tflite_words_float() -> bytes:
    return _converted(keras_words())


def tflite_dynamic() -> bytes:
    return _converted(keras_images(), optimizations=_optimize())


def tflite_words_dynamic() -> bytes:
    return _converted(keras_words(), optimizations=_optimize())


def tflite_fp16() -> bytes:
    import tensorflow as tf

    return _converted(keras_images(), optimizations=_optimize(), target_spec__supported_types=[tf.float16])


def tflite_int8_float_io() -> bytes:
    return _converted(keras_images(), _pictures(), optimizations=_optimize())


def tflite_int8() -> bytes:
    import tensorflow as tf

    return _converted(
        keras_images(),
        _pictures(),
        optimizations=_optimize(),
        target_spec__supported_ops=[tf.lite.OpsSet.TFLITE_BUILTINS_INT8],
        inference_input_type=tf.int8,
        inference_output_type=tf.int8,
    )


def tflite_int8_per_tensor() -> bytes:
    return _converted(keras_images(), _pictures(), optimizations=_optimize(), _experimental_disable_per_channel=True)


def tflite_words_int8() -> bytes:
    return _converted(keras_words(), texts(), optimizations=_optimize())


def tflite_int16x8() -> bytes:
    import tensorflow as tf

    both = tf.lite.OpsSet.EXPERIMENTAL_TFLITE_BUILTINS_ACTIVATIONS_INT16_WEIGHTS_INT8
    return _converted(keras_images(), _pictures(), optimizations=_optimize(), target_spec__supported_ops=[both])


def _of_function(function: Any, shape: list[int | None], *ops: str, **settings: Any) -> bytes:
    import tensorflow as tf

    traced = tf.function(function, input_signature=[tf.TensorSpec(shape, tf.float32, "x")]).get_concrete_function()
    converter = tf.lite.TFLiteConverter.from_concrete_functions([traced])
    converter.target_spec.supported_ops = [getattr(tf.lite.OpsSet, name) for name in ("TFLITE_BUILTINS", *ops)]
    for name, value in settings.items():
        setattr(converter, name, value)
    return converter.convert()


def tflite_open_shape() -> bytes:
    import tensorflow as tf

    weights = tf.constant(np.random.default_rng(0).normal(size=(8, 16)).astype(np.float32))
    return _of_function(lambda x: tf.nn.relu(x @ weights), [None, 8])


def tflite_flex() -> bytes:
    import tensorflow as tf

    return _of_function(lambda x: tf.linalg.inv(x) + tf.nn.relu(x), [1, 8, 8], "SELECT_TF_OPS")


def tflite_custom() -> bytes:
    import tensorflow as tf

    return _of_function(lambda x: tf.math.erfinv(x) + tf.nn.relu(x), [1, 8], allow_custom_ops=True)


def tflite_loop() -> bytes:
    """A file with several graphs."""
    import tensorflow as tf

    weights = tf.constant(np.random.default_rng(0).normal(size=(16, 16)).astype(np.float32))

    def loop(x: Any) -> Any:
        return tf.while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, tf.nn.relu(y @ weights)), [tf.constant(0), x])[1]

    return _of_function(loop, [1, 16])


def _recipe(name: str, rows: list[np.ndarray] | None = None, model: Callable[[], bytes] = tflite_float) -> bytes:
    from ai_edge_quantizer import quantizer, recipe

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.tflite"
        path.write_bytes(model())
        made_by = quantizer.Quantizer(str(path), getattr(recipe, name)())
        ranges = None
        if rows is not None:
            names = list(made_by.get_signatures() if hasattr(made_by, "get_signatures") else ["serving_default"])
            ranges = made_by.calibrate({names[0]: [{"picture": row} for row in rows]})
        return bytes(made_by.quantize(ranges).quantized_model)


def aeq_dynamic_wi8() -> bytes:
    return _recipe("dynamic_wi8_afp32")


def aeq_dynamic_wi4() -> bytes:
    return _recipe("dynamic_wi4_afp32")


def aeq_weight_only_wi8() -> bytes:
    return _recipe("weight_only_wi8_afp32")


def aeq_weight_only_wi4() -> bytes:
    return _recipe("weight_only_wi4_afp32")


def aeq_words_dynamic_wi8() -> bytes:
    return _recipe("dynamic_wi8_afp32", model=tflite_words_float)


def aeq_static_wi8_ai8() -> bytes:
    return _recipe("static_wi8_ai8", _pictures())


def aeq_static_wi8_ai16() -> bytes:
    return _recipe("static_wi8_ai16", _pictures())


TFLITE = (
    tflite_float,
    tflite_words_float,
    tflite_dynamic,
    tflite_words_dynamic,
    tflite_fp16,
    tflite_int8_float_io,
    tflite_int8,
    tflite_int8_per_tensor,
    tflite_words_int8,
    tflite_int16x8,
    tflite_open_shape,
    tflite_flex,
    tflite_custom,
    tflite_loop,
    aeq_dynamic_wi8,
    aeq_dynamic_wi4,
    aeq_weight_only_wi8,
    aeq_weight_only_wi4,
    aeq_words_dynamic_wi8,
    aeq_static_wi8_ai8,
    aeq_static_wi8_ai16,
)
