"""Runs one .tflite file in tflite-runtime, in a process of its own: beside TensorFlow it cannot be loaded.

`python -m exporters.formats.tflite.runtime_worker MODEL INPUT[,INPUT...]` reads an .npz from stdin (an array by the name of each
input; texts as NAME.blob and NAME.offsets) and writes an .npz of the outputs to stdout. An error is one line on stderr
and exit code 1.
"""

import io
import itertools
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

RUNTIME = "tflite-runtime"
_BLOB, _OFFSETS = ".blob", ".offsets"


def pack(feed: Mapping[str, np.ndarray | Sequence[bytes]]) -> bytes:
    """The worker's input."""
    arrays: dict[str, np.ndarray] = {}
    for name, values in feed.items():
        if isinstance(values, np.ndarray):
            arrays[name] = values
        else:
            arrays[name + _BLOB] = np.frombuffer(b"".join(values), np.uint8)
            arrays[name + _OFFSETS] = np.cumsum([0, *map(len, values)])
    return packed(arrays)


def packed(arrays: Mapping[str, np.ndarray]) -> bytes:
    """Arrays by name as .npz, without pickle."""
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def unpack(data: bytes) -> dict[str, np.ndarray | Sequence[bytes]]:
    feed: dict[str, np.ndarray | Sequence[bytes]] = {}
    with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
        for key in arrays:
            if key.endswith(_BLOB):
                name = key.removesuffix(_BLOB)
                blob, offsets = arrays[key].tobytes(), arrays[name + _OFFSETS]
                feed[name] = [blob[start:end] for start, end in itertools.pairwise(offsets)]
            elif not key.endswith(_OFFSETS):
                feed[key] = arrays[key]
    return feed


def main() -> int:
    from exporters.formats.tflite.runner import TfliteRunner

    answer = os.dup(1)
    os.dup2(2, 1)  # the runtime may print; stdout belongs to the answer
    try:
        path, inputs = Path(sys.argv[1]), tuple(sys.argv[2].split(","))
        runner = TfliteRunner(path.read_bytes(), name=path.name, inputs=inputs, runtime=RUNTIME)
        outputs = runner(unpack(sys.stdin.buffer.read()))
    except (ImportError, RuntimeError, ValueError) as error:
        print(" ".join(str(error).split()), file=sys.stderr)
        return 1
    with os.fdopen(answer, "wb") as pipe:
        pipe.write(packed(outputs))
    return 0


if __name__ == "__main__":
    sys.exit(main())
