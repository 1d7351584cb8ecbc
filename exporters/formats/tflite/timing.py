"""A .tflite graph ready to be timed on LiteRT, and copies of it at another sequence length."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from exporters.formats import other_length
from exporters.formats.base import TimedRun
from exporters.formats.other_length import Shape
from exporters.formats.runners import Feed
from exporters.formats.tflite.timed_graph import TfliteTimedGraph
from quantize.tflite.flatbuffer import read_model, write_model
from quantize.tflite.graph import buffer_bytes, op_name, schema


def start(content: bytes, feed: Feed) -> TimedRun:
    graph = TfliteTimedGraph(inputs=feed)
    graph.load(content)
    graph.feed(feed)
    graph.run()
    return TimedRun(run=graph.run, shapes=graph.output_shapes())


def copies(content: bytes, *, own: int, length: int) -> Iterator[bytes]:
    def rewrite(table: dict[Shape, Shape]) -> bytes:
        model = read_model(content)
        for operator, tensor, shape in list(_reshapes(model)):
            buffer = schema.BufferT()
            buffer.data = np.frombuffer(np.array(table[shape], np.int32).tobytes(), np.uint8)
            model.buffers = [*model.buffers, buffer]
            tensor.buffer = len(model.buffers) - 1
            operator.builtinOptions, operator.builtinOptionsType = None, 0  # may repeat the old shape
        return write_model(model)

    shapes = [shape for _, _, shape in _reshapes(read_model(content))]
    return other_length.copies(shapes, rewrite, own=own, length=length)


def _reshapes(model: Any) -> Iterator[tuple[Any, Any, Shape]]:
    """Each reshape with the tensor that holds its constant."""
    graph = model.subgraphs[0]
    for operator in graph.operators:
        if op_name(model, operator) == "RESHAPE":
            tensor = graph.tensors[operator.inputs[1]]
            data = buffer_bytes(model, tensor)
            if data is not None:
                yield operator, tensor, tuple(np.frombuffer(data, np.int32).tolist())
