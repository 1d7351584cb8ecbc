"""Pass: dense layers whose weights are equal read one tensor.

A converter unrolls layers that share weights and may write a constant for each. Passes that change weights
(`split_dense`, `level_dense`) then change the one tensor for all its readers alike; with a constant for each they would
come apart, and a file that held them once would hold them as often as there are layers. No value changes.
"""

from collections.abc import Hashable

from quantize.arrays import digest
from quantize.rewrite import rewrite
from quantize.tflite.conditions import in_float, in_order
from quantize.tflite.graph import Graph, Model, is_constant, op_name, shape
from quantize.tflite.operators import DENSE, WEIGHTED

_WEIGHTS = WEIGHTED[DENSE].position


@rewrite(requires=(in_float,), ensures=(in_order,))
def share_weights(model: Model) -> None:
    """Edits every subgraph in place; tensors that nobody reads any more stay behind."""
    for graph in model.subgraphs:
        dense = [operator for operator in graph.operators if op_name(model, operator) == DENSE]
        first: dict[Hashable, int] = {}
        table = {
            index: first.setdefault(_key(model, graph, index), index)
            for index in dict.fromkeys(operator.inputs[_WEIGHTS] for operator in dense)
        }
        for operator in dense:
            source, weights, *rest = operator.inputs
            operator.inputs = [source, table[weights], *rest]


def _key(model: Model, graph: Graph, index: int) -> Hashable:
    """Equal for equal constants; what is computed is equal to itself alone."""
    tensor = graph.tensors[index]
    data = model.buffers[tensor.buffer].data
    return index if data is None or not is_constant(model, tensor) else (shape(tensor), digest(data))
