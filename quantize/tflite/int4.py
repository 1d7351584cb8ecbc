"""int4 for TFLite: weights of dense layers and tables of words in 4 bits, with a scale for each row.

Activations are float; the runtime quantizes what a dense layer reads to int8 as it runs. Smaller layers, those that
read no multiple of 32 channels and convolutions get int8 as in int8-dynamic. Leaves out scales for blocks of a row:
XNNPACK takes 2.4 times as long with them, and answers are hardly closer to float.
"""

import numpy as np

from quantize.arrays import Array
from quantize.int4 import check_share, is_dense_fit, is_table_fit, pack, quantize_rows
from quantize.tflite.flatbuffer import read_model, write_model
from quantize.tflite.graph import (
    Graph,
    Model,
    Operator,
    Tensor,
    add_buffer,
    add_operator_code,
    float_values,
    is_constant,
    looks_up_positions,
    new_operator,
    op_name,
    readers,
    schema,
    set_scale,
    shape,
)
from quantize.tflite.operators import DENSE, LOOKUP, WEIGHTED
from quantize.tflite.passes.compact import compact
from quantize.tflite.scale_limits import check_scales
from quantize.tflite.weights import quantize_dynamic

# Of scales for rows in a dense layer with float activations, and of 4 bits in a look-up. No version of the dense layer
# stands for 4 bits; runtimes that know this one know them.
DENSE_VERSION, LOOKUP_VERSION = 12, 4


def to_int4(float_model: bytes) -> bytes:
    """A new file. A model with most of its weights elsewhere is refused."""
    model = read_model(float_model)
    narrow = total = 0
    for graph in model.subgraphs:
        total += sum(int(np.prod(shape(tensor))) for tensor in graph.tensors if _is_float(model, tensor))
        narrow += _narrow_dense(model, graph) + _narrow_tables(model, graph)
    check_share(narrow, total)
    quantize_dynamic(model)
    compact(model)
    check_scales(model)
    return write_model(model)


def _narrow_dense(model: Model, graph: Graph) -> int:
    """Changes weights of dense layers; returns how many."""
    place, users = WEIGHTED[DENSE].position, readers(graph)
    done: dict[int, int] = {}
    for operator in graph.operators:
        if op_name(model, operator) != DENSE:
            continue
        index = operator.inputs[place]
        tensor = graph.tensors[index]
        if index not in done:
            alike = all(op_name(model, user) == DENSE and user.inputs[place] == index for user in users[index])
            if not alike or not _is_float(model, tensor) or not is_dense_fit(*reversed(shape(tensor))):
                continue
            done[index] = _narrow(model, tensor)
        operator.opcodeIndex = add_operator_code(model, schema.BuiltinOperator.FULLY_CONNECTED, DENSE_VERSION)
    return sum(done.values())


def _narrow_tables(model: Model, graph: Graph) -> int:
    """Changes tables; returns how many numbers. A GATHER of rows becomes EMBEDDING_LOOKUP, which makes floats of them
    and takes ids of one axis.
    """
    users = readers(graph)
    done: dict[int, int] = {}
    operators: list[Operator] = []
    for operator in graph.operators:
        table = operator.inputs[0] if op_name(model, operator) == LOOKUP else -1
        if table not in done and (table < 0 or not _is_table(model, graph, table, users[table])):
            operators.append(operator)
            continue
        if table not in done:
            done[table] = _narrow(model, graph.tensors[table])
        operators += _lookup(model, graph, operator)
    graph.operators = operators
    return sum(done.values())


def _narrow(model: Model, tensor: Tensor) -> int:
    integers, scales = quantize_rows(float_values(model, tensor))
    tensor.type, tensor.buffer = schema.TensorType.INT4, add_buffer(model, pack(integers))
    set_scale(tensor, scales, np.zeros(scales.size, np.int64))
    return int(integers.size)


def _lookup(model: Model, graph: Graph, gather: Operator) -> list[Operator]:
    """What stands for a GATHER: the ids in one axis, the look-up, and the axes of the result as they were."""
    table, ids = gather.inputs
    (result,) = gather.outputs
    sizes, width = shape(graph.tensors[ids]), shape(graph.tensors[table])[1]
    count = int(np.prod(sizes))
    flat = _add(graph, schema.TensorType.INT32, [count])
    rows = _add(graph, schema.TensorType.FLOAT32, [count, width])
    lookup = new_operator(model, schema.BuiltinOperator.EMBEDDING_LOOKUP, LOOKUP_VERSION, [flat, table], [rows])
    # One size is left open, so that the file can still be resized.
    axes = [*sizes[:-1], -1, width]
    return [_reshape(model, graph, ids, flat, [-1]), lookup, _reshape(model, graph, rows, result, axes)]


def _reshape(model: Model, graph: Graph, source: int, target: int, sizes: list[int]) -> Operator:
    wanted: Array = np.array(sizes, np.int32)
    constant = _add(graph, schema.TensorType.INT32, [len(sizes)])
    graph.tensors[constant].buffer = add_buffer(model, wanted)
    operator = new_operator(model, schema.BuiltinOperator.RESHAPE, 1, [source, constant], [target])
    operator.builtinOptionsType = schema.BuiltinOptions.ReshapeOptions
    operator.builtinOptions = schema.ReshapeOptionsT()
    operator.builtinOptions.newShape = wanted
    return operator


def _add(graph: Graph, kind: int, sizes: list[int]) -> int:
    tensor: Tensor = schema.TensorT()
    tensor.shape, tensor.type, tensor.buffer = sizes, kind, 0
    graph.tensors.append(tensor)
    return len(graph.tensors) - 1


def _is_table(model: Model, graph: Graph, index: int, users: list[Operator]) -> bool:
    """Whether whole rows of it are looked up by ids, and nothing else is done with it. Positions stay in float."""
    tensor = graph.tensors[index]
    return (
        _is_float(model, tensor)
        and is_table_fit(shape(tensor))
        and all(
            op_name(model, user) == LOOKUP
            and user.inputs[0] == index
            and graph.tensors[user.inputs[1]].type == schema.TensorType.INT32
            and not user.builtinOptions.axis
            and not user.builtinOptions.batchDims
            and not looks_up_positions(model, graph, user)
            for user in users
        )
    )


def _is_float(model: Model, tensor: Tensor) -> bool:
    return bool(tensor.type == schema.TensorType.FLOAT32) and is_constant(model, tensor)
