"""Traced function -> float ONNX model with named inputs and outputs. Quantization comes after, from this model.

A function that was traced for any number of rows of any length keeps both axes open. Of one with fixed shapes the batch
axis becomes symbolic if the graph allows it, which is tried by running it. Leaves out text input and recipes: one
conversion serves them all.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import onnx

from exporters.console.native_log import quiet
from exporters.formats.onnx.variables import as_inputs, without_variables
from models_tf import memory
from quantize.onnx.graph import BATCH, LENGTH
from quantize.onnx.passes.compact import compact
from quantize.onnx.passes.computed_bias import computed_bias
from quantize.onnx.passes.explicit_pads import explicit_pads
from quantize.onnx.passes.fuse_gelu import fuse_gelu
from quantize.onnx.passes.fuse_gemm import fuse_gemm
from quantize.onnx.passes.fuse_layer_norm import fuse_layer_norm
from quantize.onnx.passes.fuse_pooling import fuse_pooling
from quantize.onnx.passes.raise_opset import raise_opset
from quantize.onnx.session import make_session

# Opset 21 (ONNX 1.16, 2024) runs in ONNX Runtime 1.18 and later. 17 has LayerNormalization, 20 has Gelu, and from 21 on
# ONNX's own reference computes quantized models. The newest that tf2onnx writes is 18.
OPSET, _WRITTEN_OPSET = 21, 18


def to_onnx(concrete_function: Any, rows: Mapping[str, np.ndarray] | None = None) -> onnx.ModelProto:
    """The float model. A function traced for one row takes any number of rows if it can, tried with `rows` (default:
    random ones).
    """
    with quiet():
        model, inputs, outputs = _convert(concrete_function)
    memory.give_back()
    explicit_pads(model)
    fuse_gemm(model)
    computed_bias(model)
    raise_opset(model, OPSET)
    fuse_layer_norm(model)
    fuse_gelu(model)
    fuse_pooling(model)
    compact(model, names=inputs | outputs)
    if concrete_function.structured_input_signature[1][next(iter(inputs.values()))].shape[0] is None:
        _name_axes(model)
    else:
        _free_batch(model, rows or _random_rows(model))
    return model


def _convert(concrete_function: Any) -> tuple[onnx.ModelProto, dict[str, str], dict[str, str]]:
    """The model as tf2onnx makes it, and its input and output names with those of the signature.

    The same steps as `tf2onnx.convert.from_function`, which holds some forty copies of all weights along the way:
    100 MB became 5 GB. Here the matrices stay outside meanwhile.
    """
    import tensorflow as tf
    from tf2onnx import optimizer, tf_loader, tfonnx

    definition, matrices = without_variables(concrete_function)
    captured = {inner.name for _, inner in concrete_function.graph.captures}
    given = [tensor.name for tensor in concrete_function.inputs if tensor.name not in captured]
    inputs = {name: name.split(":")[0] for name in given}
    # The values of a dictionary come in the order of its sorted keys.
    names = [tensor.name for tensor in concrete_function.outputs]
    outputs = dict(zip(names, sorted(concrete_function.structured_outputs), strict=True))
    with tf.Graph().as_default():
        definition = tf_loader.tf_optimize([*inputs, *matrices], list(outputs), definition)
    as_inputs(definition)
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(definition, name="")
        converted = tfonnx.process_tf_graph(
            graph,
            continue_on_error=True,
            opset=_WRITTEN_OPSET,
            input_names=[*inputs, *matrices],
            output_names=list(outputs),
        )
    model = optimizer.optimize_graph(converted, catch_errors=False).make_model("model")
    kept = [value for value in model.graph.input if value.name not in matrices]
    del model.graph.input[:]
    model.graph.input.extend(kept)
    for name, variable in matrices.items():
        model.graph.initializer.append(onnx.numpy_helper.from_array(variable.numpy(), name))
    return model, inputs, outputs


def _name_axes(model: onnx.ModelProto) -> None:
    """The open sizes of inputs and outputs: the first is that of the rows, another one that of time."""
    for value in (*model.graph.input, *model.graph.output):
        for place, size in enumerate(value.type.tensor_type.shape.dim):
            if not size.HasField("dim_value") or size.dim_value < 1:
                size.dim_param = LENGTH if place else BATCH


def _free_batch(model: onnx.ModelProto, rows: Mapping[str, np.ndarray]) -> None:
    """Names the first axis of inputs and outputs "batch", if three rows at once give what they give one by one."""
    rows = {name: values[np.arange(3) % len(values)] for name, values in rows.items()}
    run = _session(model)
    single = [run({name: values[i : i + 1] for name, values in rows.items()}) for i in range(3)]
    del run
    graph = model.graph
    shapes = {node.input[1] for node in graph.node if node.op_type == "Reshape"}
    changed = []  # to undo if it does not work: a copy of the whole model would be large
    for value in (*graph.input, *graph.output):
        changed.append((value, type(value).FromString(value.SerializeToString())))
        value.type.tensor_type.shape.dim[0].dim_param = BATCH
    for initializer in graph.initializer:
        if initializer.name in shapes:
            shape = onnx.numpy_helper.to_array(initializer).copy()
            if shape.size and shape[0] == 1 and -1 not in shape:
                changed.append((initializer, type(initializer).FromString(initializer.SerializeToString())))
                shape[0] = -1
                initializer.CopyFrom(onnx.numpy_helper.from_array(shape, initializer.name))
    if not _same(single, model, rows):
        for item, before in changed:
            item.CopyFrom(before)


def _same(single: list[list[np.ndarray]], model: onnx.ModelProto, rows: Mapping[str, np.ndarray]) -> bool:
    import onnxruntime

    try:
        together = _session(model)(rows)
    except onnxruntime.capi.onnxruntime_pybind11_state.RuntimeException:
        return False
    # Sums in another order: float32 rounding, well below the 1e-4 that parity allows.
    return all(
        np.allclose(np.concatenate(parts), whole, rtol=1e-5, atol=1e-5 * max(1.0, float(np.abs(whole).max())))
        for parts, whole in zip(zip(*single, strict=True), together, strict=True)
    )


def _session(model: onnx.ModelProto) -> Callable[[Mapping[str, np.ndarray]], list[np.ndarray]]:
    # Level 4: a run with several rows may fail, which is expected.
    session = make_session(model.SerializeToString(), log_severity_level=4)
    return lambda rows: session.run(None, dict(rows))


def _random_rows(model: onnx.ModelProto) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    rows = {}
    for value in model.graph.input:
        shape = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
        dtype = onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
        rows[value.name] = rng.integers(0, 2, (3, *shape[1:])).astype(dtype)
    return rows
