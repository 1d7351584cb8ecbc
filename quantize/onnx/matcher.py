"""`Matcher`: what passes ask of an ONNX graph that look for operators which are written out in smaller ones."""

import onnx

from quantize.onnx.graph import attribute, constants, producers, readers, values


class Matcher:
    """Questions that passes ask which look for written-out operators. Never answers by the size of an activation."""

    def __init__(self, graph: onnx.GraphProto) -> None:
        self._makers, self._readers = producers(graph), readers(graph)
        self._outputs = {value.name for value in graph.output}
        self._constants = constants(graph)
        # Of constant vectors.
        self.sizes = {item.name: item.dims[0] for item in graph.initializer if len(item.dims) == 1 and item.dims[0] > 1}

    def maker(self, name: str, op_type: str) -> onnx.NodeProto | None:
        """The node that makes a tensor, if it is of that type."""
        node = self._makers.get(name)
        return node if node is not None and node.op_type == op_type else None

    def only_reader(self, name: str, op_type: str) -> onnx.NodeProto | None:
        """The one node that reads a tensor, if it is of that type and the tensor is not an output."""
        found = self._readers.get(name, [])
        return found[0] if len(found) == 1 and found[0].op_type == op_type and name not in self._outputs else None

    def read_only_by(self, name: str, results: set[str]) -> bool:
        """Whether all readers of a tensor make one of `results`, and it is not an output itself."""
        return name not in self._outputs and all(node.output[0] in results for node in self._readers.get(name, ()))

    def scalar(self, name: str) -> float | None:
        """The value of a constant with a single one."""
        item = self._constants.get(name)
        if item is None or any(size != 1 for size in item.dims):
            return None
        return float(values(item).reshape(()))

    def beside_scalar(self, node: onnx.NodeProto) -> tuple[str, float | None]:
        """The operand of a node that is computed, and the value of the other if that is a single constant."""
        for name, other in (tuple(node.input), tuple(node.input)[::-1]):
            if name not in self._constants and self.scalar(other) is not None:
                return name, self.scalar(other)
        return "", None

    def vector_beside(self, node: onnx.NodeProto, name: str) -> str:
        """The name of the constant vector that a node takes together with a tensor; "" if it takes something else."""
        other = next((each for each in node.input if each != name), "")
        return other if other in self.sizes and self._constants[other].data_type == onnx.TensorProto.FLOAT else ""

    def reduces_last_axis(self, node: onnx.NodeProto) -> bool:
        """Whether a reduction is over the last axis alone and keeps it; axes may be an input or an attribute."""
        listed = [int(axis) for item in node.attribute if item.name == "axes" for axis in item.ints]
        if len(node.input) > 1 and node.input[1] in self._constants:
            listed = values(self._constants[node.input[1]]).tolist()
        return listed == [-1] and attribute(node, "keepdims", 1) == 1
