"""Pass: a layer norm that is written out becomes LayerNormalization, which runtimes compute in one step.

tf2onnx writes (x - mean) / sqrt(variance + epsilon) with ten operators, and TensorFlow's optimizer moves gamma to the
reciprocal. ONNX Runtime knows another spelling only. Leaves out norms over other axes than the last one, and any whose
inner tensors something else reads. Needs opset 17; asks for no sizes, so axes may be symbolic.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import onnx

from quantize.onnx.conditions import in_order
from quantize.onnx.graph import add_constant, replace_nodes
from quantize.onnx.matcher import Matcher
from quantize.rewrite import rewrite


def no_written_out_norm(model: onnx.ModelProto) -> Iterator[str]:
    """No layer norm is left that the pass would replace."""
    if next(_norms(model.graph), None) is not None:
        yield "a layer norm is still written out."


@dataclass(frozen=True, kw_only=True)
class _Norm:
    """A norm that was found; `nodes` are all that compute it. Gamma and beta are names of constants, beta may be ""."""

    nodes: tuple[onnx.NodeProto, ...]
    source: str
    gamma: str
    beta: str
    epsilon: float
    channels: int


@rewrite(requires=(in_order,), ensures=(in_order, no_written_out_norm))
def fuse_layer_norm(model: onnx.ModelProto) -> int:
    """Edits the model in place; returns how many norms were replaced."""
    graph = model.graph
    made: dict[str, onnx.NodeProto] = {}
    gone: set[str] = set()
    for norm in _norms(graph):
        result = norm.nodes[-1].output[0]
        gamma = norm.gamma or _ones(graph, norm.channels)
        inputs = [norm.source, gamma, *([norm.beta] if norm.beta else [])]
        made[result] = onnx.helper.make_node("LayerNormalization", inputs, [result], axis=-1, epsilon=norm.epsilon)
        gone.update(node.output[0] for node in norm.nodes)
    replace_nodes(graph, made, gone)
    return len(made)


def _ones(graph: onnx.GraphProto, channels: int) -> str:
    name = f"ones:{channels}"
    if all(item.name != name for item in graph.initializer):
        add_constant(graph, name, np.ones(channels, np.float32))
    return name


def _norms(graph: onnx.GraphProto) -> Iterator[_Norm]:
    matcher = Matcher(graph)
    for node in graph.node:
        if node.op_type == "Reciprocal":
            found = _norm(matcher, node)
            if found is not None:
                yield found


def _norm(matcher: Matcher, reciprocal: onnx.NodeProto) -> _Norm | None:
    """The norm around 1 / sqrt(variance + epsilon)."""
    root = matcher.maker(reciprocal.input[0], "Sqrt")
    padded = matcher.maker(root.input[0], "Add") if root else None
    if root is None or padded is None:
        return None
    variance, epsilon = matcher.beside_scalar(padded)
    mean_square = matcher.maker(variance, "ReduceMean") if variance else None
    square = matcher.maker(mean_square.input[0], "Mul") if mean_square else None
    if epsilon is None or mean_square is None or square is None or square.input[0] != square.input[1]:
        return None
    centered = matcher.maker(square.input[0], "Sub")
    mean = matcher.maker(centered.input[1], "ReduceMean") if centered else None
    if centered is None or mean is None or mean.input[0] != centered.input[0]:
        return None
    if not (matcher.reduces_last_axis(mean) and matcher.reduces_last_axis(mean_square)):
        return None
    inner = (mean, centered, square, mean_square, padded, root, reciprocal)
    return _with_affine(matcher, inner, centered, epsilon)


def _with_affine(
    matcher: Matcher, inner: tuple[onnx.NodeProto, ...], centered: onnx.NodeProto, epsilon: float
) -> _Norm | None:
    """Gamma before or behind the product with the centered values, then beta, as far as they are there."""
    nodes, gamma = list(inner), ""
    last = matcher.only_reader(inner[-1].output[0], "Mul")
    if last is not None and centered.output[0] not in last.input:
        nodes.append(last)
        gamma = matcher.vector_beside(last, inner[-1].output[0])
        last = matcher.only_reader(last.output[0], "Mul") if gamma else None
    if last is None or centered.output[0] not in last.input:
        return None
    nodes.append(last)
    behind = matcher.only_reader(last.output[0], "Mul")
    if not gamma and behind is not None and matcher.vector_beside(behind, last.output[0]):
        gamma, last = matcher.vector_beside(behind, last.output[0]), behind
        nodes.append(last)
    sum_node, beta = matcher.only_reader(last.output[0], "Add"), ""
    if sum_node is not None:
        beta = matcher.vector_beside(sum_node, last.output[0])
        nodes += [sum_node] if beta else []
    own = {node.output[0] for node in nodes}
    if not all(matcher.read_only_by(node.output[0], own) for node in nodes[:-1]):
        return None
    sizes = {matcher.sizes[name] for name in (gamma, beta) if name}
    # Without gamma and beta nothing tells how many channels there are.
    if len(sizes) != 1 or not math.isfinite(epsilon):
        return None
    source = str(centered.input[0])
    return _Norm(nodes=tuple(nodes), source=source, gamma=gamma, beta=beta, epsilon=epsilon, channels=sizes.pop())
