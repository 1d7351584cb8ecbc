"""`InspectRequest`: the file to look into. Its fields are the flags of the command. Imports nothing heavy."""

from dataclasses import dataclass
from pathlib import Path

from exporters.request_fields import check_fields
from models_tf.bounded_files import what_is
from models_tf.errors import InputError, naming_fields


@dataclass(frozen=True, kw_only=True)
class InspectRequest:
    """One inspection: what a model file holds, and what the runtimes will do with it.

    Args:
        file: a .tflite or .onnx file, from this project or any other tool.
        runtime: load the file in LiteRT or ONNX Runtime as well, in a process of its own, and say what they do with it.

    Raises:
        InputError: a value of the wrong type, or no such file; in one line.
    """

    file: Path
    runtime: bool = True

    @naming_fields()
    def __post_init__(self) -> None:
        check_fields(self)
        if not self.file.is_file():
            raise InputError(f"inspect takes a .tflite or .onnx file. Received: {self.file} ({what_is(self.file)}).")
