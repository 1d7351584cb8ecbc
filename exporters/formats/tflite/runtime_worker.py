"""Runs one .tflite file in tflite-runtime, in its own process: it cannot be loaded beside TensorFlow.

`runner.py` starts it with `python -m`. Stdin holds a line with the model's path (JSON), then an .npz with one array per
input; texts are NAME.blob and NAME.offsets. The outputs go to stdout as .npz. An error is one line on stderr and exit
code 1.
"""

import io
import itertools
import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

RUNTIME = "tflite-runtime"
_BLOB, _OFFSETS = ".blob", ".offsets"


def request(path: Path, feed: Mapping[str, np.ndarray | Sequence[bytes]]) -> bytes:
    """What the worker reads from stdin."""
    return json.dumps(str(path)).encode() + b"\n" + pack(feed)


def pack(feed: Mapping[str, np.ndarray | Sequence[bytes]]) -> bytes:
    """Inputs by name as .npz. Keeps their order."""
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
    """The inverse of `pack`."""
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
        path = Path(json.loads(sys.stdin.buffer.readline()))
        feed = unpack(sys.stdin.buffer.read())
        outputs = TfliteRunner(path.read_bytes(), name=path.name, inputs=tuple(feed), runtime=RUNTIME)(feed)
    except (ImportError, RuntimeError, ValueError) as error:
        print(" ".join(str(error).split()), file=sys.stderr)
        return 1
    with os.fdopen(answer, "wb") as pipe:
        pipe.write(packed(outputs))
    return 0


if __name__ == "__main__":
    sys.exit(main())
