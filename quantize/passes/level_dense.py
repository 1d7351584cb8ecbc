"""Pass: dense layers next to a float region get channels of like range, so that one int8 scale serves them all.

The columns of the weights take up what the input is divided by, the rows are divided by what the result is multiplied with
(why, and how the factors are chosen: `channel_factors.py`). Each needs one MUL in the float region, and nothing else.
Requires: a float graph, the region of `tflite_regions.py`, ranges with channels. Ensures: the same function in float;
ranges of the new tensors.
"""

import dataclasses
from typing import Any

import numpy as np

from quantize.calibration import CalibrationRanges
from quantize.channel_factors import divided_range, input_factors, output_factors
from quantize.flatbuffer import Model, add_operator_code, buffer_bytes, is_constant, op_name, schema, tensor_name
from quantize.tflite_regions import float_region

_DENSE = "FULLY_CONNECTED"
_BIAS = 2


def level_dense(model: Model, ranges: CalibrationRanges) -> CalibrationRanges:
    """Edits the first subgraph in place; the ranges with those of the tensors that it gained."""
    graph = model.subgraphs[0]
    return _Leveler(model, graph, ranges).run()


class _Leveler:
    """One run over a graph: who makes and who reads a tensor, and the operators that are put in."""

    def __init__(self, model: Model, graph: Any, ranges: CalibrationRanges) -> None:
        self._model, self._graph, self._ranges = model, graph, ranges
        self._float = {id(graph.operators[position]) for position in float_region(model, graph)}
        self._producers = {int(i): operator for operator in graph.operators for i in operator.outputs}
        self._readers: dict[int, list[Any]] = {}
        for operator in graph.operators:
            for index in operator.inputs:
                self._readers.setdefault(int(index), []).append(operator)
        self._front: dict[int, Any] = {}
        self._behind: dict[int, Any] = {}
        self._found: dict[str, tuple[float, float]] = {}

    def run(self) -> CalibrationRanges:
        dense = [operator for operator in self._graph.operators if self._is_dense(operator)]
        for index in dict.fromkeys(int(operator.inputs[0]) for operator in dense):
            if self._is_made_in_float(index):
                self._level_input(index, [operator for operator in dense if int(operator.inputs[0]) == index])
        for operator in dense:
            if self._is_read_in_float(int(operator.outputs[0])):
                self._level_output(operator)
        self._graph.operators = [
            made
            for operator in self._graph.operators
            for made in (self._front.get(id(operator)), operator, self._behind.get(id(operator)))
            if made is not None
        ]
        return dataclasses.replace(self._ranges, ranges={**self._ranges.ranges, **self._found})

    def _is_dense(self, operator: Any) -> bool:
        constants = [int(i) for i in operator.inputs[1:] if i >= 0]
        return (
            op_name(self._model, operator) == _DENSE
            and all(is_constant(self._model, self._graph.tensors[i]) for i in constants)
            and not operator.builtinOptions.fusedActivationFunction
        )

    def _is_made_in_float(self, index: int) -> bool:
        return id(self._producers.get(index)) in self._float and self._name(index) in self._ranges.channels

    def _is_read_in_float(self, index: int) -> bool:
        outputs = {int(i) for i in self._graph.outputs}
        readers = self._readers.get(index, [])
        return (
            bool(readers)
            and index not in outputs
            and all(id(reader) in self._float for reader in readers)
            and self._name(index) in self._ranges.channels
        )

    def _level_input(self, index: int, readers: list[Any]) -> None:
        channels = self._ranges.channels[self._name(index)]
        weights = [self._constant(int(reader.inputs[1])) for reader in readers]
        factors = input_factors(channels, np.max([np.abs(values).max(0) for values in weights], axis=0))
        scaled = self._add_tensor(index)
        self._front[id(readers[0])] = self._product(index, 1 / factors, scaled)
        self._found[self._name(scaled)] = divided_range(channels, factors)
        for reader, values in zip(readers, weights, strict=True):
            reader.inputs = [scaled, self._add_constant(values * factors), *map(int, reader.inputs[2:])]

    def _level_output(self, operator: Any) -> None:
        index = int(operator.outputs[0])
        channels = self._ranges.channels[self._name(index)]
        factors = output_factors(channels)
        inputs = [int(i) for i in operator.inputs]
        inputs[1] = self._add_constant(self._constant(inputs[1]) / factors[:, None])
        if len(inputs) > _BIAS and inputs[_BIAS] >= 0:
            inputs[_BIAS] = self._add_constant(self._constant(inputs[_BIAS]) / factors)
        level = self._add_tensor(index)
        operator.inputs, operator.outputs = inputs, [level]
        self._behind[id(operator)] = self._product(level, factors, index)
        self._found[self._name(level)] = divided_range(channels, factors)

    def _product(self, source: int, factors: np.ndarray, target: int) -> Any:
        operator = schema.OperatorT()
        operator.opcodeIndex = add_operator_code(self._model, schema.BuiltinOperator.MUL, 1)
        operator.builtinOptionsType = schema.BuiltinOptions.MulOptions
        operator.builtinOptions = schema.MulOptionsT()
        operator.inputs, operator.outputs = [source, self._add_constant(factors)], [target]
        return operator

    def _name(self, index: int) -> str:
        return tensor_name(self._graph.tensors[index])

    def _constant(self, index: int) -> np.ndarray:
        tensor = self._graph.tensors[index]
        data = buffer_bytes(self._model, tensor) or b""
        return np.frombuffer(data, np.float32).reshape([int(size) for size in tensor.shape]).astype(np.float64)

    def _add_tensor(self, like: int) -> int:
        """A new activation; names tell tensors apart in the ranges, so each gets one of its own."""
        tensor = schema.TensorT()
        tensor.shape, tensor.type, tensor.buffer = self._graph.tensors[like].shape, schema.TensorType.FLOAT32, 0
        tensor.name = f"level:{len(self._graph.tensors)}"
        self._graph.tensors.append(tensor)
        return len(self._graph.tensors) - 1

    def _add_constant(self, values: np.ndarray) -> int:
        buffer, tensor = schema.BufferT(), schema.TensorT()
        buffer.data = np.frombuffer(values.astype(np.float32).tobytes(), np.uint8)
        self._model.buffers.append(buffer)
        tensor.shape, tensor.type = np.array(values.shape, np.int32), schema.TensorType.FLOAT32
        tensor.buffer, tensor.name = len(self._model.buffers) - 1, f"level:{len(self._graph.tensors)}"
        self._graph.tensors.append(tensor)
        return len(self._graph.tensors) - 1
