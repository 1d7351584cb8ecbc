"""`IsolatedRunner`: a `Runner` whose file runs in a process of its own. See `file_worker.py`."""

import contextlib
import io
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, cast

import numpy as np

from exporters.formats.file_worker import read_frame, write_frame
from exporters.formats.runners import Feed, Outputs, RunnerError
from exporters.formats.tflite.runtime_worker import pack

_LONGEST_REASON = 300


class IsolatedRunner:
    """`with IsolatedRunner(path, inputs=("text",)) as run: outputs = run(feed)`."""

    def __init__(self, path: Path, *, inputs: tuple[str, ...]) -> None:
        self.name, self.inputs = path.name, inputs
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed in `close`
        self._process = subprocess.Popen(
            [sys.executable, "-m", "exporters.formats.file_worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            cwd=Path(__file__).resolve().parents[2],  # where the packages are
        )
        self._send({"path": str(path.resolve()), "inputs": list(inputs)})
        self._loaded = False

    def __enter__(self) -> "IsolatedRunner":  # noqa: PYI034 - typing.Self needs Python 3.11
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __call__(self, feed: Feed) -> Outputs:
        return self._ask({}, feed)

    def times(self, feed: Feed, rounds: int) -> Outputs:
        """Processor seconds of one row ("run") and of a fixed piece of work ("yardstick"), round by round."""
        return self._ask({"rounds": rounds}, feed)

    def close(self) -> None:
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        self._process.kill()
        self._process.wait()
        self._errors.close()

    def _ask(self, header: Mapping[str, Any], feed: Feed) -> Outputs:
        if not self._loaded:
            self._receive()
            self._loaded = True
        self._send(header, pack({name: feed[name] for name in self.inputs}))
        with np.load(io.BytesIO(self._receive()), allow_pickle=False) as arrays:
            return dict(arrays)

    def _send(self, header: Mapping[str, Any], body: bytes = b"") -> None:
        with contextlib.suppress(OSError):  # the process has died: `_receive` says why
            write_frame(cast("BinaryIO", self._process.stdin), header, body)

    def _receive(self) -> bytes:
        frame = read_frame(cast("BinaryIO", self._process.stdout))
        if frame is None:
            raise RunnerError(f"{self.name}: the runtime crashed on this file ({self._end()})")
        header, body = frame
        if "error" in header:
            raise RunnerError(f"{self.name}: {str(header['error'])[:_LONGEST_REASON]}")
        return body

    def _end(self) -> str:
        """How the process ended: its signal or exit code, and the last line it wrote."""
        code = self._process.wait()
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        said = f": {lines[-1][:_LONGEST_REASON]}" if lines else ""
        return f"{f'signal {-code}' if code < 0 else f'exit code {code}'}{said}"
