"""ONNX Runtime Web in node: finds the npm package `onnxruntime-web` and runs .onnx files in it.

Looked for as node does, that is in NODE_PATH too: `npm install onnxruntime-web`, in any folder, is enough.
"""

import json
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

SCRIPT = Path(__file__).parents[1] / "native" / "run_in_ort_web.cjs"
_SECONDS = 300


def missing() -> str:
    """What is not there, "" if nothing."""
    node = shutil.which("node")
    if node is None:
        return "node (Debian package nodejs)"
    found = subprocess.run([node, "-e", "require.resolve('onnxruntime-web')"], capture_output=True, check=False)
    return "" if found.returncode == 0 else "the npm package onnxruntime-web, in a folder that NODE_PATH names"


def run(models: Sequence[Any], rows: Sequence[Sequence[Mapping[str, np.ndarray]]], folder: Path) -> list[list[dict]]:
    """For each model the answers of each of its rows, by name. What they took is in `times.json` of the folder."""
    job = []
    for number, (model, own) in enumerate(zip(models, rows, strict=True)):
        path = folder / f"{number}.onnx"
        path.write_bytes(model.SerializeToString())
        job.append({"model": str(path), "rows": [{name: _given(array) for name, array in row.items()} for row in own]})
    (folder / "job.json").write_text(json.dumps(job))
    command = ["node", str(SCRIPT), *(str(folder / name) for name in ("job.json", "result.json", "times.json"))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    found = json.loads((folder / "result.json").read_text())
    return [[{name: _taken(value) for name, value in row.items()} for row in answers] for answers in found]


def _given(array: np.ndarray) -> dict[str, Any]:
    return {"type": array.dtype.name, "dims": list(array.shape), "data": array.ravel().tolist()}


def _taken(value: Mapping[str, Any]) -> np.ndarray:
    return np.array(value["data"], np.float32).reshape(value["dims"])
