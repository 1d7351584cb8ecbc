"""Exports of several token models, and their latency in turns. For the other scripts here.

Time is the processor's, of the one thread that computes: what else the machine does then hardly counts.
"""

import json
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from exporters.formats.base import load_runner

TARGETS = ("tflite", "onnx")
WARM_UP = 2


def export(
    checkpoint: Path,
    folder: Path,
    *,
    eval_data: Path,
    calibration_data: Path,
    length: int,
    quantize: str = "int8",
    eval_rows: int | None = None,
) -> dict[str, Any]:
    """The report of an export; one that is done is not repeated."""
    if not (folder / "report.json").is_file():
        command: list[Any] = ["--checkpoint", checkpoint, "--quantize", quantize, "--max-seq-len", length]
        command += ["--eval-data", eval_data, "--calibration-data", calibration_data, "--output", folder]
        command += ["--eval-rows", eval_rows] if eval_rows else []
        subprocess.run([sys.executable, "-m", "exporters", *map(str, command)], check=True)
    return json.loads((folder / "report.json").read_text(encoding="utf-8"))


def ratios(folders: Mapping[str, Path], *, base: str, rounds: int) -> dict[str, dict[str, dict[str, float]]]:
    """Name -> target -> low, median and high (quartiles over the rounds) of the time against that of `base`."""
    found: dict[str, dict[str, dict[str, float]]] = {name: {} for name in folders}
    for target in TARGETS:
        runners, feeds = {}, {}
        for name, folder in folders.items():
            report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
            file = next(entry["name"] for entry in report["files"] if entry["target"] == target)
            runners[name] = load_runner(folder / file, inputs=tuple(report["model"]["inputs"]))
            length = report["model"]["max_seq_len"]
            ids = np.random.default_rng(0).integers(1000, 2000, (1, length), dtype=np.int32)
            feeds[name] = {"ids": ids, "mask": np.ones_like(ids), "segments": np.zeros_like(ids)}
        times: dict[str, list[float]] = {name: [] for name in runners}
        for turn in range(rounds + WARM_UP):
            for name, runner in runners.items():
                start = time.thread_time()
                runner(feeds[name])
                if turn >= WARM_UP:
                    times[name].append(time.thread_time() - start)
        for name, taken in times.items():
            quartiles = np.percentile(np.array(taken) / np.array(times[base]), (25, 50, 75))
            row = dict(zip(("low", "median", "high"), map(float, quartiles), strict=True))
            found[name][target] = {key: round(value, 3) for key, value in row.items()}
    return found


def measured(report: dict[str, Any]) -> dict[str, Any]:
    """What a report says of the accuracy and the bytes: Keras, and the int8 file of each target."""
    keras = report["accuracy"][0]["score"]
    found: dict[str, Any] = {
        "parameters": report["model"]["parameters"],
        "rows": keras["n"],
        "float_right": right(keras),
        "float_accuracy": keras["value"],
        "standard_error": keras["standard_error"],
    }
    for target in TARGETS:
        entry = next(file for file in report["files"] if file["target"] == target)
        stage = next(row for row in report["accuracy"] if row["stage"].startswith(entry["name"]))
        found[target] = {
            "size_bytes": entry["size_bytes"],
            "right": right(stage["score"]),
            "accuracy": stage["score"]["value"],
        }
    return found


def right(score: dict[str, Any]) -> int:
    return round(score["value"] * score["n"] / 100)


def redact(argument: str) -> str:
    """Folders of one machine mean nothing on another."""
    return Path(argument).name if "/" in argument else argument
