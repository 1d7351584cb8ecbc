"""Traced function -> float .tflite bytes with named inputs and outputs. Quantization comes after, from these bytes.

Leaves out text input (a pass puts the projection in front) and recipes: one conversion serves them all.
"""

import tempfile
from collections.abc import Mapping
from typing import Any

from exporters.console.native_log import quiet
from exporters.formats.tflite.any_length import plan_longest
from models_tf import memory
from models_tf.errors import InputError
from quantize.tflite.flatbuffer import read_model, write_model


def to_tflite(concrete_function: Any, *, longest: Mapping[str, tuple[int, ...]] | None = None) -> bytes:
    """The float model; input and output tensors have the names of the signature. `longest` are the shapes of the inputs
    of a function that was traced without a known length.
    """
    import tensorflow as tf

    # The converter keeps the signature only if it can save the function, and for that it must own the variables.
    owner = tf.Module()
    owner.captured = list(concrete_function.graph.variables)
    with quiet():
        converter = tf.lite.TFLiteConverter.from_concrete_functions([concrete_function], owner)
        converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS]
        # The converter multiplies weights by the gammas of the norm before them. That saves nothing, as the skip path
        # needs the product too, and weights shared by several layers would differ and be stored twice.
        converter._experimental_disable_fuse_mul_and_fc = shares_weights(concrete_function)  # noqa: SLF001
        content = converter.convert()
    del converter
    memory.give_back()
    model = read_model(content)
    if not model.signatureDefs:  # the converter drops them silently if it cannot save the function first
        raise InputError(
            f"TensorFlow could not save the model in {tempfile.gettempdir()}: the folder for temporary files must have "
            "room for it. Set TMPDIR to another folder."
        )
    for entry in (*model.signatureDefs[0].inputs, *model.signatureDefs[0].outputs):
        model.subgraphs[model.signatureDefs[0].subgraphIndex].tensors[entry.tensorIndex].name = entry.name
    if longest is not None:
        plan_longest(model, content, longest)
    return write_model(model)


def shares_weights(concrete_function: Any) -> bool:
    """Whether several matrix products read the same variable or constant."""
    found = []
    for operation in concrete_function.graph.get_operations():
        if operation.type != "MatMul":
            continue
        maker = operation.inputs[1].op
        if maker.type in ("ReadVariableOp", "Const"):
            found.append(maker.inputs[0].ref() if maker.type == "ReadVariableOp" else maker.outputs[0].ref())
    return len(found) > len(set(found))
