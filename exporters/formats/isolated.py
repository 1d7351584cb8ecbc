"""`IsolatedRunner`: a `Runner` whose file runs in a process of its own. See `file_worker.py`."""

import io
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from exporters.formats.runners import Feed, Outputs
from exporters.formats.tflite.runtime_worker import pack
from exporters.formats.worker_process import WorkerProcess


class IsolatedRunner:
    """`with IsolatedRunner(path, inputs=("text",)) as run: outputs = run(feed)`."""

    def __init__(self, path: Path, *, inputs: tuple[str, ...]) -> None:
        self.name, self.inputs = path.name, inputs
        self._worker = WorkerProcess("exporters.formats.file_worker")
        self._worker.send({"path": str(path.resolve()), "inputs": list(inputs)})
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
        self._worker.close()

    def _ask(self, header: Mapping[str, Any], feed: Feed) -> Outputs:
        if not self._loaded:
            self._worker.receive(self.name)
            self._loaded = True
        self._worker.send(header, pack({name: feed[name] for name in self.inputs}))
        with np.load(io.BytesIO(self._worker.receive(self.name)), allow_pickle=False) as arrays:
            return dict(arrays)
