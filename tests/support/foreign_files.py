"""Model files as other tools write them: converters, exporters and quantizers of TensorFlow, PyTorch and ONNX Runtime.

Nothing here goes through the code of this project.
"""

import functools

from support.foreign_onnx import ONNX
from support.foreign_tflite import TFLITE

TFLITE_NAMES = tuple(function.__name__ for function in TFLITE)
ONNX_NAMES = tuple(function.__name__ for function in ONNX)


@functools.cache
def made(name: str) -> bytes:
    """The bytes of a kind of file."""
    return next(function for function in (*TFLITE, *ONNX) if function.__name__ == name)()
