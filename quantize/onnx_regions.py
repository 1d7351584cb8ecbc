"""Which parts of an ONNX graph stay in float in static int8: those around operators without an integer kernel.

A layer norm or a GELU is a handful of element-wise operators, of which ONNX Runtime can compute some in integers and some
not. To round between them costs accuracy and time and saves nothing, so the whole neighborhood stays in float.
"""

from collections.abc import Iterable
from typing import Any

# No integer kernel in ONNX Runtime 1.31.
WITHOUT_KERNEL = ("Abs", "Div", "Erf", "Exp", "Log", "Neg", "Pow", "Reciprocal", "Sqrt", "Sub", "Tanh")
# With one, but of no use beside the others.
_NEIGHBORS = ("Add", "Mul", "ReduceMean")


def float_region(nodes: Iterable[Any]) -> set[int]:
    """Positions of the operators without integer kernel and of the element-wise ones that are connected with them."""
    listed = list(nodes)
    candidates = {i for i, node in enumerate(listed) if node.op_type in (*WITHOUT_KERNEL, *_NEIGHBORS)}
    touching: dict[str, list[int]] = {}
    for i in candidates:
        for name in {*listed[i].input, *listed[i].output} - {""}:
            touching.setdefault(name, []).append(i)
    # Two operators that read the same tensor are not connected by that, nor by a shared constant.
    made = {name for i in candidates for name in listed[i].output}
    region = {i for i in candidates if listed[i].op_type in WITHOUT_KERNEL}
    waiting = list(region)
    while waiting:
        node = listed[waiting.pop()]
        for name in {*node.input, *node.output} & made:
            for other in touching[name]:
                if other not in region:
                    region.add(other)
                    waiting.append(other)
    return region
