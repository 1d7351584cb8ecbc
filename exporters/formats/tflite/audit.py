"""Where a .tflite file deviates from its recipe: one check per recipe.

Looks only at the file, not at how it was made, so it finds a layer that a tool silently left in float.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from exporters.formats.model_file import MIN_WEIGHT_ELEMENTS, Check
from exporters.formats.texts import takes_bytes
from exporters.formats.tflite.tensors import (
    FLOATS,
    borders,
    constants,
    elements,
    kind,
    scales,
    tables,
    weights,
    zero_points,
)
from quantize.int4 import is_dense_fit, is_table_fit
from quantize.tflite.graph import builtin_code, called_graphs, is_constant, op_name, schema, text
from quantize.tflite.operators import DENSE, DYNAMIC_FLOAT, LOOKUP, WEIGHTED
from quantize.tflite.passes.prepend_projection import CUSTOM_OP
from quantize.tflite.regions import float_region, ranking_region

if TYPE_CHECKING:
    from exporters.formats.tflite.file import TfliteFile

_OF_LOGITS = ("ARG_MAX", "LOGISTIC", "SOFTMAX")


def _check_int8(model: Any, graph: Any) -> Iterator[str]:
    """Layer norms, GELUs, softmaxes, ghosts and token ranking may be float."""
    yield from _check_static(model, graph, float_region(model, graph), float_weights=DYNAMIC_FLOAT)


def _check_int8_full(model: Any, graph: Any) -> Iterator[str]:
    """Only token ranking may be float."""
    yield from _check_static(model, graph, ranking_region(model, graph))


def _check_static(model: Any, graph: Any, region: set[int], *, float_weights: tuple[str, ...] = ()) -> Iterator[str]:
    inside = {id(graph.operators[position]) for position in region} | _behind_outputs(model, graph)
    allowed = _allowed_in_float(model, graph, inside)
    for operator in graph.operators:
        name = op_name(model, operator)
        if name == CUSTOM_OP or id(operator) in allowed:
            continue
        if name == "SUM":
            yield "SUM is wrong in int8 in TFLite 2.12 and in reference kernels: use MEAN"
        indices = [int(i) for i in (*operator.inputs, *operator.outputs) if i >= 0]
        if any(kind(graph.tensors[i]) in FLOATS for i in indices):
            yield f"{name} computes in float"
    given = [graph.tensors[int(index)] for index in (*graph.inputs, *_projection_outputs(model, graph))]
    for tensor in (*given, *borders(graph)):
        if kind(tensor) == "INT8" and not _is_exact(tensor):
            yield f"the int8 input must have scale 1 and zero point 0, not {scales(tensor)} and {zero_points(tensor)}"
    yield from _check_int8_weights(model, graph, float_weights)


def _is_exact(tensor: Any) -> bool:
    """Whether its numbers are the values themselves."""
    return bool(scales(tensor).tolist() == [1.0] and zero_points(tensor).tolist() == [0])


def _behind_outputs(model: Any, graph: Any) -> set[int]:
    """Ids of the operators that make probabilities and the best label of logits, which are an output themselves, or
    were int8 and are read by nobody else.
    """
    outputs = {int(i) for i in graph.outputs}
    float_logits = {int(o.outputs[0]) for o in graph.operators if op_name(model, o) == "DEQUANTIZE"}
    return {
        id(operator)
        for operator in graph.operators
        if op_name(model, operator) in _OF_LOGITS
        and outputs.issuperset(operator.outputs)
        and int(operator.inputs[0]) in outputs | float_logits
    }


def _allowed_in_float(model: Any, graph: Any, region: set[int]) -> set[int]:
    """Ids of the operators that may compute in float: those of the region (ids), and the steps into and out of it.

    A DEQUANTIZE reads int8 and feeds only such a region, or an output; a QUANTIZE ends a region in int8, or makes int8
    of an input that holds whole numbers. So a float product is always found: it is in no region, and what it
    reads or writes is float.
    """
    given, outputs = {int(i) for i in graph.inputs}, {int(i) for i in graph.outputs}
    readers: dict[int, list[Any]] = {}
    for operator in graph.operators:
        for index in operator.inputs:
            readers.setdefault(int(index), []).append(operator)
    made = {int(i) for operator in graph.operators if id(operator) in region for i in operator.outputs}
    allowed = set(region)
    for operator in graph.operators:
        name = op_name(model, operator)
        if name not in ("DEQUANTIZE", "QUANTIZE"):
            continue
        source, target = int(operator.inputs[0]), int(operator.outputs[0])
        if (
            name == "DEQUANTIZE"
            and kind(graph.tensors[source]) == "INT8"
            and not is_constant(model, graph.tensors[source])
        ):
            found = readers.get(target, [])
            if all(id(reader) in region for reader in found) and (found or target in outputs):
                allowed.add(id(operator))
        elif (
            name == "QUANTIZE"
            and kind(graph.tensors[target]) == "INT8"
            and (source in made or (source in given and _is_exact(graph.tensors[target])))
        ):
            allowed.add(id(operator))
    return allowed


def _check_int8_weights(model: Any, graph: Any, float_weights: tuple[str, ...]) -> Iterator[str]:
    for tensor in tables(model, graph):
        if kind(tensor) != "INT8":
            yield f"a table of {LOOKUP} is {kind(tensor).lower()}, not int8"
    found = False
    for name, tensor, axis in weights(model, graph):
        found = True
        if name in float_weights and kind(tensor) == "FLOAT32":
            continue
        if kind(tensor) != "INT8":
            yield f"weights of {name} are {kind(tensor).lower()}, not int8"
        elif scales(tensor).size != tensor.shape[axis]:
            yield f"weights of {name} have {scales(tensor).size} scales for {tensor.shape[axis]} channels"
        elif np.any(zero_points(tensor)):
            yield f"weights of {name} are not symmetric: a zero point differs from 0"
    if not found:
        yield "no operator with weights"


def _projection_outputs(model: Any, graph: Any) -> list[int]:
    return [int(o.outputs[0]) for o in graph.operators if op_name(model, o) == CUSTOM_OP]


def _check_dynamic(model: Any, graph: Any) -> Iterator[str]:
    found = False
    for name, tensor, _ in weights(model, graph):
        found = True
        if kind(tensor) != "INT8" and elements(tensor) >= MIN_WEIGHT_ELEMENTS and name not in DYNAMIC_FLOAT:
            yield f"weights of {name} are {kind(tensor).lower()}, not int8"
        elif np.any(zero_points(tensor)):
            yield f"weights of {name} are not symmetric: a zero point differs from 0"
    if not found:
        yield "no operator with weights"
    for tensor in tables(model, graph):
        if kind(tensor) != "INT8":
            yield f"a table of {LOOKUP} is {kind(tensor).lower()}, not int8: the embedding was left out"
    for operator in graph.operators:
        name = op_name(model, operator)
        if name in WEIGHTED and kind(graph.tensors[operator.inputs[0]]) != "FLOAT32":
            yield f"{name} reads {kind(graph.tensors[operator.inputs[0]]).lower()} activations, not float32"


def _check_int4(model: Any, graph: Any) -> Iterator[str]:
    """4 bits where they fit, 8 bits elsewhere."""
    if not any(kind(tensor) == "INT4" for tensor in constants(model, graph)):
        yield "no weights in 4 bits"
    for name, tensor, axis in weights(model, graph):
        fits = name == DENSE and is_dense_fit(*reversed(tensor.shape))
        small = elements(tensor) < MIN_WEIGHT_ELEMENTS or name in DYNAMIC_FLOAT
        if kind(tensor) != ("INT4" if fits else "INT8") and (fits or not small):
            yield f"weights of {name} are {kind(tensor).lower()}, not {'int4' if fits else 'int8'}"
        elif np.any(zero_points(tensor)):
            yield f"weights of {name} are not symmetric: a zero point differs from 0"
        elif fits and scales(tensor).size != tensor.shape[axis]:
            yield f"weights of {name} have {scales(tensor).size} scales for {tensor.shape[axis]} channels"
        elif fits and _holds_lowest(model, tensor):
            yield f"weights of {name} hold -8, which LiteRT without XNNPACK takes for another number"
    for tensor in tables(model, graph):
        expected = "int4" if is_table_fit(tuple(tensor.shape)) else "int8"
        if kind(tensor).lower() != expected:
            yield f"a table of {LOOKUP} is {kind(tensor).lower()}, not {expected}"
    for operator in graph.operators:
        name = op_name(model, operator)
        if name in WEIGHTED and kind(graph.tensors[operator.inputs[0]]) != "FLOAT32":
            yield f"{name} reads {kind(graph.tensors[operator.inputs[0]]).lower()} activations, not float32"


def _holds_lowest(model: Any, tensor: Any) -> bool:
    """Whether one of the two numbers in a byte is -8."""
    data = np.asarray(model.buffers[tensor.buffer].data, np.uint8)
    return bool(np.any((data & 15 == 8) | (data >> 4 == 8)))


def _check_fp16(model: Any, graph: Any) -> Iterator[str]:
    kinds = Counter(kind(tensor) for tensor in constants(model, graph))
    if not kinds["FLOAT16"]:
        yield "no float16 weights"
    for dtype in ("INT8", "UINT8", "INT4"):
        if kinds[dtype]:
            yield f"{kinds[dtype]} constants are {dtype.lower()}"
    large = [t for t in constants(model, graph) if kind(t) == "FLOAT32" and elements(t) >= MIN_WEIGHT_ELEMENTS]
    if large:
        yield f"{len(large)} constants are float32"


def _check_float32(model: Any, graph: Any) -> Iterator[str]:
    quantized = [tensor for tensor in graph.tensors if scales(tensor).size]
    if quantized:
        yield f"{len(quantized)} tensors are quantized"
    kinds = Counter(kind(tensor) for tensor in constants(model, graph))
    for dtype in ("INT8", "UINT8", "INT4", "FLOAT16"):
        if kinds[dtype]:
            yield f"{kinds[dtype]} constants are {dtype.lower()}"


def _check_called(model: Any, graph: Any) -> Iterator[str]:
    """A graph that operators call prepares texts: whole numbers alone."""
    for operator in graph.operators:
        if any(kind(graph.tensors[i]) in FLOATS for i in (*operator.inputs, *operator.outputs) if i >= 0):
            yield f"{op_name(model, operator)} computes in float in a graph that is called"


def _check_stock(file: "TfliteFile") -> Iterator[str]:
    """A file that takes the bytes of a text is for runtimes without any custom operator; flex operators are such."""
    if not any(takes_bytes(info) for one in file.signatures.values() for info in one.inputs):
        return
    for code in file.model.operatorCodes:
        if builtin_code(code) == schema.BuiltinOperator.CUSTOM:
            yield f"{text(code.customCode)} is no builtin operator: a bytes-in file needs stock runtimes alone"


def _of_all_graphs(check: Callable[[Any, Any], Iterator[str]]) -> Check:
    def found(file: "TfliteFile") -> Iterator[str]:
        called = called_graphs(file.model)
        for number, graph in enumerate(file.model.subgraphs):
            yield from (_check_called if number in called else check)(file.model, graph)
        yield from _check_stock(file)

    return found


# Recipe -> its check.
AUDITS: dict[str, Check] = {
    "float32": _of_all_graphs(_check_float32),
    "fp16": _of_all_graphs(_check_fp16),
    "int4": _of_all_graphs(_check_int4),
    "int8-dynamic": _of_all_graphs(_check_dynamic),
    "int8": _of_all_graphs(_check_int8),
    "int8-full": _of_all_graphs(_check_int8_full),
}
