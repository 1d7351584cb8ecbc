"""Runs one model file in a process of its own: a runtime that dies on a damaged file must not take the command along.

`isolated.py` starts it with `python -m` and speaks in frames: eight bytes of length, a line of JSON, an .npz. The first
names the file; each further one holds inputs and is answered with outputs, or with times. An error is answered as
`{"error": line}`.
"""

import hashlib
import json
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from exporters.formats.tflite.runtime_worker import packed, unpack

# What a run is timed against, so that a slow moment of the machine hits both: a hash, which knows no threads or caches.
_YARDSTICK = bytes(1 << 20)
_YARDSTICKS = 4
_SHORTEST_SECONDS = 0.005
_MOST_RUNS = 1000


def write_frame(stream: BinaryIO, header: Mapping[str, Any], body: bytes = b"") -> None:
    content = json.dumps(header).encode() + b"\n" + body
    stream.write(len(content).to_bytes(8, "big") + content)
    stream.flush()


def read_frame(stream: BinaryIO) -> tuple[dict[str, Any], bytes] | None:
    """None at the end of the stream, also where it ends within a frame."""
    size = stream.read(8)
    if len(size) < 8:
        return None
    content = stream.read(int.from_bytes(size, "big"))
    if len(content) < int.from_bytes(size, "big"):
        return None
    line, _, body = content.partition(b"\n")
    header: dict[str, Any] = json.loads(line)
    return header, body


def times(run: Any, rounds: int) -> dict[str, np.ndarray]:
    """Processor seconds of one run and of the yardstick, round by round."""
    run()
    start = time.process_time()
    run()
    runs = int(min(_MOST_RUNS, max(1, _SHORTEST_SECONDS / max(time.process_time() - start, 1e-9))))
    found: dict[str, list[float]] = {"run": [], "yardstick": []}
    for _ in range(rounds):
        start = time.process_time()
        for _ in range(runs):
            run()
        middle = time.process_time()
        for _ in range(_YARDSTICKS):
            hashlib.sha256(_YARDSTICK)
        found["run"].append((middle - start) / runs)
        found["yardstick"].append((time.process_time() - middle) / _YARDSTICKS)
    return {name: np.array(values) for name, values in found.items()}


def main() -> int:
    from exporters.formats import base

    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # the runtime may print; stdout belongs to the answers
    first = read_frame(sys.stdin.buffer)
    if first is None:
        return 1
    path, inputs = Path(first[0]["path"]), tuple(first[0]["inputs"])
    try:
        found = base.get(path.suffix.removeprefix("."))
        file = found.open(path)
        runner = found.runner(file, inputs=inputs)
        write_frame(replies, {})
        while (frame := read_frame(sys.stdin.buffer)) is not None:
            header, feed = frame[0], unpack(frame[1])
            if "rounds" in header:
                made = times(found.start(file.content, feed).run, header["rounds"])
            else:
                made = runner(feed)
            write_frame(replies, {}, packed(made))
    except Exception as error:  # noqa: BLE001 - whatever a runtime raises is one line to the parent
        write_frame(replies, {"error": " ".join(str(error).split()) or type(error).__name__})
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
