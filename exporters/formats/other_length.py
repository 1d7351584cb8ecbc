"""Copies of a features-in graph for another sequence length, for measuring time.

Shapes in the files are static, and only the constants of reshapes name them: a runtime works out all others from the
input's. A constant does not say which of its axes is time, since channels or features may have the same size. So there
are several copies, the likeliest first; the right one is the first that runs and keeps the shape of the logits.
"""

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

# Two reshapes make four copies at most; a graph that needs more than this is given up.
_MOST = 64


def copies(content: bytes, *, target: str, own: int, length: int) -> Iterator[bytes]:
    """The graph with `length` in place of `own`, in every way that the constants allow."""
    if own == 1:
        raise ValueError("a time axis of size 1 cannot be told from the other axes of size 1")
    load = _tflite if target == "tflite" else _onnx
    shapes, rewrite = load(content, length)
    choices = [_choices(shape, own, length) for shape in shapes]
    for chosen in itertools.islice(itertools.product(*choices), _MOST):
        yield rewrite(dict(zip(shapes, chosen, strict=True)))


Shape = tuple[int, ...]
Rewrite = Callable[[dict[Shape, Shape]], bytes]


def _choices(shape: Shape, own: int, length: int) -> list[Shape]:
    """What the shape may become: [..., time, channel] is the likeliest; in one of rank 2 time is mostly gone."""
    likely = len(shape) - 2
    axes = sorted((axis for axis, size in enumerate(shape) if size == own), key=lambda axis: (axis != likely, axis))
    changed = [(*shape[:axis], length, *shape[axis + 1 :]) for axis in axes]
    return [*changed, shape] if len(shape) > 2 else [shape, *changed]


def _tflite(content: bytes, _length: int) -> tuple[list[Shape], Rewrite]:
    from quantize.tflite.flatbuffer import buffer_bytes, op_name, read_model, schema, write_model

    def reshapes(model: Any) -> Iterator[tuple[Any, Any, Shape]]:
        graph = model.subgraphs[0]
        for operator in graph.operators:
            if op_name(model, operator) == "RESHAPE":
                tensor = graph.tensors[operator.inputs[1]]
                data = buffer_bytes(model, tensor)
                if data is not None:
                    yield operator, tensor, tuple(np.frombuffer(data, np.int32).tolist())

    def rewrite(table: dict[Shape, Shape]) -> bytes:
        model = read_model(content)
        for operator, tensor, shape in list(reshapes(model)):
            buffer = schema.BufferT()
            buffer.data = np.frombuffer(np.array(table[shape], np.int32).tobytes(), np.uint8)
            model.buffers = [*model.buffers, buffer]
            tensor.buffer = len(model.buffers) - 1
            operator.builtinOptions, operator.builtinOptionsType = None, 0  # may repeat the old shape
        return write_model(model)

    return list(dict.fromkeys(shape for _, _, shape in reshapes(read_model(content)))), rewrite


def _onnx(content: bytes, length: int) -> tuple[list[Shape], Rewrite]:
    import onnx

    def reshapes(model: Any) -> Iterator[tuple[Any, Shape]]:
        names = {node.input[1] for node in model.graph.node if node.op_type == "Reshape"}
        for constant in model.graph.initializer:
            if constant.name in names:
                yield constant, tuple(onnx.numpy_helper.to_array(constant).tolist())

    def rewrite(table: dict[Shape, Shape]) -> bytes:
        model = onnx.load_from_string(content)
        model.graph.input[0].type.tensor_type.shape.dim[1].dim_value = length
        for constant, shape in list(reshapes(model)):
            constant.CopyFrom(onnx.numpy_helper.from_array(np.array(table[shape], np.int64), constant.name))
        return model.SerializeToString()

    return list(dict.fromkeys(shape for _, shape in reshapes(onnx.load_from_string(content)))), rewrite
