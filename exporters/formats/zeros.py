"""Zeros among the weights of a model file, as movement pruning leaves them, and what a compressed download makes of them.

Kernels of every runtime multiply by a stored zero as by any other number, so zeros are no gain in speed or memory. Leaves
out sparse storage: no converter here writes it, and no runtime here reads it faster.
"""

import math
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np

# Below this share a file is as good as dense: int8 alone rounds some weights to zero (of MiniLM-L6 2 to 11 %, the most where
# ghosts were trained briefly). Its movement-pruned kernels with half of their weights are 23 %, as embeddings stay dense.
NOTABLE_SHARE = 0.15
COMPRESSION = "zlib level 9"
NOTE = (
    "Single zero weights bring no speed, since the runtimes' kernels are dense: they only make a compressed download "
    f"smaller ({COMPRESSION} of the whole file)."
)
# A constant with fewer elements is a setting of an operator rather than weights.
_MIN_ELEMENTS = 64
_TFLITE_TYPES = {"FLOAT32": np.float32, "FLOAT16": np.float16, "INT8": np.int8}


def zero_share(content: bytes, *, target: str) -> float:
    """Part of the weights (constants with two axes or more, embeddings too) that stand for zero."""
    zeros = total = 0
    for values, zero in _tflite_weights(content) if target == "tflite" else _onnx_weights(content):
        zeros, total = zeros + int(np.count_nonzero(values == zero)), total + values.size
    return zeros / total if total else 0.0


def compressed_bytes(content: bytes) -> int:
    return len(zlib.compress(content, 9))


def _tflite_weights(content: bytes) -> Iterator[tuple[np.ndarray, int]]:
    from quantize.tflite.flatbuffer import TYPE_NAMES, is_constant, read_model

    model, seen = read_model(content), set[int]()
    for graph in model.subgraphs:
        for tensor in graph.tensors:
            kind = _TFLITE_TYPES.get(TYPE_NAMES[tensor.type])
            if kind is None or tensor.buffer in seen or not is_constant(model, tensor) or not _counts(tensor.shape):
                continue
            seen.add(tensor.buffer)
            points = tensor.quantization.zeroPoint if tensor.quantization else None
            data = np.asarray(model.buffers[tensor.buffer].data, np.uint8)
            yield data.view(kind), 0 if points is None else int(points[0])


def _onnx_weights(content: bytes) -> Iterator[tuple[np.ndarray, int]]:
    import onnx

    graph = onnx.load_from_string(content).graph
    constants: dict[str, Any] = {item.name: item for item in graph.initializer}
    points = {}
    for node in graph.node:
        # Weights of quantized files and their zero points.
        places = {"DequantizeLinear": (0, 2), "MatMulInteger": (1, 3), "ConvInteger": (1, 3)}.get(node.op_type)
        if places and len(node.input) > places[1] and node.input[places[1]] in constants:
            points[node.input[places[0]]] = constants[node.input[places[1]]]
    for name, item in constants.items():
        values = onnx.numpy_helper.to_array(item)
        if _counts(values.shape) and values.dtype.name in ("float32", "float16", "int8", "uint8"):
            # An embedding is dequantized after it was looked up; its 8 bits are symmetric in ONNX Runtime's way.
            zero = 128 if values.dtype == np.uint8 else 0
            yield values, int(onnx.numpy_helper.to_array(points[name]).flat[0]) if name in points else zero


def _counts(shape: Any) -> bool:
    return shape is not None and len(shape) > 1 and math.prod(int(size) for size in shape) >= _MIN_ELEMENTS
