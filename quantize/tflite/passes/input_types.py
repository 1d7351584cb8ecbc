"""Pass: an int8 input of whole numbers is taken as float32 or int32, for runtimes that take no int8 at the border.

An input that is cast to float right away (float recipes) needs no cast as float32, and another one as int32. One that
is read as int8, with scale 1 and zero point 0, gets a QUANTIZE or a CAST in front. Whole numbers of -128 to 127 stay
what they are, so no answer changes by a bit. Name and shape of the input stay, other inputs are untouched.
"""

import copy
from collections.abc import Iterator

from quantize.rewrite import rewrite
from quantize.tflite.conditions import in_order
from quantize.tflite.graph import Graph, Model, Operator, Tensor, new_operator, op_name, readers, schema, tensor_name
from quantize.tflite.passes.elide_input_cast import CAST_VERSION

# First versions of CAST from int32 to float32, and of QUANTIZE from float32 to int8.
_CAST_TO_FLOAT_VERSION, _QUANTIZE_VERSION = 1, 1
_KINDS = {"float32": schema.TensorType.FLOAT32, "int32": schema.TensorType.INT32}


def exact_int8_inputs(model: Model) -> Iterator[str]:
    """int8 inputs that are not cast have scale 1 and zero point 0."""
    for graph in model.subgraphs:
        for index in _int8_inputs(graph):
            if not _casts(model, graph, index) and not _is_exact(graph.tensors[index]):
                yield f"int8 input {tensor_name(graph.tensors[index])!r} must have scale 1 and zero point 0."


def no_int8_input(model: Model) -> Iterator[str]:
    for graph in model.subgraphs:
        for index in _int8_inputs(graph):
            yield f"input {tensor_name(graph.tensors[index])!r} is int8."


@rewrite(requires=(exact_int8_inputs,), ensures=(in_order, no_int8_input))
def input_types(model: Model, kind: str) -> None:
    """Edits every subgraph in place. `kind` is float32 or int32."""
    for graph in model.subgraphs:
        for index in _int8_inputs(graph):
            casts = _casts(model, graph, index)
            if casts:
                _widen_casts(model, graph, index, casts, kind)
            else:
                _narrow(model, graph, index, kind)
            graph.tensors[index].type = _KINDS[kind]
            graph.tensors[index].quantization = None


def _is_exact(tensor: Tensor) -> bool:
    found = tensor.quantization
    if found is None or found.scale is None or found.zeroPoint is None:
        return False
    return list(found.scale) == [1.0] and list(found.zeroPoint) == [0]


def _int8_inputs(graph: Graph) -> list[int]:
    return [index for index in graph.inputs if graph.tensors[index].type == schema.TensorType.INT8]


def _casts(model: Model, graph: Graph, index: int) -> list[Operator]:
    """The operators that read an input, if all of them cast it to float."""
    found = readers(graph).get(index, [])
    is_cast = all(
        op_name(model, operator) == "CAST" and graph.tensors[operator.outputs[0]].type == schema.TensorType.FLOAT32
        for operator in found
    )
    return found if is_cast and not {index for cast in found for index in cast.outputs} & {*graph.outputs} else []


def _widen_casts(model: Model, graph: Graph, index: int, casts: list[Operator], kind: str) -> None:
    if kind == "float32":
        gone, made = {id(cast) for cast in casts}, {cast.outputs[0] for cast in casts}
        graph.operators = [operator for operator in graph.operators if id(operator) not in gone]
        for operator in graph.operators:
            operator.inputs = [index if i in made else i for i in operator.inputs]
        return
    for cast in casts:
        new = _cast(model, index, cast.outputs[0], schema.TensorType.FLOAT32, _CAST_TO_FLOAT_VERSION)
        graph.operators = [new if operator is cast else operator for operator in graph.operators]


def _narrow(model: Model, graph: Graph, index: int, kind: str) -> None:
    """Puts an operator between the input and its readers, who read int8 as before."""
    inner = copy.copy(graph.tensors[index])
    inner.name = None
    graph.tensors.append(inner)
    made = len(graph.tensors) - 1
    for operator in graph.operators:
        operator.inputs = [made if i == index else i for i in operator.inputs]
    if kind == "int32":
        first = _cast(model, index, made, schema.TensorType.INT8, CAST_VERSION)
    else:
        first = new_operator(model, schema.BuiltinOperator.QUANTIZE, _QUANTIZE_VERSION, [index], [made])
    graph.operators = [first, *graph.operators]


def _cast(model: Model, source: int, target: int, kind: int, version: int) -> Operator:
    """From int32."""
    operator = new_operator(model, schema.BuiltinOperator.CAST, version, [source], [target])
    options = schema.CastOptionsT()
    options.inDataType, options.outDataType = schema.TensorType.INT32, kind
    operator.builtinOptionsType, operator.builtinOptions = schema.BuiltinOptions.CastOptions, options
    return operator
