"""The oldest TensorFlow Lite that runs a file, or LiteRT, judged by its operator versions."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from exporters.formats.tflite.tensors import kind, scales, weights
from quantize.tflite.graph import is_constant, op_name
from quantize.tflite.passes.prepend_projection import CUSTOM_OP

# Oldest TFLite for an operator's version (tensorflow/lite/tools/versioning/runtime_version.cc), if later than 2.3; 2.3
# covers all versions in `_OLD_VERSIONS`.
_NEW_VERSIONS = {
    ("ADD", 4): (2, 6),
    # These came with 2.13, which nobody here could run.
    **dict.fromkeys((("BITCAST", 1), ("BITWISE_XOR", 1), ("FLOOR_MOD", 2), ("RIGHT_SHIFT", 1)), (2, 14)),
    ("CAST", 2): (2, 7),
    ("CAST", 3): (2, 8),
    ("CONV_2D", 5): (2, 4),
    ("CUMSUM", 1): (2, 4),
    ("GELU", 1): (2, 9),
    ("GELU", 2): (2, 9),
    ("MEAN", 3): (2, 4),
    ("MUL", 5): (2, 6),
    ("UNSORTED_SEGMENT_SUM", 1): (2, 10),
}
# Covered by the table below.
_OLDEST = (2, 3)
_OLD_VERSIONS = {
    "ADD": 2,
    "ARG_MAX": 2,
    "BATCH_MATMUL": 2,
    "CAST": 1,
    "CONCATENATION": 3,
    "CONV_2D": 3,
    "DEPTHWISE_CONV_2D": 4,
    "DEQUANTIZE": 4,
    "EQUAL": 3,
    "EXPAND_DIMS": 1,
    "FILL": 2,
    "FLOOR_MOD": 1,
    "FULLY_CONNECTED": 9,
    "GATHER": 3,
    "GREATER": 2,
    "GREATER_EQUAL": 2,
    "IF": 1,
    "LESS": 2,
    "LESS_EQUAL": 2,
    "LOGICAL_AND": 1,
    "LOGICAL_NOT": 1,
    "LOGICAL_OR": 1,
    "LOGISTIC": 3,
    "MAXIMUM": 2,
    "MEAN": 2,
    "MINIMUM": 4,
    "MUL": 4,
    "NEG": 1,
    "NOT_EQUAL": 3,
    "PACK": 2,
    "PAD": 3,
    "QUANTIZE": 2,
    "RANGE": 1,
    "REDUCE_MAX": 2,
    "REDUCE_MIN": 2,
    "RELU": 2,
    "RELU6": 2,
    "RESHAPE": 1,
    "RSQRT": 2,
    "SELECT_V2": 1,
    "SLICE": 3,
    "SOFTMAX": 3,
    "SPLIT": 3,
    "SPLIT_V": 2,
    "SQUARED_DIFFERENCE": 2,
    "SQUEEZE": 1,
    "STRIDED_SLICE": 4,
    "SUB": 3,
    "TANH": 3,
    "TOPK_V2": 2,
    "TRANSPOSE": 4,
    "UNPACK": 2,
    "WHILE": 1,
}
# FULLY_CONNECTED has no version for static int8 with per-channel scales; this is the oldest runtime that ran it
# (TensorFlow Lite for Android, 64-bit ARM: tests/parity/test_stock_runtimes_tflite.py).
_CHANNEL_DENSE = (2, 12)


# Operators that read constants of 4 bits with a scale for each row. Such files ran in every LiteRT from 1.0.1 to 2.3,
# with XNNPACK and without; tflite-runtime 2.14 refuses them.
_INT4 = {("EMBEDDING_LOOKUP", 4), ("FULLY_CONNECTED", 12)}
LITERT = "LiteRT 1.0"
# Types that came after what the tables cover; writers do not always raise the versions of the operators with them.
_NEW_TYPES = ("BFLOAT16", "FLOAT8_E4M3FN", "FLOAT8_E5M2", "INT2", "INT4", "UINT4")


@dataclass(frozen=True, kw_only=True)
class Need:
    """Something in a file that not every runtime has, and the oldest TensorFlow Lite that has it; None if none is
    known. What has `int4` needs LiteRT.
    """

    what: str
    version: tuple[int, int] | None
    int4: bool = False


def min_runtime(model: Any) -> str:
    """Empty if a version or a type is not in the tables."""
    needed, is_int4 = _OLDEST, False
    for need in _needs(model):
        if need.version is None and not need.int4:
            return ""
        is_int4 = is_int4 or need.int4
        needed = max(needed, need.version or _OLDEST)
    return LITERT if is_int4 else f"TensorFlow Lite {needed[0]}.{needed[1]}"


def beyond(model: Any, version: tuple[int, int]) -> list[str]:
    """What this TensorFlow Lite lacks, or is not known to have."""
    return list(dict.fromkeys(need.what for need in _needs(model) if need.version is None or need.version > version))


def _needs(model: Any) -> Iterator[Need]:
    for graph in model.subgraphs:
        narrow = _int4_places(model, graph)
        if narrow:
            yield Need(what="weights in 4 bits", version=None, int4=True)
        for index, tensor in enumerate(graph.tensors):
            if kind(tensor) in _NEW_TYPES and index not in narrow:
                yield Need(what=f"the type {kind(tensor).lower()}", version=None)
        for name, tensor, _ in weights(model, graph):
            if name == "FULLY_CONNECTED" and scales(tensor).size > 1:
                yield Need(what=f"{name} with a scale for each channel", version=_CHANNEL_DENSE)
        for operator in graph.operators:
            name, version = op_name(model, operator), model.operatorCodes[operator.opcodeIndex].version
            if name == CUSTOM_OP or narrow.intersection(operator.inputs):
                continue
            if (name, version) in _NEW_VERSIONS:
                yield Need(what=f"{name} version {version}", version=_NEW_VERSIONS[name, version])
            elif version > _OLD_VERSIONS.get(name, 0):
                yield Need(what=f"{name} version {version}", version=None)


def _int4_places(model: Any, graph: Any) -> set[int]:
    """Constants of 4 bits with scales for rows, read by nothing but operators that are known to take them."""
    found, others = set[int](), set[int]()
    for operator in graph.operators:
        takes = (op_name(model, operator), model.operatorCodes[operator.opcodeIndex].version) in _INT4
        for position, index in enumerate(int(i) for i in operator.inputs):
            tensor = graph.tensors[index]
            fits = takes and position == 1 and kind(tensor) == "INT4" and is_constant(model, tensor)
            (found if fits and scales(tensor).size == tensor.shape[0] else others).add(index)
    return found - others
