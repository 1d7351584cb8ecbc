"""`--min-runtime`: whether the files written are such as that TensorFlow Lite runs, and how that is known.

Versions of operators decide, before anything else is done with a file. Where tflite-runtime is installed, the export
runs every file in it as well: what fails there, or answers something else, fails the export (`gate.py`).
"""

from collections.abc import Iterable

from exporters.formats.artifacts import Placed
from exporters.formats.tensor_names import BYTES
from exporters.request import ExportRequest
from models_tf.errors import InputError
from models_tf.ops.projection.tflite_loader import installed_version

_RUNTIME = "tflite-runtime"
_MOST_SHOWN = 3


def check(placed: Iterable[Placed], request: ExportRequest) -> None:
    """Refuses the first file with something that the runtime lacks, and names it."""
    if request.min_runtime is None:
        return
    for one in placed:
        lacking = one.format.beyond(one.file, request.oldest_runtime)
        if lacking:
            remedy = "choose another --quantize"
            if one.graph == BYTES:
                remedy = "leave bytes-in files out: --graphs features,text"
            more = f" and {len(lacking) - _MOST_SHOWN} more" if len(lacking) > _MOST_SHOWN else ""
            raise InputError(
                f"{one.name} needs {one.file.min_runtime or 'a newer runtime'} for {', '.join(lacking[:_MOST_SHOWN])}"
                f"{more}. Received: --min-runtime {request.min_runtime}; {remedy}."
            )


def notes(request: ExportRequest, *, refused: bool) -> tuple[str, ...]:
    """How it is known that the files run there, unless they were `refused`."""
    if request.min_runtime is None or refused:
        return ()
    found, wanted = installed_version(_RUNTIME), f"TensorFlow Lite {request.min_runtime}"
    if found is None:
        return (f"That {wanted} runs the files is judged by their operators: {_RUNTIME} is not installed here.",)
    if tuple(int(part) for part in found.split(".")[:2]) == request.oldest_runtime:
        return (f"The .tflite files were run in {_RUNTIME} {found}, as --min-runtime asks.",)
    return (f"That {wanted} runs the files is judged by their operators; they were run in {_RUNTIME} {found}.",)
