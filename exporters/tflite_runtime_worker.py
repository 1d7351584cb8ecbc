"""Runs one .tflite file in tflite-runtime, in a process of its own: beside TensorFlow it cannot be loaded.

`python -m exporters.tflite_runtime_worker MODEL features|text` reads an .npz from stdin (`features`, or texts as `blob` and
`offsets`) and writes an .npy of logits to stdout. An error is one line on stderr and exit code 1.
"""

import io
import itertools
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

RUNTIME = "tflite-runtime"


def pack(values: np.ndarray | Sequence[bytes]) -> bytes:
    """The worker's input: features [rows, time, feature] or texts."""
    stream = io.BytesIO()
    if isinstance(values, np.ndarray):
        np.savez(stream, features=values)
    else:
        offsets = np.cumsum([0, *map(len, values)])
        np.savez(stream, blob=np.frombuffer(b"".join(values), np.uint8), offsets=offsets)
    return stream.getvalue()


def unpack(data: bytes) -> np.ndarray | list[bytes]:
    with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
        if "features" in arrays:
            return arrays["features"]
        blob, offsets = arrays["blob"].tobytes(), arrays["offsets"]
    return [blob[start:end] for start, end in itertools.pairwise(offsets)]


def main() -> int:
    from exporters.runners import TfliteRunner

    answer = os.dup(1)
    os.dup2(2, 1)  # the runtime may print; stdout belongs to the answer
    try:
        runner = TfliteRunner(Path(sys.argv[1]), takes=sys.argv[2], runtime=RUNTIME)
        logits = runner(unpack(sys.stdin.buffer.read()))
    except (ImportError, RuntimeError, ValueError) as error:
        print(" ".join(str(error).split()), file=sys.stderr)
        return 1
    stream = io.BytesIO()
    np.save(stream, logits)
    with os.fdopen(answer, "wb") as pipe:
        pipe.write(stream.getvalue())
    return 0


if __name__ == "__main__":
    sys.exit(main())
