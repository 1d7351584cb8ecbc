"""Which parts of an ONNX graph stay in float in static int8: those around operators without an integer kernel.

A layer norm or a GELU is a handful of element-wise operators, of which ONNX Runtime can compute some in integers and some
not. To round between them costs accuracy and time and saves nothing, so the whole neighborhood stays in float, also where
something between them only moves values.
"""

from collections.abc import Iterable
from typing import Any

# No integer kernel in ONNX Runtime 1.31.
WITHOUT_KERNEL = ("Abs", "Div", "Erf", "Exp", "Log", "Neg", "Pow", "Reciprocal", "Sqrt", "Sub", "Tanh")
# With one, but of no use beside the others.
_NEIGHBORS = ("Add", "Mul", "ReduceMean")
# One input, one output, the same values.
MOVES = ("Identity", "Reshape", "Slice", "Squeeze", "Transpose", "Unsqueeze")


def is_grouped(node: Any) -> bool:
    """A convolution of some channels by themselves, as a depthwise one is.

    It has few weights, and in integers ONNX Runtime 1.31 multiplies group by group: several times as long as in float.
    """
    return node.op_type == "Conv" and any(item.name == "group" and item.i > 1 for item in node.attribute)


def float_region(nodes: Iterable[Any]) -> set[int]:
    """Positions of the operators without integer kernel and of the element-wise ones that are connected with them."""
    listed = list(nodes)
    # Names of tensors that hold another one's values -> the name of that one.
    moved: dict[str, str] = {}
    for node in listed:
        if node.op_type in MOVES:
            moved[node.output[0]] = moved.get(node.input[0], node.input[0])
    around = [{moved.get(name, name) for name in (*node.input, *node.output)} - {""} for node in listed]
    seeds = {i for i, node in enumerate(listed) if node.op_type in WITHOUT_KERNEL or is_grouped(node)}
    candidates = seeds | {i for i, node in enumerate(listed) if node.op_type in _NEIGHBORS}
    touching: dict[str, list[int]] = {}
    for i in candidates:
        for name in around[i]:
            touching.setdefault(name, []).append(i)
    # Two operators that read the same tensor are not connected by that, nor by a shared constant.
    made = {name for i in candidates for name in listed[i].output}
    region = set(seeds)
    waiting = list(region)
    while waiting:
        for name in around[waiting.pop()] & made:
            for other in touching[name]:
                if other not in region:
                    region.add(other)
                    waiting.append(other)
    return region
