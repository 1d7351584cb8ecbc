"""The projection in TensorFlow: `sequence_projection` and the Keras layer around it.

Loads the op library once for the process; a SavedModel that holds the op loads after `load_op()`.
Leaves out everything the op itself does (`projection.h`) and the host projection without TensorFlow
(`library.py`).
"""

import functools
from types import ModuleType
from typing import Any

import tensorflow as tf
import tf_keras as keras

from models_tf.errors import InputError
from models_tf.ops.projection.config import ProjectionConfig
from models_tf.ops.projection.library import library_path

OP_NAME = "ExportMobile>SequenceProjection"
DTYPES = ("int8", "float32")


@functools.cache
def load_op() -> ModuleType:
    """Loads the op library into TensorFlow; gives the module of its generated Python wrappers."""
    path = library_path("tf")
    try:
        return tf.load_op_library(str(path))
    except (tf.errors.OpError, RuntimeError) as error:
        raise InputError(
            f"TensorFlow must load the projection op. Received: {str(error).splitlines()[0]} (TensorFlow"
            f" {tf.__version__}). Remedy: reinstall export-mobile, or use a TensorFlow version of its requirements."
        ) from error


def sequence_projection(
    text: Any, config: ProjectionConfig, seed: Any = 0, dtype: tf.DType = tf.int8
) -> tuple[tf.Tensor, tf.Tensor]:
    """Features [batch, rows, feature_size] and lengths [batch] of `text` (string, [batch]).

    `rows` is `config.pad_to`, or the length of the batch's longest text. `seed` matters only for
    distortion; the same seed gives the same typos.
    """
    if tf.as_dtype(dtype).name not in DTYPES:
        raise InputError(f"`dtype` must be one of {', '.join(DTYPES)}. Received: {tf.as_dtype(dtype).name}.")
    features, lengths = load_op().export_mobile_sequence_projection(
        text=text, seed=tf.cast(seed, tf.int64), config=config.to_text(), dtype=dtype
    )
    # The op's shape function cannot read its attributes (TensorFlow's C API has no getter there). Not
    # tf.ensure_shape: TFLiteConverter 2.21 makes a custom op of it.
    features.set_shape([None, config.pad_to or None, config.feature_size])
    return features, lengths


@keras.utils.register_keras_serializable(package="export_mobile")
class SequenceProjection(keras.layers.Layer):
    """Texts [batch] -> features [batch, rows, feature_size]; with `return_lengths` also lengths [batch]."""

    def __init__(
        self,
        config: ProjectionConfig | dict[str, Any],
        seed: int = 0,
        output_dtype: str = "int8",
        return_lengths: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(trainable=False, **kwargs)
        self.config = config if isinstance(config, ProjectionConfig) else ProjectionConfig.from_dict(config)
        self.seed = seed
        self.output_dtype = output_dtype
        self.return_lengths = return_lengths

    def call(self, text: tf.Tensor, seed: Any = None) -> Any:
        features, lengths = sequence_projection(
            text, self.config, seed=self.seed if seed is None else seed, dtype=tf.as_dtype(self.output_dtype)
        )
        return (features, lengths) if self.return_lengths else features

    def get_config(self) -> dict[str, Any]:
        own = {
            "config": self.config.to_dict(),
            "seed": self.seed,
            "output_dtype": self.output_dtype,
            "return_lengths": self.return_lengths,
        }
        # `trainable` is fixed in __init__.
        inherited = {name: value for name, value in super().get_config().items() if name != "trainable"}
        return {**inherited, **own}
