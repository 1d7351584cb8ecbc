"""Pass: dense layers whose weights are equal read one tensor.

A converter unrolls layers that share weights and may write a constant for each. Passes that change weights (`split_dense`,
`level_dense`) then change the one tensor for all its readers alike; with a constant for each they would come apart, and a
file that held them once would hold them as often as there are layers.
Requires: a float graph. Ensures: no two constant weights of FULLY_CONNECTED with equal shape and content. No value changes.
"""

from typing import Any

from quantize.tflite.flatbuffer import Model, buffer_bytes, is_constant, op_name
from quantize.tflite.operators import DENSE, WEIGHTED

_WEIGHTS = WEIGHTED[DENSE].position


def share_weights(model: Model) -> None:
    """Edits every subgraph in place; tensors that nobody reads any more stay behind."""
    for graph in model.subgraphs:
        dense = [operator for operator in graph.operators if op_name(model, operator) == DENSE]
        first: dict[Any, int] = {}
        table = {
            index: first.setdefault(_key(model, graph, index), index)
            for index in dict.fromkeys(int(operator.inputs[_WEIGHTS]) for operator in dense)
        }
        for operator in dense:
            source, weights, *rest = map(int, operator.inputs)
            operator.inputs = [source, table[weights], *rest]


def _key(model: Model, graph: Any, index: int) -> Any:
    """Equal for equal constants; what is computed is equal to itself alone."""
    tensor = graph.tensors[index]
    if not is_constant(model, tensor):
        return index
    return tuple(int(size) for size in tensor.shape), buffer_bytes(model, tensor)
