"""Calibration of a float TFLite model: runs it over example rows and records the range of every activation."""

import dataclasses
import warnings
from collections.abc import Callable, Iterator
from typing import Protocol

import numpy as np

from quantize.arrays import Array
from quantize.ranges import CalibrationRanges, RangeCollector, Rows
from quantize.tflite.flatbuffer import read_model, write_model
from quantize.tflite.graph import Graph, Model, is_constant, op_name, schema, tensor_name
from quantize.tflite.operators import DENSE, REARRANGES, SPLITS

# Files from this size on are run by XNNPACK, which is several times faster; smaller ones are quick anyway, and stay
# independent of its rounding.
DELEGATE_BYTES = 4_000_000


class _Interpreter(Protocol):
    """What is used of LiteRT's."""

    def tensor(self, tensor_index: int) -> Callable[[], Array]: ...


def calibrate(float_model: bytes, rows: Rows, *, threads: int = 1, delegate: bool | None = None) -> CalibrationRanges:
    """Ranges of all float activations of the first subgraph over the rows.

    A row maps the names of the signature's inputs to arrays (never by position: swapped inputs give ranges that
    look right and are not). `delegate` runs the model with XNNPACK; None decides by the size of the file.
    """
    if delegate is None:
        delegate = len(float_model) >= DELEGATE_BYTES
    model = read_model(float_model)
    graph = model.subgraphs[0]
    names = _activation_names(model, graph)
    peaks_of = {o.inputs[0] for o in graph.operators if op_name(model, o) == "SOFTMAX"}
    channels_of = _dense_tensors(model, graph) & set(names)
    sources = _sources(model, graph, measured=peaks_of | channels_of)
    measured = [index for index in names if sources.get(index, index) == index]
    if delegate:
        # A delegate computes whole stretches of the graph on its own and sets the tensors inside only if they are
        # outputs: without this we would read uninitialized memory.
        graph.outputs = list(dict.fromkeys([*graph.outputs, *measured]))
        float_model = write_model(model)
    collector = RangeCollector()
    for interpreter in _run(float_model, rows, threads, delegate=delegate):
        collector.row_count += 1
        for index in measured:
            values = interpreter.tensor(index)()  # a view: nothing is copied, nothing may be kept
            peak = float(values.max(axis=-1).min()) if index in peaks_of else None
            collector.add(names[index], float(values.min()), float(values.max()), peak)
            if index in channels_of:
                collector.add_channels(names[index], values)
            del values
    found = collector.result()
    return dataclasses.replace(
        found, ranges={name: found.ranges[names[sources.get(index, index)]] for index, name in names.items()}
    )


def _activation_names(model: Model, graph: Graph) -> dict[int, str]:
    """Index and name of every float tensor that is computed at run time."""
    return {
        index: tensor_name(tensor)
        for index, tensor in enumerate(graph.tensors)
        if tensor.type == schema.TensorType.FLOAT32 and not is_constant(model, tensor)
    }


def _dense_tensors(model: Model, graph: Graph) -> set[int]:
    """What dense layers read and make, and the parts that it is split into."""
    found: set[int] = set()
    for operator in graph.operators:
        name = op_name(model, operator)
        if name == DENSE:
            found |= {operator.inputs[0], operator.outputs[0]}
        elif name in SPLITS and found.intersection(operator.inputs):
            found.update(operator.outputs)
    return found


def _sources(model: Model, graph: Graph, *, measured: set[int]) -> dict[int, int]:
    """For tensors that hold the values of another one in another shape: that one. `measured` stand for themselves."""
    sources: dict[int, int] = {}
    for operator in graph.operators:
        source, target = operator.inputs[0], operator.outputs[0]
        moves = op_name(model, operator) in REARRANGES
        if moves and target not in measured and not is_constant(model, graph.tensors[source]):
            sources[target] = sources.get(source, source)
    return sources


def _run(float_model: bytes, rows: Rows, threads: int, *, delegate: bool) -> Iterator[_Interpreter]:
    """The interpreter after each row."""
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    resolver = OpResolverType.AUTO if delegate else OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # "preserve_all_tensors is for debugging": that is the point
        interpreter = Interpreter(
            model_content=float_model,
            num_threads=threads,
            experimental_op_resolver_type=resolver,
            experimental_preserve_all_tensors=not delegate,
        )
    interpreter.allocate_tensors()
    signature = interpreter.get_signature_runner()
    expected = {name: detail["dtype"] for name, detail in signature.get_input_details().items()}
    for row in rows:
        if set(row) != set(expected):
            raise ValueError(
                f"A calibration row holds {', '.join(sorted(expected))}. Received: {', '.join(sorted(row))}."
            )
        for name, array in row.items():
            if np.asarray(array).dtype != expected[name]:
                raise ValueError(
                    f"Calibration input {name!r} must be {np.dtype(expected[name]).name}. "
                    f"Received: {np.asarray(array).dtype.name}."
                )
        signature(**row)
        yield interpreter
