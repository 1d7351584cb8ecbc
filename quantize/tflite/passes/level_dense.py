"""Pass: dense layers next to a float region get channels of like range, so that one int8 scale serves them all.

The columns of the weights take up what the input is divided by, the rows are divided by what the result is multiplied with
(why, and how the factors are chosen: `channel_factors.py`). Each needs one MUL in the float region, and nothing else.
Layers that read the same weights get the same factors, so that they still do. An input that another dense layer makes, as
ALBERT's first layer has it, comes out of that one with its factors.
Requires: a float graph with equal weights in one tensor (`share_weights.py`), the region of `tflite_regions.py`, ranges with
channels. Ensures: the same function in float; weights that several layers read are still one tensor; ranges of the new
tensors.
"""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from quantize.channel_factors import divided_range, input_factors, output_factors
from quantize.ranges import CalibrationRanges
from quantize.tflite.flatbuffer import Model, add_operator_code, buffer_bytes, is_constant, op_name, schema, tensor_name
from quantize.tflite.operators import BIAS, DENSE, WEIGHTED
from quantize.tflite.regions import float_region

_WEIGHTS = WEIGHTED[DENSE].position


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
        self._outputs = {int(i) for i in graph.outputs}
        self._alone: set[int] = set()  # dense layers whose weights nothing else reads
        self._front: dict[int, list[Any]] = {}
        self._behind: dict[int, Any] = {}
        self._found: dict[str, tuple[float, float]] = {}

    def run(self) -> CalibrationRanges:
        dense = [operator for operator in self._graph.operators if self._is_dense(operator)]
        uses: dict[int, list[Any]] = {}
        for operator in dense:
            uses.setdefault(int(operator.inputs[_WEIGHTS]), []).append(operator)
        # Weights that something else reads too stay as they are.
        groups = [layers for index, layers in uses.items() if len(layers) == len(self._readers[index])]
        self._alone = {id(layers[0]) for layers in groups if len(layers) == 1}
        order = {id(operator): position for position, operator in enumerate(dense)}
        for layers in _connected(groups):
            self._level_inputs(sorted(layers, key=lambda operator: order[id(operator)]))
        for layers in groups:
            if all(self._is_read_in_float(int(operator.outputs[0])) for operator in layers):
                self._level_outputs(layers)
        self._graph.operators = [
            made
            for operator in self._graph.operators
            for made in (*self._front.get(id(operator), ()), operator, self._behind.get(id(operator)))
            if made is not None
        ]
        return dataclasses.replace(self._ranges, ranges={**self._ranges.ranges, **self._found})

    def _is_dense(self, operator: Any) -> bool:
        if op_name(self._model, operator) != DENSE or operator.builtinOptions.fusedActivationFunction:
            return False
        return all(is_constant(self._model, self._graph.tensors[int(i)]) for i in operator.inputs[1:] if i >= 0)

    def _is_made_in_float(self, index: int) -> bool:
        return id(self._producers.get(index)) in self._float and self._name(index) in self._ranges.channels

    def _is_read_in_float(self, index: int, *, but: Sequence[Any] = ()) -> bool:
        """Whether all readers are in the float region, those in `but` aside."""
        own = {id(operator) for operator in but}
        readers = self._readers.get(index, [])
        return (
            bool(readers)
            and index not in self._outputs
            and all(id(reader) in self._float or id(reader) in own for reader in readers)
            and self._name(index) in self._ranges.channels
        )

    def _is_made_by_dense(self, index: int, layers: Sequence[Any]) -> bool:
        """Whether one dense layer makes it, with weights of its own, for these layers and the float region."""
        maker = self._producers.get(index)
        return (
            maker is not None
            and id(maker) in self._alone
            and not any(operator is maker for operator in layers)
            and self._is_read_in_float(index, but=layers)
        )

    def _level_inputs(self, layers: Sequence[Any]) -> None:
        """`layers` are all that share inputs or weights with each other."""
        sources = list(dict.fromkeys(int(operator.inputs[0]) for operator in layers))
        in_float = [index for index in sources if self._is_made_in_float(index)]
        # Without a region there is nothing to level for: an encoder without layer norms is in int8 throughout.
        others = [index for index in sources if index not in in_float]
        if not in_float or not all(self._is_made_by_dense(index, layers) for index in others):
            return
        old = dict.fromkeys(int(operator.inputs[_WEIGHTS]) for operator in layers)
        weights = {index: self._constant(index) for index in old}
        channels = {index: self._ranges.channels[self._name(index)] for index in sources}
        peaks = np.max([np.abs(values).max(0) for values in weights.values()], axis=0)
        factors = input_factors(list(channels.values()), peaks)
        new = {index: self._add_constant(values * factors) for index, values in weights.items()}
        inverse = self._add_constant(1 / factors)
        scaled = {index: self._add_tensor(index) for index in sources}
        for index in sources:
            self._found[self._name(scaled[index])] = divided_range(channels[index], factors)
        for index in in_float:
            first = next(operator for operator in layers if int(operator.inputs[0]) == index)
            self._front.setdefault(id(first), []).append(self._product(index, inverse, scaled[index]))
        for index in others:
            self._divide_result(self._producers[index], factors, scaled[index])
        for operator in layers:
            source, kernel, *rest = map(int, operator.inputs)
            operator.inputs = [scaled[source], new[kernel], *rest]

    def _level_outputs(self, layers: Sequence[Any]) -> None:
        """`layers` are all that read the same weights."""
        channels = [self._ranges.channels[self._name(int(operator.outputs[0]))] for operator in layers]
        factors = output_factors(channels)
        known: dict[int, int] = {}
        for operator, found in zip(layers, channels, strict=True):
            level = self._add_tensor(int(operator.outputs[0]))
            self._divide_result(operator, factors, level, known)
            self._found[self._name(level)] = divided_range(found, factors)

    def _divide_result(
        self, operator: Any, factors: np.ndarray, level: int, known: dict[int, int] | None = None
    ) -> None:
        """Divides weights and bias of a layer, which then makes `level`, and multiplies again behind it.

        `known`: constants that were divided before, and at -1 the factors.
        """
        known = {} if known is None else known
        index, inputs = int(operator.outputs[0]), [int(i) for i in operator.inputs]
        if -1 not in known:
            known[-1] = self._add_constant(factors)
        for position, shape in ((_WEIGHTS, (-1, 1)), (BIAS, (-1,))):
            if position < len(inputs) and inputs[position] >= 0:
                old = inputs[position]
                if old not in known:
                    known[old] = self._add_constant(self._constant(old) / factors.reshape(shape))
                inputs[position] = known[old]
        operator.inputs, operator.outputs = inputs, [level]
        self._behind[id(operator)] = self._product(level, known[-1], index)

    def _product(self, source: int, factors: int, target: int) -> Any:
        operator = schema.OperatorT()
        operator.opcodeIndex = add_operator_code(self._model, schema.BuiltinOperator.MUL, 1)
        operator.builtinOptionsType = schema.BuiltinOptions.MulOptions
        operator.builtinOptions = schema.MulOptionsT()
        operator.inputs, operator.outputs = [source, factors], [target]
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


def _connected(groups: Sequence[Sequence[Any]]) -> Iterator[list[Any]]:
    """Dense layers that one set of input factors must serve: those that read the same weights, or the same tensor."""
    left = [(list(group), {int(operator.inputs[0]) for operator in group}) for group in groups]
    while left:
        found, sources = left.pop(0)
        while more := [group for group in left if group[1] & sources]:
            left = [group for group in left if not group[1] & sources]
            for layers, read in more:
                found += layers
                sources |= read
        yield found
