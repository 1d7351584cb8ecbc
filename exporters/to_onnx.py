"""TensorFlow function -> float ONNX model with named inputs and outputs. Quantization comes after, from this model.

The batch axis becomes symbolic where the graph allows it, which is found out by running it. Leaves out text input and
every recipe: one conversion serves them all.
"""

from typing import Any

import numpy as np
import onnx

from exporters.native_log import quiet
from quantize.onnx_graph import clean

# Opset 17 (ONNX 1.12, 2022) runs in ONNX Runtime 1.12 and later, and has all that the models here need.
OPSET = 17
BATCH = "batch"


def to_onnx(concrete_function: Any) -> onnx.ModelProto:
    """The float model. A function traced for one row takes any number, if it can."""
    from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

    with quiet():
        import tf2onnx

        frozen = convert_variables_to_constants_v2(concrete_function)
        model, _ = tf2onnx.convert.from_graph_def(
            frozen.graph.as_graph_def(),
            input_names=[tensor.name for tensor in frozen.inputs],
            output_names=[tensor.name for tensor in frozen.outputs],
            opset=OPSET,
        )
    inputs = {tensor.name: tensor.name.split(":")[0] for tensor in frozen.inputs}
    # The names of a dictionary's values come in the order of its sorted keys.
    outputs = dict(zip([t.name for t in frozen.outputs], sorted(concrete_function.structured_outputs), strict=True))
    clean(model, names=inputs | outputs)
    candidate = _with_symbolic_batch(model)
    return candidate if _rows_are_independent(model, candidate) else model


def _with_symbolic_batch(model: onnx.ModelProto) -> onnx.ModelProto:
    """A copy whose inputs and outputs have a first axis called "batch"."""
    candidate = onnx.ModelProto()
    candidate.CopyFrom(model)
    graph = candidate.graph
    for value in (*graph.input, *graph.output):
        value.type.tensor_type.shape.dim[0].dim_param = BATCH
    shapes = {node.input[1] for node in graph.node if node.op_type == "Reshape"}
    for initializer in graph.initializer:
        if initializer.name in shapes:
            shape = onnx.numpy_helper.to_array(initializer).copy()
            if shape.size and shape[0] == 1 and -1 not in shape:
                shape[0] = -1
                initializer.CopyFrom(onnx.numpy_helper.from_array(shape, initializer.name))
    return candidate


def _rows_are_independent(model: onnx.ModelProto, candidate: onnx.ModelProto) -> bool:
    """Whether three rows at once give what they give one by one."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    rng = np.random.default_rng(0)
    rows = {}
    for value in model.graph.input:
        shape = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
        dtype = onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
        rows[value.name] = rng.integers(0, 2, (3, *shape[1:])).astype(dtype)
    sessions = [
        onnxruntime.InferenceSession(m.SerializeToString(), options, providers=["CPUExecutionProvider"])
        for m in (model, candidate)
    ]
    single = [sessions[0].run(None, {k: v[i : i + 1] for k, v in rows.items()}) for i in range(3)]
    try:
        together = sessions[1].run(None, rows)
    except onnxruntime.capi.onnxruntime_pybind11_state.RuntimeException:
        return False
    # Sums in another order: float32 rounding, well below the 1e-4 that parity allows.
    return all(
        np.allclose(np.concatenate(parts), whole, rtol=1e-5, atol=1e-5)
        for parts, whole in zip(zip(*single, strict=True), together, strict=True)
    )
