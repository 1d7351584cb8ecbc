"""Pass: a GELU that is written out becomes the operator Gelu, exact (by Erf) or approximate (by Tanh).

ONNX Runtime recognises other spellings than those that TensorFlow's graphs have: x / sqrt(2), not x * 0.7071. Factors
must be those of the operator, up to float32 rounding. Needs opset 20; asks for no sizes.
"""

import math
from collections.abc import Iterator

import onnx

from quantize.onnx.conditions import in_order
from quantize.onnx.graph import replace_nodes
from quantize.onnx.matcher import Matcher
from quantize.rewrite import rewrite

_CUBE = 0.044715
# Constants are float32.
_RTOL = 1e-6


def no_written_out_gelu(model: onnx.ModelProto) -> Iterator[str]:
    """No GELU is left that the pass would replace."""
    if next(_gelus(model.graph), None) is not None:
        yield "a GELU is still written out."


@rewrite(requires=(in_order,), ensures=(in_order, no_written_out_gelu))
def fuse_gelu(model: onnx.ModelProto) -> int:
    """Edits the model in place; returns how many were replaced."""
    graph = model.graph
    made: dict[str, onnx.NodeProto] = {}
    gone: set[str] = set()
    for nodes, source, approximate in _gelus(graph):
        result = nodes[-1].output[0]
        made[result] = onnx.helper.make_node("Gelu", [source], [result], approximate=approximate)
        gone.update(node.output[0] for node in nodes)
    replace_nodes(graph, made, gone)
    return len(made)


def _gelus(graph: onnx.GraphProto) -> Iterator[tuple[list[onnx.NodeProto], str, str]]:
    """All nodes of each, the one that makes its result last; what it reads, and the operator's attribute."""
    matcher = Matcher(graph)
    for node in graph.node:
        if node.op_type == "Erf":
            inner, approximate = _scaled(matcher, node), "none"
        elif node.op_type == "Tanh":
            inner, approximate = _cubic(matcher, node), "tanh"
        else:
            continue
        if inner is None:
            continue
        nodes, source = inner
        outer = _outer(matcher, node, source)
        if outer is None:
            continue
        nodes += [node, *outer]
        own = {each.output[0] for each in nodes}
        if all(matcher.read_only_by(each.output[0], own) for each in nodes[:-1]):
            yield nodes, source, approximate


def _scaled(matcher: Matcher, erf: onnx.NodeProto) -> tuple[list[onnx.NodeProto], str] | None:
    """X / sqrt(2)"""
    product = matcher.maker(erf.input[0], "Mul")
    source, factor = matcher.beside_scalar(product) if product else ("", None)
    if product is not None and _is(factor, math.sqrt(0.5)):
        return [product], source
    quotient = matcher.maker(erf.input[0], "Div")
    if quotient is not None and _is(matcher.scalar(quotient.input[1]), math.sqrt(2)):
        return [quotient], quotient.input[0]
    return None


def _cubic(matcher: Matcher, tanh: onnx.NodeProto) -> tuple[list[onnx.NodeProto], str] | None:
    """sqrt(2 / pi) * (x + 0.044715 * x ** 3)"""
    product = matcher.maker(tanh.input[0], "Mul")
    total, factor = matcher.beside_scalar(product) if product else ("", None)
    add = matcher.maker(total, "Add") if total else None
    if product is None or add is None or not _is(factor, math.sqrt(2 / math.pi)):
        return None
    for cubed, source in (tuple(add.input), tuple(add.input)[::-1]):
        scaled = matcher.maker(cubed, "Mul")
        power, weight = matcher.beside_scalar(scaled) if scaled else ("", None)
        cube = matcher.maker(power, "Pow") if power else None
        if scaled is None or cube is None or cube.input[0] != source:
            continue
        if _is(weight, _CUBE) and _is(matcher.scalar(cube.input[1]), 3.0):
            return [cube, scaled, add, product], source
    return None


def _outer(matcher: Matcher, inner: onnx.NodeProto, source: str) -> list[onnx.NodeProto] | None:
    """0.5 * x * (1 + inner), in any order of the two products."""
    add = matcher.only_reader(inner.output[0], "Add")
    if add is None or not _is(matcher.beside_scalar(add)[1], 1.0):
        return None
    product = matcher.only_reader(add.output[0], "Mul")
    if product is None:
        return None
    other = next((name for name in product.input if name != add.output[0]), "")
    half = matcher.maker(other, "Mul")
    if half is not None:
        halved, factor = matcher.beside_scalar(half)
        if halved == source and _is(factor, 0.5):
            return [add, half, product]
    behind = matcher.only_reader(product.output[0], "Mul")
    if other == source and behind is not None and _is(matcher.beside_scalar(behind)[1], 0.5):
        return [add, product, behind]
    return None


def _is(found: float | None, expected: float) -> bool:
    return found is not None and math.isclose(found, expected, rel_tol=_RTOL)
