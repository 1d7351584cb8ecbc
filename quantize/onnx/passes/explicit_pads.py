"""Pass: a convolution that keeps the size of its input says how many zeros it adds at each end.

tf2onnx leaves that to the runtime where sizes are unknown, and ONNX Runtime refuses it beside a dilation. With a stride
of one the numbers follow from the kernel alone. Then no convolution of stride one has an `auto_pad`.
"""

from collections.abc import Iterator
from typing import Any

import onnx

from quantize.onnx.conditions import in_order
from quantize.onnx.graph import constants
from quantize.onnx.operators import WEIGHTS
from quantize.rewrite import rewrite

_SAME = {b"SAME_UPPER": 0, b"SAME_LOWER": 1}  # at which end the odd zero is: 1 for the front


def pads_are_explicit(model: onnx.ModelProto) -> Iterator[str]:
    for node in model.graph.node:
        options = _options(node)
        if node.op_type == "Conv" and options.get("auto_pad") in _SAME and not _strided(options):
            yield f"the convolution that makes {node.output[0]!r} leaves its padding to the runtime."


@rewrite(requires=(in_order,), ensures=(in_order, pads_are_explicit))
def explicit_pads(model: onnx.ModelProto) -> int:
    """Edits the model in place; returns how many convolutions were changed."""
    known, changed = constants(model.graph), 0
    for node in model.graph.node:
        options = _options(node)
        if node.op_type != "Conv" or options.get("auto_pad") not in _SAME or _strided(options):
            continue
        kernel = list(known[node.input[WEIGHTS]].dims[2:])
        spans = [(size - 1) * step for size, step in zip(kernel, _numbers(options, "dilations", kernel), strict=True)]
        odd = _SAME[options["auto_pad"]]
        front = [(span + odd) // 2 for span in spans]
        kept = [item for item in node.attribute if item.name not in ("auto_pad", "pads")]
        pads = [*front, *(span - part for span, part in zip(spans, front, strict=True))]
        attributes = [onnx.AttributeProto.FromString(item.SerializeToString()) for item in kept]
        del node.attribute[:]
        node.attribute.extend([*attributes, onnx.helper.make_attribute("pads", pads)])
        changed += 1
    return changed


def _options(node: onnx.NodeProto) -> dict[str, Any]:
    return {item.name: onnx.helper.get_attribute_value(item) for item in node.attribute}


def _numbers(options: dict[str, Any], name: str, kernel: list[int]) -> list[int]:
    """One for each axis of the kernel, 1 by default."""
    return list(options.get(name) or [1] * len(kernel))


def _strided(options: dict[str, Any]) -> bool:
    return any(step != 1 for step in options.get("strides") or ())
