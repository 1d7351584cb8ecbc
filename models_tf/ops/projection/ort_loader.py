"""ONNX Runtime sessions that know the projection op (domain "export.mobile", op "SequenceProjection").

The op enters through the runtime's public interface for custom ops; imports onnxruntime when asked.
"""

import importlib.metadata
from typing import Any

from models_tf.errors import InputError
from models_tf.ops.projection.library import library_path

DOMAIN = "export.mobile"
DOMAIN_VERSION = 1
OP_NAME = "SequenceProjection"
MINIMUM_VERSION = (1, 16)  # custom ops that return a status


def session_options_with_projection(num_threads: int = 1) -> Any:
    """`onnxruntime.SessionOptions` with the op registered; one thread by default."""
    try:
        version = importlib.metadata.version("onnxruntime")
    except importlib.metadata.PackageNotFoundError as error:
        raise InputError(
            "ONNX Runtime must be installed. Received: no distribution onnxruntime. Remedy: pip install onnxruntime."
        ) from error
    if tuple(int(part) for part in version.split(".")[:2]) < MINIMUM_VERSION:
        raise InputError(
            f"The projection op needs onnxruntime {'.'.join(map(str, MINIMUM_VERSION))} or newer. Received: {version}."
            " Remedy: pip install --upgrade onnxruntime."
        )
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = num_threads
    options.register_custom_ops_library(str(library_path("ort")))
    return options
