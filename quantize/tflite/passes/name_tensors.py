"""Pass: every tensor gets a short name of its own: `fc12` for what the twelfth dense layer makes, `w12` for weights.

Some runtimes (OpenVINO) refuse files whose tensors have no names, and tools show them. Those of a converter are long
and say where an operator came from, not what it is. The letters are those of the operator, the number counts operators
of that kind; constants are `w` (weights), `b` (biases) and `c` (all others), counted each. Inputs and outputs keep
their names. `strip_names` takes the others away again.
"""

from collections import Counter
from collections.abc import Iterator

from quantize.rewrite import rewrite
from quantize.tflite.graph import Graph, Model, is_constant, op_name, tensor_name
from quantize.tflite.operators import BIAS, DENSE, PRODUCT, WEIGHTED

# Three letters of its name stand for any other operator.
_LETTERS = {DENSE: "fc", PRODUCT: "mm"}


def names_are_unique(model: Model) -> Iterator[str]:
    for number, graph in enumerate(model.subgraphs):
        counts = Counter(tensor_name(tensor) for tensor in graph.tensors)
        for name, count in counts.items():
            if not name or count > 1:
                yield f"graph {number} has {count} tensors called {name!r}."


@rewrite(ensures=(names_are_unique,))
def name_tensors(model: Model) -> None:
    """Edits every subgraph in place."""
    for graph in model.subgraphs:
        _name(model, graph)


def strip_names(model: Model) -> None:
    """Edits every subgraph in place: only inputs and outputs keep their names."""
    for graph in model.subgraphs:
        outer = {*graph.inputs, *graph.outputs}
        for index, tensor in enumerate(graph.tensors):
            if index not in outer:
                tensor.name = None


def _name(model: Model, graph: Graph) -> None:
    named = {*graph.inputs, *graph.outputs}
    taken = {tensor_name(graph.tensors[index]) for index in named}
    counts: Counter[str] = Counter()

    def name(index: int, letters: str) -> None:
        if index < 0 or index in named:
            return
        found = ""
        while not found or found in taken:
            counts[letters] += 1
            found = f"{letters}{counts[letters]}"
        named.add(index)
        taken.add(found)
        graph.tensors[index].name = found

    for operator in graph.operators:
        kind = op_name(model, operator)
        for position, index in enumerate(operator.inputs):
            if index >= 0 and is_constant(model, graph.tensors[index]):
                weighted = kind in WEIGHTED
                is_weights = weighted and position == WEIGHTED[kind].position
                name(index, "w" if is_weights else "b" if weighted and position == BIAS else "c")
        for index in operator.outputs:
            name(index, _LETTERS.get(kind, "".join(filter(str.isalpha, kind.lower()))[:3] or "x"))
    for index in range(len(graph.tensors)):
        name(index, "t")
