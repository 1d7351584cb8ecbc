"""Pass: each constant has a buffer of its own.

A converter stores equal bytes once, and weights of different shapes are equal where all are zero. A quantizer takes
tensors of one buffer for one and the same, and gives them the scales of the first: too many or too few for the others,
which a runtime refuses. No value changes; `compact` stores equal bytes once again.
"""

from collections.abc import Iterator

import numpy as np

from quantize.rewrite import rewrite
from quantize.tflite.graph import Model, add_buffer, is_constant


def no_shared_buffers(model: Model) -> Iterator[str]:
    found = [t.buffer for graph in model.subgraphs for t in graph.tensors if is_constant(model, t)]
    if len(set(found)) < len(found):
        yield "tensors share a buffer."


@rewrite(ensures=(no_shared_buffers,))
def own_buffers(model: Model) -> None:
    """Edits the model in place."""
    taken: set[int] = set()
    for graph in model.subgraphs:
        for tensor in graph.tensors:
            data = model.buffers[tensor.buffer].data
            if data is None or not is_constant(model, tensor):
                continue
            if tensor.buffer in taken:
                tensor.buffer = add_buffer(model, np.asarray(data, np.uint8))
            taken.add(tensor.buffer)
