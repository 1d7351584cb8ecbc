"""Models in memory in LiteRT.js; the runtime itself is in `exporters.runtimes.litert_js`."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from exporters.runtimes import litert_js
from exporters.runtimes.litert_js import missing
from exporters.runtimes.row_jobs import Job

__all__ = ["RefusedError", "answers", "missing"]


class RefusedError(Exception):
    """LiteRT.js does not take the file."""


def answers(model: bytes, feed: Mapping[str, np.ndarray], folder: Path) -> np.ndarray:
    """The first output, float32, of all rows of inputs of any type."""
    (folder / "model.tflite").write_bytes(model)
    count = len(next(iter(feed.values())))
    rows = [{name: values[row : row + 1] for name, values in feed.items()} for row in range(count)]
    answer, _ = litert_js.run(Job(path=folder / "model.tflite", rows=rows))
    if answer.error:
        raise RefusedError(answer.error)
    return np.concatenate([next(iter(row.values())).ravel() for row in answer.rows])
