"""Model files as other tools write them, one small file for each way: converters, exporters and quantizers of
TensorFlow, PyTorch and ONNX Runtime. Nothing here goes through the code of this project.
"""

import contextlib
import functools
import io
import tempfile
import warnings
from collections.abc import Callable, Iterator
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


def _texts(count: int = 8) -> list[np.ndarray]:
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


def tflite_float() -> bytes:
    return _converted(keras_images())


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
    return _converted(keras_words(), _texts(), optimizations=_optimize())


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
        path.write_bytes(made(model.__name__))
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


def tf2onnx_float() -> bytes:
    import tensorflow as tf
    import tf2onnx

    spec = (tf.TensorSpec((1, 16, 16, 3), tf.float32, name="picture"),)
    return tf2onnx.convert.from_keras(keras_images(), spec, opset=17)[0].SerializeToString()


@functools.cache
def torch_words() -> Any:
    import torch

    class Block(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.query, self.key, self.value = (torch.nn.Linear(WIDTH, WIDTH) for _ in range(3))
            self.norm = torch.nn.LayerNorm(WIDTH)
            self.wide, self.narrow = torch.nn.Linear(WIDTH, 64), torch.nn.Linear(64, WIDTH)

        def forward(self, x: Any) -> Any:
            scores = torch.softmax(self.query(x) @ self.key(x).transpose(1, 2) / WIDTH**0.5, -1)
            x = self.norm(x + scores @ self.value(x))
            return x + self.narrow(torch.nn.functional.gelu(self.wide(x)))

    class Words(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = torch.nn.Embedding(WORDS, WIDTH)
            self.layer = torch.nn.ModuleList([Block(), Block()])
            self.logits = torch.nn.Linear(WIDTH, LABELS)

        def forward(self, ids: Any) -> Any:
            x = self.table(ids)
            for block in self.layer:
                x = block(x)
            return self.logits(x.mean(1))

    torch.manual_seed(0)
    made = Words().eval()
    for parameter in made.parameters():  # equal norms would be stored once
        parameter.data += 0.1 * torch.randn_like(parameter)
    return made


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """The exporters print and warn."""
    import logging

    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(logging.NOTSET)


def _exported(path: Path, **settings: Any) -> Path:
    import torch

    names = {"input_names": ["ids"], "output_names": ["logits"]}
    with _silent():
        torch.onnx.export(torch_words(), (torch.zeros((1, LENGTH), dtype=torch.int64),), path, **names, **settings)
    return path


def torch_script() -> bytes:
    return _in_folder(lambda path: _exported(path, dynamo=False, opset_version=17))


def torch_dynamo() -> bytes:
    return _in_folder(lambda path: _exported(path, dynamo=True, external_data=False))


def torch_dynamo_beside(folder: Path) -> Path:
    """PyTorch's default: the weights in a file beside the model."""
    return _exported(folder / "model.onnx", dynamo=True, external_data=True)


def _in_folder(write: Callable[[Path], Any]) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        write(path)
        return path.read_bytes()


def _quantized(how: str, *, source: str = "torch_script", **settings: Any) -> bytes:
    from onnxruntime import quantization

    class Rows(quantization.CalibrationDataReader):
        def __init__(self) -> None:
            self._rows = iter(_texts())

        def get_next(self) -> Any:
            row = next(self._rows, None)
            return None if row is None else {"ids": row.astype(np.int64)}

    def write(path: Path) -> None:
        origin = path.with_name("origin.onnx")
        origin.write_bytes(made(source))
        with _silent():
            if how == "dynamic":
                quantization.quantize_dynamic(origin, path, **settings)
            else:
                quantization.quantize_static(origin, path, Rows(), **settings)

    return _in_folder(write)


def ort_dynamic() -> bytes:
    return _quantized("dynamic")


def ort_dynamic_channels() -> bytes:
    from onnxruntime.quantization import QuantType

    return _quantized("dynamic", per_channel=True, reduce_range=True, weight_type=QuantType.QInt8)


def ort_static_qdq() -> bytes:
    return _quantized("static", per_channel=True)


def ort_static_qoperator() -> bytes:
    from onnxruntime.quantization import QuantFormat

    return _quantized("static", quant_format=QuantFormat.QOperator)


def ort_static_uint8() -> bytes:
    from onnxruntime.quantization import QuantType

    return _quantized("static", activation_type=QuantType.QUInt8, weight_type=QuantType.QUInt8)


def ort_static_int16() -> bytes:
    from onnxruntime.quantization import QuantType

    options = {"UseQDQContribOps": True}
    return _quantized("static", activation_type=QuantType.QInt16, extra_options=options)


def _four_bits(**settings: Any) -> bytes:
    import onnx
    from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer

    with _silent():
        quantizer = MatMulNBitsQuantizer(onnx.load_from_string(made("torch_script")), block_size=32, **settings)
        quantizer.process()
    return quantizer.model.model.SerializeToString()


def ort_int4() -> bytes:
    return _four_bits(is_symmetric=True)


def ort_int4_asymmetric() -> bytes:
    return _four_bits(is_symmetric=False)


def ort_int4_qdq() -> bytes:
    from onnxruntime.quantization import QuantFormat

    return _four_bits(is_symmetric=True, quant_format=QuantFormat.QDQ)


def ort_fp16() -> bytes:
    import onnx
    from onnxruntime.transformers.float16 import convert_float_to_float16

    with _silent():
        return convert_float_to_float16(onnx.load_from_string(made("torch_script"))).SerializeToString()


def onnx_if() -> bytes:
    """Weights inside of the branches of an If."""
    import onnx

    helper, generator = onnx.helper, np.random.default_rng(0)
    x, y = (helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1, 16]) for name in "xy")
    flag = helper.make_tensor_value_info("flag", onnx.TensorProto.BOOL, [])

    def branch(name: str) -> Any:
        weights = onnx.numpy_helper.from_array(generator.normal(size=(16, 16)).astype(np.float32), f"{name}_w")
        out = helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1, 16])
        return helper.make_graph([helper.make_node("MatMul", ["x", f"{name}_w"], [name])], name, [], [out], [weights])

    node = helper.make_node("If", ["flag"], ["y"], then_branch=branch("yes"), else_branch=branch("no"))
    graph = helper.make_graph([node], "g", [x, flag], [y])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()


def onnx_custom() -> bytes:
    """An operator of somebody's own domain."""
    import onnx

    helper = onnx.helper
    x, y = (helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1, 16]) for name in "xy")
    node = helper.make_node("Hash", ["x"], ["y"], domain="somebody.else", seed=7, method="murmur")
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("somebody.else", 1)]
    graph = helper.make_graph([node], "g", [x], [y])
    return helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()


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
ONNX = (
    tf2onnx_float,
    torch_script,
    torch_dynamo,
    ort_dynamic,
    ort_dynamic_channels,
    ort_static_qdq,
    ort_static_qoperator,
    ort_static_uint8,
    ort_static_int16,
    ort_int4,
    ort_int4_asymmetric,
    ort_int4_qdq,
    ort_fp16,
    onnx_if,
    onnx_custom,
)
TFLITE_NAMES = tuple(function.__name__ for function in TFLITE)
ONNX_NAMES = tuple(function.__name__ for function in ONNX)


@functools.cache
def made(name: str) -> bytes:
    """The bytes of a kind of file."""
    return next(function for function in (*TFLITE, *ONNX) if function.__name__ == name)()
