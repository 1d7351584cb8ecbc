"""Pass: leaves out a QUANTIZE that changes nothing.

A quantizer writes such a QUANTIZE, from int8 to int8 with the same scale and zero point, behind a GATHER on a quantized
table. Its readers read what it read; not one value changes.
"""

from collections.abc import Iterator

from quantize.rewrite import rewrite
from quantize.tflite.conditions import in_order
from quantize.tflite.graph import Graph, Model, Operator, Tensor, op_name


def no_idle_quantize(model: Model) -> Iterator[str]:
    for graph in model.subgraphs:
        for operator in graph.operators:
            if _is_idle(model, graph, operator):
                yield f"a QUANTIZE of tensor {operator.inputs[0]} changes nothing."


@rewrite(ensures=(in_order, no_idle_quantize))
def elide_requantize(model: Model) -> None:
    """Edits every subgraph of the model in place."""
    for graph in model.subgraphs:
        replaced: dict[int, int] = {}
        kept = []
        for operator in graph.operators:
            operator.inputs = [replaced.get(i, i) for i in operator.inputs]
            if _is_idle(model, graph, operator):
                replaced[operator.outputs[0]] = operator.inputs[0]
            else:
                kept.append(operator)
        graph.operators = kept


def _is_idle(model: Model, graph: Graph, operator: Operator) -> bool:
    if op_name(model, operator) != "QUANTIZE" or operator.outputs[0] in graph.outputs:
        return False
    source, target = graph.tensors[operator.inputs[0]], graph.tensors[operator.outputs[0]]
    return source.type == target.type and _parameters(source) == _parameters(target)


def _parameters(tensor: Tensor) -> tuple[list[float], list[int]]:
    found = tensor.quantization
    if found is None or found.scale is None or found.zeroPoint is None:
        return [], []
    return list(map(float, found.scale)), list(map(int, found.zeroPoint))
