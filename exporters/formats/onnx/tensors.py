"""Questions about the tensors of an ONNX graph: types, what makes and reads them, and which constants are weights."""

import contextlib
import functools
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx

from exporters.formats.model_file import MIN_WEIGHT_ELEMENTS
from quantize.onnx.graph import without_weights
from quantize.onnx.operators import DYNAMIC, LINEAR, LOOKUP, SCALE_KEEPING

_LARGE_BYTES = 64_000_000
FLOATS = (onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16, onnx.TensorProto.DOUBLE)


def _value_types(model: onnx.ModelProto) -> list[tuple[str, int]]:
    """Names and types of inputs, outputs and, where they can be inferred, the tensors between them."""
    graph = model.graph
    if not model.functions:  # inference would never end on a function that calls itself
        with contextlib.suppress(onnx.shape_inference.InferenceError, ValueError):
            graph = onnx.shape_inference.infer_shapes(_small(model)).graph
    values = (*model.graph.input, *graph.output, *graph.value_info)
    return [(value.name, value.type.tensor_type.elem_type) for value in values]


def _small(model: onnx.ModelProto) -> onnx.ModelProto:
    """Inference makes four copies of what it is given: of a large model without the weights, which it does not read."""
    if model.ByteSize() < _LARGE_BYTES:
        return model
    small = without_weights(model)
    small.graph.value_info.extend(model.graph.value_info)
    return small


class OnnxGraph:
    """The nodes of a model, what makes and reads each tensor, and the types of all tensors that can be inferred."""

    def __init__(self, model: onnx.ModelProto) -> None:
        graph = model.graph
        self.nodes = list(graph.node)
        self.inputs = {value.name: value.type.tensor_type.elem_type for value in graph.input}
        self.outputs = {value.name for value in graph.output}
        self.constants = {item.name: onnx.numpy_helper.to_array(item) for item in graph.initializer}
        self.producers = {name: node for node in self.nodes for name in node.output}
        self.readers: dict[str, list[Any]] = {}
        for node in self.nodes:
            for name in dict.fromkeys(node.input):
                self.readers.setdefault(name, []).append(node)
        values = [*_value_types(model), *((item.name, item.data_type) for item in graph.initializer)]
        self.kinds = dict(values)
        names = (onnx.TensorProto.DataType.Name(kind).lower() for _, kind in values if kind)
        self.dtypes = dict(Counter(names).most_common())

    def is_float(self, name: str) -> bool:
        """Whether the tensor is float; an unknown type counts as float."""
        return bool(name) and self.kinds.get(name, onnx.TensorProto.FLOAT) in FLOATS

    def origin(self, name: str) -> Any:
        """The operator that computed the values of the tensor, before any moves; None for inputs and constants."""
        node = self.producers.get(name)
        while node is not None and node.op_type in SCALE_KEEPING:
            node = self.producers.get(node.input[0])
        return node

    def destinations(self, name: str) -> Iterator[Any]:
        """The operators that compute with the tensor's values, after any moves; None for an output of the model."""
        waiting, seen = [name], {name}
        while waiting:
            name = waiting.pop()
            if name in self.outputs:
                yield None
            for node in self.readers.get(name, ()):
                if node.op_type not in SCALE_KEEPING:
                    yield node
                    continue
                waiting += [moved for moved in node.output if moved not in seen]
                seen.update(node.output)

    def tables(self) -> Iterator[np.ndarray]:
        """Constants that are looked up: embeddings."""
        for node in self.nodes:
            values = self.constants.get(node.input[0]) if node.op_type == LOOKUP else None
            # A table of whole numbers (an order of tokens) stays as it is: there is nothing to round.
            if values is not None and values.size >= MIN_WEIGHT_ELEMENTS and values.dtype not in (np.int32, np.int64):
                yield values

    @functools.cached_property
    def weights(self) -> dict[str, np.ndarray]:
        """Constants that stand for numbers of the model; not those of operators on whole numbers."""
        others = {name for node in self.nodes if not self._is_whole(node) for name in node.input} | self.packed
        return {name: values for name, values in self.constants.items() if name in others}

    def _is_whole(self, node: Any) -> bool:
        """Whether an operator computes in whole numbers, which no scale turns into others."""
        numbers = (*LINEAR, *DYNAMIC)
        read = (reader for name in node.output for reader in self.destinations(name) if reader is not None)
        return (
            node.op_type not in numbers
            and not any(self.is_float(name) for name in (*node.input, *node.output))
            and not (node.op_type == LOOKUP and any(reader.op_type in numbers for reader in read))
        )

    @functools.cached_property
    def packed(self) -> set[str]:
        """Constants with two numbers of 4 bits in a byte, which are taken apart, some behind a look-up."""
        found = set[str]()
        for node in self.nodes:
            if node.op_type != "BitShift" or self.constants.get(node.input[1], np.zeros(())).tolist() != 4:
                continue
            maker = self.producers.get(node.input[0])
            name = maker.input[0] if maker is not None and maker.op_type == LOOKUP else node.input[0]
            if name in self.constants and self.constants[name].dtype == np.uint8:
                found.add(name)
        return found

    @functools.cached_property
    def fixed(self) -> set[str]:
        """Constants, and what is computed from nothing else: a runtime does that once."""
        found = set(self.constants)
        for node in self.nodes:
            if node.input and all(name in found for name in node.input if name):
                found.update(node.output)
        return found

    def parameters(self) -> dict[str, np.ndarray]:
        """Constants other than scales and zero points."""
        side = {name for node in self.nodes if node.op_type in LINEAR for name in node.input[1:]}
        return {name: values for name, values in self.constants.items() if name not in side}
