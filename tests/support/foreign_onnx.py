"""ONNX files as tf2onnx, PyTorch and ONNX Runtime's quantizers write them, one small file for each way."""

import contextlib
import functools
import io
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from support.foreign_tflite import LABELS, LENGTH, WIDTH, WORDS, keras_images, texts


@functools.cache
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


@functools.cache
def torch_script() -> bytes:
    return _in_folder(lambda path: _exported(path, dynamo=False, opset_version=17))


@functools.cache
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


def _quantized(how: str, **settings: Any) -> bytes:
    from onnxruntime import quantization

    class Rows(quantization.CalibrationDataReader):
        def __init__(self) -> None:
            self._rows = iter(texts())

        def get_next(self) -> Any:
            row = next(self._rows, None)
            return None if row is None else {"ids": row.astype(np.int64)}

    def write(path: Path) -> None:
        origin = path.with_name("origin.onnx")
        origin.write_bytes(torch_script())
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
        quantizer = MatMulNBitsQuantizer(onnx.load_from_string(torch_script()), block_size=32, **settings)
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
        return convert_float_to_float16(onnx.load_from_string(torch_script())).SerializeToString()


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
