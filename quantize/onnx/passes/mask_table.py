"""Pass: what an ONNX graph computes from a 0/1 input mask by sums and products becomes a table of two values.

ONNX Runtime has no integer kernels for the cast and the subtraction that such a bias needs, but it looks up a table in
eight bits. Requires an int32 input whose cast holds 0 and 1 only, as the ranges show. Then chains of Cast, Add, Sub and
Mul with single constants, with moves between them, are gone; each of their results is one Gather with the same values.
A mask that holds anything but 0 and 1 is an error of the runtime then.
"""

from collections.abc import Mapping

import numpy as np
import onnx

from quantize.arrays import Array
from quantize.onnx.conditions import in_order
from quantize.onnx.graph import add_constant, set_nodes, values
from quantize.onnx.operators import MOVES
from quantize.rewrite import rewrite

_ARITHMETIC: dict[str, np.ufunc] = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply}


@rewrite(requires=(in_order,), ensures=(in_order,))
def mask_table(model: onnx.ModelProto, ranges: Mapping[str, tuple[float, float]]) -> dict[str, tuple[float, float]]:
    """Edits the model in place; returns the range of each result that is now looked up."""
    graph = model.graph
    inputs = {v.name for v in graph.input if v.type.tensor_type.elem_type == onnx.TensorProto.INT32}
    constants = {
        item.name: values(item)
        for item in graph.initializer
        if item.data_type == onnx.TensorProto.FLOAT and int(np.prod(item.dims)) == 1
    }
    # Name of a float tensor -> the integers it comes from, and its values for 0 and for 1.
    chains: dict[str, tuple[str, Array]] = {}
    made: dict[str, tuple[float, float]] = {}
    nodes: list[onnx.NodeProto] = []
    outputs = {value.name for value in graph.output}

    def look_up(name: str) -> None:
        integers, table = chains[name]
        if name not in made:
            constant = add_constant(graph, f"{name}:table", table)
            nodes.append(onnx.helper.make_node("Gather", [constant, integers], [name], axis=0))
            made[name] = (float(table.min()), float(table.max()))

    for node in list(graph.node):
        if node.op_type == "Cast" and node.input[0] in inputs and _is_mask(ranges.get(node.output[0])):
            chains[node.output[0]] = (node.input[0], np.array([0, 1], np.float32))
            continue
        followed = [name for name in node.input if name in chains]
        if followed and node.op_type in MOVES and node.input[0] in chains:
            integers, table = chains[node.input[0]]
            name = node.output[0]
            node.input[0], node.output[0] = integers, f"{name}:mask"
            nodes.append(node)
            chains[name] = (node.output[0], table)
        elif followed and node.op_type in _ARITHMETIC and all(n in chains or n in constants for n in node.input):
            if len({chains[n][0] for n in followed}) == 1:
                operands = [chains[n][1] if n in chains else constants[n].reshape(()) for n in node.input]
                result = _ARITHMETIC[node.op_type](*operands).astype(np.float32)
                chains[node.output[0]] = (chains[followed[0]][0], result)
                continue
            for name in followed:
                look_up(name)
            nodes.append(node)
        else:
            for name in followed:
                look_up(name)
            nodes.append(node)
    for name in outputs & set(chains):
        look_up(name)
    set_nodes(graph, nodes)
    return made


def _is_mask(found: tuple[float, float] | None) -> bool:
    return found is not None and 0 <= found[0] <= found[1] <= 1
