"""Pass: dense layers next to a float region get channels of similar range, so that one int8 scale serves them all.

The columns of the weights take up what the input is divided by, the rows are divided by what the result is multiplied
with (why, and how the factors are chosen: `channel_factors.py`). Each needs one MUL in the float region, and nothing
else. Layers that read the same weights get the same factors, so that they still do. An input that another dense layer
makes, as ALBERT's first layer has it, comes out of that one with its factors.

Requires a float graph with equal weights in one tensor (`share_weights.py`) and ranges with channels. The function in
float stays the same, weights that several layers read are still one tensor, and the new tensors have ranges.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np

from quantize.arrays import Array
from quantize.channel_factors import connected, divided_range, input_factors, output_factors
from quantize.ranges import CalibrationRanges
from quantize.rewrite import rewrite
from quantize.tflite.conditions import in_float, in_order
from quantize.tflite.graph import (
    Model,
    Operator,
    add_constant,
    add_tensor,
    float_values,
    is_constant,
    new_product,
    op_name,
    producers,
    readers,
    schema,
    tensor_name,
)
from quantize.tflite.operators import BIAS, DENSE, WEIGHTED
from quantize.tflite.regions import float_region

_WEIGHTS = WEIGHTED[DENSE].position


@rewrite(requires=(in_float,), ensures=(in_float, in_order))
def level_dense(model: Model, ranges: CalibrationRanges) -> CalibrationRanges:
    """Edits the first subgraph in place; returns the ranges, with those of the new tensors added."""
    return _Leveler(model, ranges).run()


class _Leveler:
    """One run over a graph: who makes and who reads a tensor, and the operators that are put in."""

    def __init__(self, model: Model, ranges: CalibrationRanges) -> None:
        graph = model.subgraphs[0]
        self._model, self._graph, self._ranges = model, graph, ranges
        self._float = {id(graph.operators[position]) for position in float_region(model, graph)}
        self._producers, self._readers = producers(graph), readers(graph)
        self._alone: set[int] = set()  # dense layers whose weights nothing else reads
        self._front: dict[int, list[Operator]] = {}
        self._behind: dict[int, Operator] = {}
        self._found: dict[str, tuple[float, float]] = {}

    def run(self) -> CalibrationRanges:
        dense = [operator for operator in self._graph.operators if self._is_dense(operator)]
        uses: dict[int, list[Operator]] = {}
        for operator in dense:
            uses.setdefault(operator.inputs[_WEIGHTS], []).append(operator)
        # Weights that something else reads too stay as they are.
        groups = [layers for index, layers in uses.items() if len(layers) == len(self._readers[index])]
        self._alone = {id(layers[0]) for layers in groups if len(layers) == 1}
        order = {id(operator): position for position, operator in enumerate(dense)}
        for layers in connected(groups, lambda operator: operator.inputs[0]):
            self._level_inputs(sorted(layers, key=lambda operator: order[id(operator)]))
        for layers in groups:
            if all(self._is_read_in_float(operator.outputs[0]) for operator in layers):
                self._level_outputs(layers)
        self._graph.operators = [
            made
            for operator in self._graph.operators
            for made in (*self._front.get(id(operator), ()), operator, self._behind.get(id(operator)))
            if made is not None
        ]
        return dataclasses.replace(self._ranges, ranges={**self._ranges.ranges, **self._found})

    def _is_dense(self, operator: Operator) -> bool:
        if op_name(self._model, operator) != DENSE or operator.builtinOptions.fusedActivationFunction:
            return False
        return all(is_constant(self._model, self._graph.tensors[i]) for i in operator.inputs[1:] if i >= 0)

    def _is_made_in_float(self, index: int) -> bool:
        return id(self._producers.get(index)) in self._float and self._name(index) in self._ranges.channels

    def _is_read_in_float(self, index: int, *, but: Sequence[Operator] = ()) -> bool:
        """Whether all readers are in the float region, those in `but` aside."""
        own = {id(operator) for operator in but}
        readers = self._readers.get(index, [])
        return (
            bool(readers)
            and index not in self._graph.outputs
            and all(id(reader) in self._float or id(reader) in own for reader in readers)
            and self._name(index) in self._ranges.channels
        )

    def _is_made_by_dense(self, index: int, layers: Sequence[Operator]) -> bool:
        """Whether one dense layer makes it, with weights of its own, for these layers and the float region."""
        maker = self._producers.get(index)
        return (
            maker is not None
            and id(maker) in self._alone
            and not any(operator is maker for operator in layers)
            and self._is_read_in_float(index, but=layers)
        )

    def _level_inputs(self, layers: Sequence[Operator]) -> None:
        """`layers` are all that share inputs or weights with each other."""
        sources = list(dict.fromkeys(operator.inputs[0] for operator in layers))
        in_float = [index for index in sources if self._is_made_in_float(index)]
        # Without a region there is nothing to level for: an encoder without layer norms is in int8 throughout.
        others = [index for index in sources if index not in in_float]
        if not in_float or not all(self._is_made_by_dense(index, layers) for index in others):
            return
        old = dict.fromkeys(operator.inputs[_WEIGHTS] for operator in layers)
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
            first = next(operator for operator in layers if operator.inputs[0] == index)
            self._front.setdefault(id(first), []).append(new_product(self._model, index, inverse, scaled[index]))
        for index in others:
            self._divide_result(self._producers[index], factors, scaled[index])
        for operator in layers:
            source, kernel, *rest = operator.inputs
            operator.inputs = [scaled[source], new[kernel], *rest]

    def _level_outputs(self, layers: Sequence[Operator]) -> None:
        """`layers` are all that read the same weights."""
        channels = [self._ranges.channels[self._name(operator.outputs[0])] for operator in layers]
        factors = output_factors(channels)
        known: dict[int, int] = {}
        for operator, found in zip(layers, channels, strict=True):
            level = self._add_tensor(operator.outputs[0])
            self._divide_result(operator, factors, level, known)
            self._found[self._name(level)] = divided_range(found, factors)

    def _divide_result(
        self, operator: Operator, factors: Array, level: int, known: dict[int, int] | None = None
    ) -> None:
        """Divides weights and bias of a layer, which then makes `level`, and multiplies again behind it.

        `known`: constants that were divided before, and at -1 the factors.
        """
        known = {} if known is None else known
        index, inputs = operator.outputs[0], list(operator.inputs)
        if -1 not in known:
            known[-1] = self._add_constant(factors)
        for position, shape in ((_WEIGHTS, (-1, 1)), (BIAS, (-1,))):
            if position < len(inputs) and inputs[position] >= 0:
                old = inputs[position]
                if old not in known:
                    known[old] = self._add_constant(self._constant(old) / factors.reshape(shape))
                inputs[position] = known[old]
        operator.inputs, operator.outputs = inputs, [level]
        self._behind[id(operator)] = new_product(self._model, level, known[-1], index)

    def _name(self, index: int) -> str:
        return tensor_name(self._graph.tensors[index])

    def _constant(self, index: int) -> Array:
        return float_values(self._model, self._graph.tensors[index]).astype(np.float64)

    # Names tell tensors apart in the ranges, so each new one gets a name of its own.
    def _add_tensor(self, like: int) -> int:
        name = f"level:{len(self._graph.tensors)}"
        return add_tensor(self._graph, self._graph.tensors[like], schema.TensorType.FLOAT32, name)

    def _add_constant(self, values: Array) -> int:
        return add_constant(self._model, self._graph, values, f"level:{len(self._graph.tensors)}")
