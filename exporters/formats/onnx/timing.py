"""An .onnx graph ready to be timed on ONNX Runtime, and copies of it at another sequence length."""

from collections.abc import Iterator

import numpy as np
import onnx

from exporters.formats import other_length
from exporters.formats.base import TimedRun
from exporters.formats.onnx.timed_graph import OnnxTimedGraph
from exporters.formats.other_length import Shape
from exporters.formats.runners import Feed


def start(content: bytes, feed: Feed) -> TimedRun:
    graph = OnnxTimedGraph(inputs=feed)
    graph.load(content)
    graph.feed(feed)
    return TimedRun(run=graph.run, shapes=graph.output_shapes())


def copies(content: bytes, *, own: int, length: int) -> Iterator[bytes]:
    def rewrite(table: dict[Shape, Shape]) -> bytes:
        model = onnx.load_from_string(content)
        model.graph.input[0].type.tensor_type.shape.dim[1].dim_value = length
        for constant, shape in list(_reshapes(model)):
            constant.CopyFrom(onnx.numpy_helper.from_array(np.array(table[shape], np.int64), constant.name))
        rewritten: bytes = model.SerializeToString()
        return rewritten

    shapes = [shape for _, shape in _reshapes(onnx.load_from_string(content))]
    return other_length.copies(shapes, rewrite, own=own, length=length)


def _reshapes(model: onnx.ModelProto) -> Iterator[tuple[onnx.TensorProto, Shape]]:
    """The constants of all reshapes."""
    names = {node.input[1] for node in model.graph.node if node.op_type == "Reshape"}
    for constant in model.graph.initializer:
        if constant.name in names:
            yield constant, tuple(onnx.numpy_helper.to_array(constant).tolist())
