"""`WorkerProcess`: a process of its own that is asked in frames (`file_worker.py`), and what is known when it dies."""

import contextlib
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, cast

from exporters.formats.file_worker import read_frame, write_frame
from exporters.formats.runners import RunnerError
from models_tf.processes import tied

_LONGEST_REASON = 300
# What libraries say whenever they start, which is no reason.
_IDLE_WORDS = ("INFO:", "I0000", "WARNING: All log messages")


class WorkerProcess:
    """`with WorkerProcess(module) as worker: worker.send(header, body); answer = worker.receive(file_name)`."""

    def __init__(self, module: str) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed in `close`
        self._process = subprocess.Popen(
            tied([sys.executable, "-m", module]),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            cwd=Path(__file__).resolve().parents[2],  # where the packages are
        )

    def __enter__(self) -> "WorkerProcess":  # noqa: PYI034 - typing.Self needs Python 3.11
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def send(self, header: Mapping[str, Any], body: bytes = b"") -> None:
        with contextlib.suppress(OSError):  # the process has died: `receive` says why
            write_frame(cast("BinaryIO", self._process.stdin), header, body)

    def receive(self, name: str) -> bytes:
        """The next answer. An error, or the end of the process, is a `RunnerError` about the file of this name."""
        frame = read_frame(cast("BinaryIO", self._process.stdout))
        if frame is None:
            raise RunnerError(f"{name}: the runtime crashed on this file ({self._end()})")
        header, body = frame
        if "error" in header:
            raise RunnerError(f"{name}: {str(header['error'])[:_LONGEST_REASON]}")
        return body

    def close(self) -> None:
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        self._process.kill()
        self._process.wait()
        self._errors.close()

    def _end(self) -> str:
        """How the process ended: its signal or exit code, and the last line it wrote."""
        code = self._process.wait()
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        told = [line for line in lines if not line.startswith(_IDLE_WORDS)]
        said = f": {told[-1][:_LONGEST_REASON]}" if told else ""
        return f"{f'signal {-code}' if code < 0 else f'exit code {code}'}{said}"
