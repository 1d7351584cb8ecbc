"""Calibration of a float ONNX model: runs it over example rows and records the range of every activation.

The reductions are operators of the graph, so that only single numbers, or one for each channel, leave the runtime and
it can free each activation after use: the activations of one row of a large model fill hundreds of megabytes.
"""

import dataclasses
from collections.abc import Iterator, Mapping

import numpy as np
import onnx

from quantize.arrays import Array
from quantize.onnx.graph import add_constant, copied, without_weights
from quantize.onnx.operators import DENSE, REARRANGES
from quantize.onnx.session import make_session
from quantize.ranges import CalibrationRanges, RangeCollector, Rows

# What is asked of each tensor. ReduceMin and ReduceMax of ONNX Runtime lose a NaN, a sum keeps it.
_LOW, _HIGH, _SUM = "low", "high", "sum"
# And of what dense layers read, for each channel.
_LOWS, _HIGHS = "lows", "highs"


def calibrate(float_model: onnx.ModelProto, rows: Rows, *, threads: int = 1) -> CalibrationRanges:
    """Ranges of all float activations over the rows, each a mapping of input names to arrays."""
    collector = RangeCollector()
    for row in _run(float_model, rows, threads):
        collector.row_count += 1
        for name, found in row.items():
            if _LOWS in found:
                collector.add_channels(name, np.stack((found[_LOWS], found[_HIGHS])))
            if _SUM in found:
                # NaN and infinity stay in the sum, and a range with them is refused.
                bad = 0.0 if np.isfinite(found[_SUM]) else np.nan
                collector.add(name, float(found[_LOW]) + bad, float(found[_HIGH]) + bad)
    measured = collector.result()
    ranges = dict(measured.ranges)
    for node in float_model.graph.node:
        if node.op_type in REARRANGES and node.input[0] in ranges and node.output[0] not in ranges:
            ranges[node.output[0]] = ranges[node.input[0]]
    return dataclasses.replace(measured, ranges=ranges)


def _run(float_model: onnx.ModelProto, rows: Rows, threads: int) -> Iterator[Mapping[str, Mapping[str, Array]]]:
    import onnxruntime

    model, questions = _with_reductions(float_model)
    # Fused operators would leave the tensors between them out; all are asked for, so this is just faster.
    level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = make_session(
        model.SerializeToString(), threads=threads, graph_optimization_level=level, log_severity_level=4
    )
    del model
    expected = {value.name for value in session.get_inputs()}
    asked = list(questions)
    for row in rows:
        if set(row) != expected:
            raise ValueError(
                f"A calibration row holds {', '.join(sorted(expected))}. Received: {', '.join(sorted(row))}."
            )
        answers: dict[str, dict[str, Array]] = {}
        for output, value in zip(asked, session.run(asked, dict(row)), strict=True):
            name, question = questions[output]
            answers.setdefault(name, {})[question] = value
        yield answers


def _with_reductions(float_model: onnx.ModelProto) -> tuple[onnx.ModelProto, dict[str, tuple[str, str]]]:
    """A copy that answers with numbers, and which number each output is: (tensor, question)."""
    model = copied(float_model)
    graph = model.graph
    inferred = onnx.shape_inference.infer_shapes(without_weights(model)).graph
    types = {v.name: v.type.tensor_type for v in (*inferred.value_info, *inferred.output)}
    kinds = {name: kind.elem_type for name, kind in types.items()}
    names: list[str] = []
    known: set[str] = set()
    for node in graph.node:
        if node.op_type == "Constant":
            continue
        for name in node.output:
            if kinds.get(name) == onnx.TensorProto.FLOAT:
                known.add(name)
                if node.op_type not in REARRANGES or node.input[0] not in known:
                    names.append(name)
    questions: dict[str, tuple[str, str]] = {}
    nodes: list[onnx.NodeProto] = []
    listed: dict[tuple[int, ...], str] = {}

    def reduce(op_type: str, name: str, output: str, axes: tuple[int, ...]) -> None:
        if axes and axes not in listed:
            listed[axes] = add_constant(graph, f"axes:{len(listed)}", np.array(axes, np.int64))
        inputs = [name, listed[axes]] if axes else [name]
        nodes.append(onnx.helper.make_node(op_type, inputs, [output], keepdims=0))

    def ask(name: str, question: str, op_type: str, axes: tuple[int, ...] = ()) -> None:
        """Reduces over all axes where none are named."""
        output = f"range:{len(questions)}"
        questions[output] = (name, question)
        reduce(op_type, name, output, axes)

    for name in names:
        ask(name, _LOW, "ReduceMin")
        ask(name, _HIGH, "ReduceMax")
        ask(name, _SUM, "ReduceSum")
    constants = {item.name for item in graph.initializer}
    dense = [node for node in graph.node if node.op_type in DENSE and node.input[1] in constants]
    for name in dict.fromkeys(node.input[0] for node in dense if node.input[0] in known):
        axes = tuple(range(len(types[name].shape.dim) - 1))
        if axes:
            ask(name, _LOWS, "ReduceMin", axes=axes)
            ask(name, _HIGHS, "ReduceMax", axes=axes)
    graph.node.extend(nodes)
    del graph.output[:]
    graph.output.extend(onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in questions)
    return model, questions
