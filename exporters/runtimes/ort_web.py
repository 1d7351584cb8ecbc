"""ONNX Runtime Web in node: runs .onnx files in the npm package `onnxruntime-web`, in a process of its own."""

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from exporters.runtimes import npm
from exporters.runtimes.row_jobs import Answer, Job
from models_tf.processes import tied

SCRIPT = Path(__file__).with_name("run_in_ort_web.cjs")
# Of one file: some seconds for 200 rows of a small one, minutes for one of 100 MB.
_SECONDS = 600
_LONGEST = 300


def missing() -> str:
    """What is not there, "" if nothing."""
    if shutil.which("node") is None:
        return "node (Debian package nodejs)"
    if npm.node_modules(npm.ORT_WEB) is None:
        return f"the npm package {npm.ORT_WEB} ({npm.REMEDY}, or in a folder that NODE_PATH names)"
    return ""


def version() -> str:
    folder = npm.node_modules(npm.ORT_WEB)
    return "" if folder is None else npm.version(folder, npm.ORT_WEB)


def run_rows(jobs: Sequence[Job]) -> list[Answer]:
    """Each file in a process of its own: memory of WebAssembly is never given back."""
    return [_run(job) for job in jobs]


def _run(job: Job) -> Answer:
    with tempfile.TemporaryDirectory(prefix="export-mobile-web-") as place:
        try:
            (found,) = run([job], Path(place))
        except RuntimeError as error:
            return Answer(error=str(error)[:_LONGEST])
    if "error" in found:
        return Answer(error=" ".join(str(found["error"]).split())[:_LONGEST])
    rows = [{name: taken(value) for name, value in row.items()} for row in found["answers"]]
    return Answer(rows=tuple(rows))


def run(jobs: Sequence[Job], folder: Path) -> list[dict[str, Any]]:
    """For each file {"answers"} or {"error"}. What they took is in `times.json` of the folder."""
    documents = [
        {
            "model": str(job.path.resolve()),
            "types": {name: value.dtype.name for name, value in job.rows[0].items()},
            "rows": [{name: _given(array) for name, array in row.items()} for row in job.rows],
        }
        for job in jobs
    ]
    (folder / "job.json").write_text(json.dumps(documents))
    command = ["node", str(SCRIPT), *(str(folder / name) for name in ("job.json", "result.json", "times.json"))]
    environment = {**os.environ, "NODE_PATH": str(npm.node_modules(npm.ORT_WEB) or "")}
    try:
        done = subprocess.run(
            tied(command),
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SECONDS * len(jobs),
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise RuntimeError(f"no answer in {_SECONDS} s") from error
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()] or [f"exit code {done.returncode}"]
        raise RuntimeError(lines[0])
    found: list[dict[str, Any]] = json.loads((folder / "result.json").read_text())
    return found


def taken(value: Mapping[str, Any]) -> np.ndarray:
    return np.array(value["data"], np.float32).reshape(value["dims"])


def _given(array: np.ndarray) -> dict[str, Any]:
    return {"dims": list(array.shape), "data": array.ravel().tolist()}
