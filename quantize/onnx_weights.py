"""Recipes for ONNX that change the weights only: float16 storage, and 8-bit weights with dynamic activations."""

import logging

import numpy as np
import onnx

from quantize.errors import RecipeError
from quantize.onnx_graph import clean

# Below this a Cast costs more than the bytes saved.
MIN_WEIGHT_ELEMENTS = 16


def to_float16_onnx(float_model: onnx.ModelProto) -> onnx.ModelProto:
    """Constants stored as float16 with a Cast to float32, which a runtime folds when it loads the file."""
    model = onnx.ModelProto()
    model.CopyFrom(float_model)
    graph = model.graph
    casts = []
    for initializer in graph.initializer:
        if initializer.data_type != onnx.TensorProto.FLOAT:
            continue
        values = onnx.numpy_helper.to_array(initializer)
        if values.size < MIN_WEIGHT_ELEMENTS:
            continue
        with np.errstate(over="ignore"):  # judged in the next line
            half = values.astype(np.float16)
        if not np.isfinite(half).all():
            raise RecipeError(f"Recipe fp16 needs weights below 65504. Received: {np.abs(values).max():g}.")
        wide = initializer.name
        initializer.CopyFrom(onnx.numpy_helper.from_array(half, f"{wide}_half"))
        casts.append(onnx.helper.make_node("Cast", [initializer.name], [wide], to=onnx.TensorProto.FLOAT))
    nodes = [*casts, *(onnx.NodeProto.FromString(node.SerializeToString()) for node in graph.node)]
    del graph.node[:]
    graph.node.extend(nodes)
    clean(model)
    return model


def to_int8_dynamic_onnx(float_model: onnx.ModelProto) -> onnx.ModelProto:
    """8-bit weights of convolutions and dense layers; the runtime quantizes their inputs as it runs.

    The weights are unsigned with zero point 128: ConvInteger with signed ones is missing in older runtimes and
    saturates on x86 without VNNI. The batch is fixed at one row, since DynamicQuantizeLinear takes one scale for all rows
    and a row's result would depend on its neighbors.
    """
    from onnxruntime.quantization import QuantizationMode, QuantType
    from onnxruntime.quantization.onnx_quantizer import ONNXQuantizer

    model = onnx.ModelProto()
    model.CopyFrom(float_model)
    for number, node in enumerate(model.graph.node):
        node.name = f"node{number}"  # the quantizer refers to operators by name
    for value in (*model.graph.input, *model.graph.output):
        value.type.tensor_type.shape.dim[0].dim_value = 1
    previous_level = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        quantizer = ONNXQuantizer(
            onnx.shape_inference.infer_shapes(model),
            True,  # per channel, where the operator can
            False,  # reduce_range
            QuantizationMode.IntegerOps,
            False,  # static
            QuantType.QUInt8,
            QuantType.QUInt8,
            None,
            [],
            [],
            ["Conv", "MatMul", "Gemm"],
            {"MatMulConstBOnly": True, "WeightSymmetric": True},
        )
        quantizer.quantize_model()
    finally:
        logging.disable(previous_level)
    quantizer.model.topological_sort()
    clean(quantizer.model.model)
    return quantizer.model.model
