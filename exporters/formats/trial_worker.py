"""Loads files and runs one row through each, one file after the other, in a process of its own.

`trials.py` starts it with `python -m` and speaks in frames (`file_worker.py`). Each names a format, a file and holds
one row; it is answered when the file has run, or with `{"error": line}`. A runtime may end the process: then the file
that was not answered is the one.
"""

import importlib
import os
import sys
from pathlib import Path
from typing import Any

from exporters.formats.file_worker import read_frame, write_frame
from exporters.formats.runners import Feed
from exporters.formats.tensor_names import SIGNATURE
from exporters.formats.tflite.runtime_worker import unpack


def run_once(found: Any, path: Path, feed: Feed) -> None:
    """Every signature of the file."""
    inputs, file = tuple(feed), found.open(path)
    for signature in file.signatures:
        options = {} if signature == SIGNATURE else {"signature": signature}
        found.runner(file, inputs=inputs, **options)(feed)


def main() -> int:
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # the runtime may print; stdout belongs to the answers
    while (frame := read_frame(sys.stdin.buffer)) is not None:
        header, feed = frame[0], unpack(frame[1])
        module, attribute = header["format"].split(":")
        try:
            run_once(getattr(importlib.import_module(module), attribute), Path(header["path"]), feed)
        except Exception as error:  # noqa: BLE001 - whatever a runtime raises is one line to the parent
            write_frame(replies, {"error": " ".join(str(error).split()) or type(error).__name__})
        else:
            write_frame(replies, {})
    replies.close()
    os._exit(0)  # at once: nothing is left to do, and a runtime may crash while it cleans up


if __name__ == "__main__":
    sys.exit(main())
