"""Pass: operator versions that say what the operators do.

ai-edge-quantizer keeps the versions of the float model, so an int8 CONV_2D claims version 1. A runtime that is too old
for int8 would then misread the file instead of refusing it. So each operator on int8 activations gets at least the
version in which TFLite gained int8 for it (tensorflow/lite/tools/versioning/op_version.cc).
"""

from collections.abc import Iterator

from quantize.rewrite import rewrite
from quantize.tflite.graph import (
    Graph,
    Model,
    Operator,
    Tensor,
    add_operator_code,
    builtin_code,
    op_name,
    schema,
    tensors_of,
)

INT8_VERSIONS = {
    "ADD": 2,
    "AVERAGE_POOL_2D": 2,
    "BATCH_MATMUL": 2,
    "CAST": 3,
    "CONCATENATION": 2,
    "CONV_2D": 3,
    "DEPTHWISE_CONV_2D": 3,
    "DEQUANTIZE": 2,
    "FULLY_CONNECTED": 4,
    "GATHER": 2,
    "GELU": 2,
    "LOGISTIC": 2,
    "MAXIMUM": 2,
    "MAX_POOL_2D": 2,
    "MEAN": 2,
    "MINIMUM": 2,
    "MUL": 2,
    "PACK": 2,
    "PAD": 2,
    "RELU": 2,
    "RELU6": 2,
    "RSQRT": 2,
    "SLICE": 2,
    "SOFTMAX": 2,
    "SPLIT": 2,
    "SPLIT_V": 2,
    "SQUARED_DIFFERENCE": 2,
    "STRIDED_SLICE": 2,
    "SUB": 2,
    "TANH": 2,
    "TILE": 3,
    "TRANSPOSE": 2,
    "UNPACK": 2,
}
# Only from this version on may the product of the input scales exceed the output's.
MUL_RESCALE_VERSION = 3


def versions_suffice(model: Model) -> Iterator[str]:
    for graph in model.subgraphs:
        for operator in graph.operators:
            version = model.operatorCodes[operator.opcodeIndex].version
            if version < _needed(model, graph, operator):
                yield f"{op_name(model, operator)} on int8 has version {version}."


@rewrite(ensures=(versions_suffice,))
def set_versions(model: Model) -> None:
    """Edits the model in place."""
    for graph in model.subgraphs:
        for operator in graph.operators:
            code, needed = model.operatorCodes[operator.opcodeIndex], _needed(model, graph, operator)
            if code.version < needed:
                operator.opcodeIndex = add_operator_code(model, builtin_code(code), needed)


def _needed(model: Model, graph: Graph, operator: Operator) -> int:
    """The oldest version that does what the operator must do, as far as int8 decides it."""
    name = op_name(model, operator)
    tensors = [graph.tensors[index] for index in tensors_of(operator)]
    if name not in INT8_VERSIONS or all(tensor.type != schema.TensorType.INT8 for tensor in tensors):
        return 0
    if name == "MUL" and _scale(tensors[0]) * _scale(tensors[1]) >= _scale(tensors[2]):
        return MUL_RESCALE_VERSION
    return INT8_VERSIONS[name]


def _scale(tensor: Tensor) -> float:
    found = tensor.quantization
    if found is None or found.scale is None:
        raise ValueError("An int8 MUL with scales was expected. Received: a tensor without one.")
    return float(found.scale[0])
