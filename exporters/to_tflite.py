"""TensorFlow function -> float .tflite bytes with named inputs and outputs. Quantization comes after, from these bytes.

Leaves out text input (a pass puts the projection in front) and every recipe: one conversion serves them all.
"""

from collections.abc import Callable, Mapping
from typing import Any

from exporters.native_log import quiet
from exporters.tensor_names import LOGITS
from quantize.flatbuffer import read_model, write_model


def trace(
    function: Callable[..., Any], inputs: Mapping[str, tuple[tuple[int | None, ...], str]], output: str = LOGITS
) -> Any:
    """A concrete function with keyword inputs {name: (shape, dtype)}. One output gets the name; several have theirs."""
    import tensorflow as tf

    specs = {name: tf.TensorSpec(shape, tf.as_dtype(dtype), name=name) for name, (shape, dtype) in inputs.items()}

    @tf.function(autograph=False)
    def named(**values: tf.Tensor) -> dict[str, tf.Tensor]:
        result = function(**values)
        return result if isinstance(result, dict) else {output: result}

    return named.get_concrete_function(**specs)


def to_tflite(concrete_function: Any) -> bytes:
    """The float model; input and output tensors are called as in the signature."""
    import tensorflow as tf

    # The converter keeps the signature only if it can save the function, and for that it must own the variables.
    owner = tf.Module()
    owner.captured = list(concrete_function.graph.variables)
    with quiet():
        converter = tf.lite.TFLiteConverter.from_concrete_functions([concrete_function], owner)
        converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS]
        model = read_model(converter.convert())
    for entry in (*model.signatureDefs[0].inputs, *model.signatureDefs[0].outputs):
        model.subgraphs[model.signatureDefs[0].subgraphIndex].tensors[entry.tensorIndex].name = entry.name
    return write_model(model)
