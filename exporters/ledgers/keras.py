"""The Keras model of an export, on the rows of a ledger: from the request that its report records."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from exporters.formats.tensor_names import FEATURES, TEXT
from exporters.shipped.inputs import Feeds
from exporters.shipped.model import PROJECTION_FILE, REPORT_FILE
from models_tf import extras
from models_tf.checkpoints.json_text import read_json_file
from models_tf.errors import InputError
from models_tf.processes import tied
from models_tf.spec import IDS, MASK, SEGMENTS

_SECONDS = 900
_LONGEST = 300


def answers(folder: Path, feeds: Feeds) -> tuple[dict[str, np.ndarray], ...] | str:
    """The outputs of each row, or why there are none."""
    try:
        extras.require(extras.EXPORT, "The Keras model")
        request = _request(folder)
        feed = _feed(folder, feeds.rows)
    except InputError as error:
        return str(error)
    with tempfile.TemporaryDirectory(prefix="export-mobile-keras-") as place:
        (Path(place) / "request.json").write_text(json.dumps(_absolute(request)))
        with (Path(place) / "feed.npz").open("wb") as file:
            np.savez(file, **feed)
        packages = str(Path(__file__).resolve().parents[2])
        path = os.pathsep.join(filter(None, (packages, os.environ.get("PYTHONPATH"))))
        try:
            done = subprocess.run(
                tied([sys.executable, "-m", "exporters.ledgers.keras_worker"]),
                cwd=place,
                env={**os.environ, "PYTHONPATH": path},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return f"no answer in {_SECONDS} s"
        if done.returncode:
            lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
            return lines[-1][:_LONGEST]
        with np.load(Path(place) / "answers.npz", allow_pickle=False) as found:
            arrays = dict(found)
    return tuple({name: values[row : row + 1] for name, values in arrays.items()} for row in range(len(feeds.rows)))


def _request(folder: Path) -> dict[str, Any]:
    if not (folder / REPORT_FILE).is_file():
        raise InputError(f"{folder} has no {REPORT_FILE}, which records the request of an export.")
    document = read_json_file(folder / REPORT_FILE)
    request = document.get("request") if isinstance(document, dict) else None
    if not isinstance(request, dict) or not request:
        raise InputError(f"{folder / REPORT_FILE} records no request.")
    return request


def _absolute(request: Mapping[str, Any]) -> dict[str, Any]:
    """Paths are as the user gave them, from the current folder; the worker has another."""
    names = ("checkpoint", "eval_data", "calibration_data", "importance_data")
    return {
        name: str(Path(value).absolute()) if name in names and isinstance(value, str) else value
        for name, value in request.items()
    }


def _feed(folder: Path, rows: Sequence[Mapping[str, Any]]) -> dict[str, np.ndarray]:
    """All rows as one batch, padded."""
    if IDS in rows[0]:
        longest = max(len(row[IDS]) for row in rows)
        return {
            name: np.stack([_padded(row.get(name, np.zeros_like(row[IDS])), longest) for row in rows])
            for name in (IDS, MASK, SEGMENTS)
        }
    if FEATURES in rows[0]:
        return {FEATURES: np.stack([row[FEATURES] for row in rows])}
    from models_tf.ops.projection.config import ProjectionConfig
    from models_tf.ops.projection.library import HostProjection

    document = read_json_file(folder / PROJECTION_FILE)
    host = HostProjection(ProjectionConfig.from_dict(document["config"]))
    return {FEATURES: host.project([row[TEXT] for row in rows])[0]}


def _padded(values: np.ndarray, length: int) -> np.ndarray:
    made = np.zeros(length, np.int32)
    made[: len(values)] = values
    return made
