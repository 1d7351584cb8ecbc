"""Static int8 for ONNX, in QDQ form: standard operators between QuantizeLinear and DequantizeLinear.

onnxruntime's quantizer places the pairs; the ranges are ours. An int8 input of whole numbers is exact: it goes straight
into a DequantizeLinear with scale 1 and zero point 0. Leaves out the check of the result (`exporters/audit.py`).

Activations are unsigned: with signed ones ONNX Runtime on x86 fuses no convolution and computes in float. Weights are
signed, one scale for each output channel, in 7 bits (`reduce_range`): x86 without VNNI adds pairs of u8 * s8 products in
16 bits, and 2 * 255 * 127 does not fit while 2 * 255 * 64 does. So every processor computes the same.
"""

import numpy as np
import onnx

from quantize.calibration import CalibrationRanges
from quantize.onnx_graph import clean

INT8_RANGE = (-128.0, 127.0)
# Operators that move values without changing them: what is a whole number in front is one behind.
_MOVES = ("Reshape", "Slice", "Squeeze", "Transpose", "Unsqueeze")


def quantize_static_onnx(
    float_model: onnx.ModelProto,
    ranges: CalibrationRanges,
) -> onnx.ModelProto:
    """A QDQ model with float outputs."""
    from onnxruntime.quantization import CalibrationMethod, QuantType
    from onnxruntime.quantization.calibrate import TensorsData
    from onnxruntime.quantization.qdq_quantizer import QDQQuantizer

    model = onnx.ModelProto()
    model.CopyFrom(float_model)
    for number, node in enumerate(model.graph.node):
        node.name = f"node{number}"  # the quantizer refers to operators by name
    exact = _open_integer_inputs(model)
    values = {**ranges.ranges, **dict.fromkeys(_moved(model, exact), INT8_RANGE)}
    data = {name: (np.array(low, np.float32), np.array(high, np.float32)) for name, (low, high) in values.items()}
    quantizer = QDQQuantizer(
        onnx.shape_inference.infer_shapes(model),
        True,  # per channel
        True,  # reduce_range
        QuantType.QInt8,  # weights
        QuantType.QUInt8,  # activations
        TensorsData(CalibrationMethod.MinMax, data),
        [],
        [],
        sorted({node.op_type for node in model.graph.node}),
        {"ActivationSymmetric": False, "WeightSymmetric": True},
    )
    quantizer.quantize_model()
    quantizer.model.topological_sort()
    quantized = quantizer.model.model
    _close_integer_inputs(quantized, exact)
    _free_outputs(quantized)
    clean(quantized)
    return quantized


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
        if node.op_type in _MOVES and node.input[0] in found:
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
        graph.initializer.append(onnx.numpy_helper.from_array(np.array(1, np.float32), scale))
        graph.initializer.append(onnx.numpy_helper.from_array(np.array(0, np.int8), zero))
        graph.node.insert(0, onnx.helper.make_node("DequantizeLinear", [value.name, scale, zero], [wide]))


def _free_outputs(model: onnx.ModelProto) -> None:
    """Takes the last QuantizeLinear and DequantizeLinear away: the outputs are float, rounding them has no use."""
    graph = model.graph
    producers = {node.output[0]: node for node in graph.node}
    for value in graph.output:
        dequantize = producers[value.name]
        quantize = producers.get(dequantize.input[0])
        if dequantize.op_type != "DequantizeLinear" or quantize is None or quantize.op_type != "QuantizeLinear":
            continue
        source = producers[quantize.input[0]]
        if sum(source.output[0] in node.input for node in graph.node) == 1:
            source.output[0] = value.name
            graph.node.remove(quantize)
            graph.node.remove(dequantize)
