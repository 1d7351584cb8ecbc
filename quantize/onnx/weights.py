"""Recipes for ONNX that change the weights only: as they are, and float16 storage; and tables in 8 bits.

Tables (embeddings) are looked up as they are stored, in 16 or 8 bits, and only what was found is made float: a runtime
would otherwise keep the whole table in float.
"""

from collections.abc import Collection

import numpy as np
import onnx

from quantize.float16 import narrow
from quantize.onnx.graph import add_constant, copied, set_nodes, values
from quantize.onnx.numbers import quantize_table
from quantize.onnx.operators import LOOKUP
from quantize.onnx.passes.compact import compact

# Below this a Cast costs more than the bytes saved.
MIN_WEIGHT_ELEMENTS = 16
# Smaller tables (the two values of a mask) stay exact.
MIN_TABLE_ELEMENTS = 64


def to_float32(float_model: onnx.ModelProto) -> onnx.ModelProto:
    """The model as it is: what the converter gives is clean already."""
    return float_model


def to_float16(float_model: onnx.ModelProto) -> onnx.ModelProto:
    """Constants stored as float16 with a Cast to float32, which a runtime folds when it loads the file."""
    model = copied(float_model)
    graph = model.graph
    casts = []
    tables = lookups(graph)
    for initializer in graph.initializer:
        if initializer.data_type != onnx.TensorProto.FLOAT:
            continue
        if np.prod(initializer.dims) < MIN_WEIGHT_ELEMENTS:
            continue
        wide = initializer.name
        half = narrow(values(initializer), wide)
        if wide in tables:
            initializer.CopyFrom(onnx.numpy_helper.from_array(half, wide))
            continue
        initializer.CopyFrom(onnx.numpy_helper.from_array(half, f"{wide}_half"))
        casts.append(onnx.helper.make_node("Cast", [initializer.name], [wide], to=onnx.TensorProto.FLOAT))
    halves = {item.name for item in graph.initializer if item.data_type == onnx.TensorProto.FLOAT16}
    nodes = [*casts]
    for node in graph.node:
        nodes.append(node)
        if node.op_type == LOOKUP and node.input[0] in halves:
            found, half_name = node.output[0], f"{node.output[0]}_half"
            node.output[0] = half_name
            nodes.append(onnx.helper.make_node("Cast", [half_name], [found], to=onnx.TensorProto.FLOAT))
    set_nodes(graph, nodes)
    compact(model)
    return model


def lookups(graph: onnx.GraphProto) -> set[str]:
    """Constants that are read by Gather only, as the table."""
    looked_up = {node.input[0] for node in graph.node if node.op_type == LOOKUP}
    others = {
        name
        for node in graph.node
        for position, name in enumerate(node.input)
        if node.op_type != LOOKUP or position > 0
    }
    constants = {item.name for item in graph.initializer if item.data_type == onnx.TensorProto.FLOAT}
    return (looked_up - others) & constants


def quantize_lookups(graph: onnx.GraphProto, *, keep: Collection[str] = ()) -> None:
    """Tables as uint8 with one scale, a DequantizeLinear behind each lookup; those of `keep` stay as they are."""
    tables = lookups(graph).difference(keep)
    parameters = {}
    for initializer in list(graph.initializer):
        if initializer.name in tables and int(np.prod(initializer.dims)) >= MIN_TABLE_ELEMENTS:
            name = initializer.name
            table, found = quantize_table(values(initializer))
            initializer.CopyFrom(onnx.numpy_helper.from_array(table, name))
            parameters[name] = [
                add_constant(graph, f"{name}_scale", np.asarray(found.scale)),
                add_constant(graph, f"{name}_zero", np.asarray(found.zero)),
            ]
    nodes = []
    for node in graph.node:
        nodes.append(node)
        if node.op_type == LOOKUP and node.input[0] in parameters:
            name, integer = node.output[0], f"{node.output[0]}_integer"
            node.output[0] = integer
            nodes.append(onnx.helper.make_node("DequantizeLinear", [integer, *parameters[node.input[0]]], [name]))
    set_nodes(graph, nodes)
