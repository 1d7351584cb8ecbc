"""Static int8 for ONNX, in QDQ form: standard operators between QuantizeLinear and DequantizeLinear.

`qdq.py` places the pairs. An int8 input of whole numbers is exact: it goes straight into a DequantizeLinear with scale
1 and zero point 0. Leaves out calibration (`calibrate.py`) and the audit of the result.

Activations are unsigned: with signed ones ONNX Runtime on x86 fuses no convolution and computes in float. Weights are
signed, one scale for each output channel: x86 without VNNI adds pairs of u8 * s8 products in 16 bits, and 2 * 255 * 127
does not fit while 2 * 255 * 64 does. So those of convolutions have 7 bits, and two neighbors in a dense layer are 128
at most (`numbers.paired_scales`). Every processor computes the same.
"""

import dataclasses

import numpy as np
import onnx

from quantize.onnx.graph import add_constant, copied
from quantize.onnx.operators import MOVES
from quantize.onnx.passes.compact import compact
from quantize.onnx.passes.level_dense import level_dense
from quantize.onnx.passes.mask_table import mask_table
from quantize.onnx.passes.split_dense import split_dense
from quantize.onnx.qdq import QdqWriter
from quantize.onnx.ranges import with_fixed_ranges
from quantize.onnx.scale_limits import check_scales
from quantize.ranges import CalibrationRanges

INT8_RANGE = (-128.0, 127.0)


def quantize_static(float_model: onnx.ModelProto, ranges: CalibrationRanges) -> onnx.ModelProto:
    """A QDQ model with float outputs."""
    model = copied(float_model)
    exact = _open_integer_inputs(model)
    masks = mask_table(model, ranges.ranges)
    ranges = with_fixed_ranges(model, dataclasses.replace(ranges, ranges={**ranges.ranges, **masks}))
    split_dense(model, ranges)
    ranges = level_dense(model, ranges)
    values = {**ranges.ranges, **dict.fromkeys(_moved(model, exact), INT8_RANGE)}
    QdqWriter(model, values).write()
    _close_integer_inputs(model, exact)
    compact(model)
    check_scales(model)
    return model


def _open_integer_inputs(model: onnx.ModelProto) -> list[str]:
    """Makes int8 inputs that are cast to float right away float inputs, so that the quantizer starts at them."""
    graph = model.graph
    opened = []
    for value in graph.input:
        if value.type.tensor_type.elem_type != onnx.TensorProto.INT8:
            continue
        readers = [node for node in graph.node if value.name in node.input]
        if any(node.op_type != "Cast" for node in readers):
            raise ValueError(f"Input {value.name!r} must be cast to float first. Received: {readers[0].op_type}.")
        table = {node.output[0]: value.name for node in readers}
        for node in readers:
            graph.node.remove(node)
        for node in graph.node:
            node.input[:] = [table.get(name, name) for name in node.input]
        value.type.tensor_type.elem_type = onnx.TensorProto.FLOAT
        opened.append(value.name)
    return opened


def _moved(model: onnx.ModelProto, names: list[str]) -> set[str]:
    """These tensors and those that hold their values in another shape or order."""
    found = set(names)
    for node in model.graph.node:
        if node.op_type in MOVES and node.input[0] in found:
            found.update(node.output)
    return found


def _close_integer_inputs(model: onnx.ModelProto, names: list[str]) -> None:
    """int8 inputs again: DequantizeLinear with scale 1 and zero point 0, which changes no value."""
    graph = model.graph
    for value in graph.input:
        if value.name not in names:
            continue
        value.type.tensor_type.elem_type = onnx.TensorProto.INT8
        wide = f"{value.name}_float"
        for node in graph.node:
            node.input[:] = [wide if name == value.name else name for name in node.input]
        scale, zero = f"{value.name}_scale", f"{value.name}_zero"
        add_constant(graph, scale, np.array(1, np.float32))
        add_constant(graph, zero, np.array(0, np.int8))
        graph.node.insert(0, onnx.helper.make_node("DequantizeLinear", [value.name, scale, zero], [wide]))
