"""Pass: two more outputs behind float logits `[batch, labels]`: `probabilities`, and `label`, the place of the best.

Requires one output, float. Probabilities are the softmax of the logits, or the sigmoid of each where a text may have
several labels. The label is int32 `[batch]`, of equal logits the first.
"""

from collections.abc import Iterator

import onnx

from quantize.onnx.conditions import in_order
from quantize.onnx.graph import copied
from quantize.rewrite import rewrite

PROBABILITIES, LABEL = "probabilities", "label"
_PLACE = "label_place"  # what ArgMax makes: int64


def one_float_output(model: onnx.ModelProto) -> Iterator[str]:
    kinds = [value.type.tensor_type.elem_type for value in model.graph.output]
    if kinds != [onnx.TensorProto.FLOAT]:
        yield f"one float output was expected. Received: types {kinds}."


def label_outputs(model: onnx.ModelProto, *, multi_label: bool) -> onnx.ModelProto:
    """A new model; the given one stays as it is."""
    result = copied(model)
    _add(result, multi_label=multi_label)
    return result


@rewrite(requires=(one_float_output,), ensures=(in_order,))
def _add(model: onnx.ModelProto, *, multi_label: bool) -> None:
    graph, make = model.graph, onnx.helper.make_node
    logits = graph.output[0]
    sizes = [dim.dim_param or dim.dim_value for dim in logits.type.tensor_type.shape.dim]
    activation = make("Sigmoid", [logits.name], [PROBABILITIES])
    if not multi_label:
        activation = make("Softmax", [logits.name], [PROBABILITIES], axis=-1)
    best = make("ArgMax", [logits.name], [_PLACE], axis=-1, keepdims=0)
    graph.node.extend((activation, best, make("Cast", [_PLACE], [LABEL], to=onnx.TensorProto.INT32)))
    value = onnx.helper.make_tensor_value_info
    graph.output.append(value(PROBABILITIES, onnx.TensorProto.FLOAT, sizes))
    graph.output.append(value(LABEL, onnx.TensorProto.INT32, sizes[:1]))
