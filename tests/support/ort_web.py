"""Models in memory in ONNX Runtime Web; the runtime itself is in `exporters.runtimes.ort_web`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from exporters.runtimes import ort_web
from exporters.runtimes.ort_web import missing
from exporters.runtimes.row_jobs import Job

__all__ = ["missing", "run"]


def run(models: Sequence[Any], rows: Sequence[Sequence[Mapping[str, np.ndarray]]], folder: Path) -> list[list[dict]]:
    """For each model the answers of each of its rows, by name. What they took is in `times.json` of the folder."""
    jobs = []
    for number, (model, own) in enumerate(zip(models, rows, strict=True)):
        path = folder / f"{number}.onnx"
        path.write_bytes(model.SerializeToString())
        jobs.append(Job(path=path, rows=[dict(row) for row in own]))
    found = ort_web.run(jobs, folder)
    refused = [one["error"] for one in found if "error" in one]
    if refused:
        raise RuntimeError(refused[0])
    return [[{name: ort_web.taken(value) for name, value in row.items()} for row in one["answers"]] for one in found]
