"""A traced function as a GraphDef without variables, and without its large matrices.

TensorFlow's own way copies all weights into the graph several times: 440 MB took 7 GB more. Here small variables become
constants, and matrices that inputs are multiplied with or looked up in become inputs: no optimization needs their
values. Leaves out functions that call functions, which no model here has.
"""

from typing import Any

_LARGE = 4096  # elements
# What may read a matrix whose values are not known, and at which place.
_READERS = {"MatMul": 1, "BatchMatMulV2": 1, "GatherV2": 0}

# A matrix while TensorFlow optimizes the graph: an operator without inputs, so it is not computed ahead, and of known
# shape. TensorFlow would not trust the shape of an input, and would keep additions of zeros behind it.
_UNKNOWN = "ImmutableConst"
_CALLS = ("PartitionedCall", "StatefulPartitionedCall")


def without_variables(concrete_function: Any) -> tuple[Any, dict[str, Any]]:
    """The GraphDef, and the variables that became inputs of it, by the names of these."""
    import tensorflow as tf

    graph = concrete_function.graph
    definition = graph.as_graph_def()
    functions = {function.signature.name for function in definition.library.function}
    for node in definition.node:
        if node.op in functions or node.op in _CALLS:
            raise ValueError(f"The function must call no other. Received: {node.name}, a {node.op}.")
    variables = {id(variable.handle): variable for variable in graph.variables}
    captured = {inner.op.name: variables.get(id(outer), outer) for outer, inner in graph.captures}
    _read_directly(definition)
    computed = _computed(definition, {tensor.op.name for tensor in concrete_function.inputs} - set(captured))
    read_by: dict[str, list[tuple[Any, int]]] = {}
    for node in definition.node:
        for place, name in enumerate(node.input):
            read_by.setdefault(name, []).append((node, place))
    matrices = {}
    for node in definition.node:
        if node.name not in captured:
            continue
        value, readers = captured[node.name], read_by.get(node.name, [])
        node.attr["dtype"].type = value.dtype.as_datatype_enum
        known = all(_READERS.get(reader.op) == place and reader.name in computed for reader, place in readers)
        if _is_large(value) and readers and known:
            node.op = _UNKNOWN
            node.attr["shape"].shape.CopyFrom(value.shape.as_proto())
            node.attr["memory_region_name"].s = node.name.encode()
            for name in [name for name in node.attr if name not in ("dtype", "shape", "memory_region_name")]:
                del node.attr[name]
            matrices[f"{node.name}:0"] = value
            continue
        node.op = "Const"
        node.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(value.numpy()))
        for name in [name for name in node.attr if name not in ("dtype", "value")]:
            del node.attr[name]
    return definition, matrices


def as_inputs(definition: Any) -> None:
    """Makes inputs of the matrices, in place, after the graph was optimized."""
    for node in definition.node:
        if node.op == _UNKNOWN:
            node.op = "Placeholder"
            del node.attr["memory_region_name"]


def _is_large(value: Any) -> bool:
    return bool(value.dtype.name == "float32" and value.shape.rank == 2 and value.shape.num_elements() >= _LARGE)


def _computed(definition: Any, inputs: set[str]) -> set[str]:
    """Names of the operators that depend on the inputs; all others can be computed ahead. Operators come in order."""
    found = set(inputs)
    for node in definition.node:
        if any(name.split(":")[0] in found for name in node.input):
            found.add(node.name)
    return found


def _read_directly(definition: Any) -> None:
    """Takes out the operators between a variable and its readers; a look-up in a variable becomes one in a tensor."""
    import tensorflow as tf

    reads = {node.name: node.input[0] for node in definition.node if node.op == "ReadVariableOp"}
    for node in definition.node:
        # "^name" only asks for an order, and nothing here has side effects.
        names = [name for name in node.input if not name.startswith("^")]
        node.input[:] = [reads.get(name.removesuffix(":0"), name) for name in names]
    for node in [node for node in definition.node if node.op == "ResourceGather"]:
        axis = definition.node.add()
        axis.name, axis.op = f"{node.name}/axis", "Const"
        axis.attr["dtype"].type = tf.int32.as_datatype_enum
        axis.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(0, tf.int32))
        node.op = "GatherV2"
        node.input.append(axis.name)
        node.attr["Tparams"].type = node.attr["dtype"].type
        node.attr["Taxis"].type = tf.int32.as_datatype_enum
        for name in ("dtype", "validate_indices"):
            del node.attr[name]
    for place in reversed(range(len(definition.node))):
        if definition.node[place].op in ("ReadVariableOp", "NoOp"):
            del definition.node[place]
