"""Calibration of a float ONNX model: the same value, `CalibrationRanges`, under the names of the ONNX graph."""

from collections.abc import Iterator, Mapping

import numpy as np
import onnx

from quantize.calibration import CalibrationRanges, Rows, collect


def calibrate_onnx(float_model: onnx.ModelProto, rows: Rows, *, threads: int = 1) -> CalibrationRanges:
    """Ranges of all float activations over the rows, each a mapping of input names to arrays."""
    return collect(_run(float_model, rows, threads))


def _run(float_model: onnx.ModelProto, rows: Rows, threads: int) -> Iterator[Mapping[str, np.ndarray]]:
    import onnxruntime

    model = onnx.ModelProto()
    model.CopyFrom(float_model)
    inferred = onnx.shape_inference.infer_shapes(model)
    kinds = {value.name: value.type.tensor_type.elem_type for value in inferred.graph.value_info}
    present = {value.name for value in model.graph.output}
    for node in model.graph.node:
        for name in node.output:
            if name not in present and kinds.get(name) == onnx.TensorProto.FLOAT:
                model.graph.output.append(onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None))
    options = onnxruntime.SessionOptions()
    # Fused operators would leave the tensors between them out; all are asked for as outputs, so this is just faster.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = threads
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    names = [value.name for value in session.get_outputs()]
    expected = {value.name for value in session.get_inputs()}
    for row in rows:
        if set(row) != expected:
            raise ValueError(
                f"A calibration row holds {', '.join(sorted(expected))}. Received: {', '.join(sorted(row))}."
            )
        yield dict(zip(names, session.run(names, dict(row)), strict=True))
