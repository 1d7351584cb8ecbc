"""One token model in every format and recipe: bytes, error, agreement, accuracy, and latency ratios of one run.

    python benchmarks/formats.py CHECKPOINT EVAL_DATA CALIBRATION_DATA WORK_FOLDER --max-seq-len 64 --result FILE

Accuracy and errors are those of the reports that the export writes. Latency is measured here, with all files loaded at
once and taking turns, so that a busy moment hits all of them: processor time of one thread, each ratio the median over
the rounds, with its quartiles. An export that is done is not repeated.
"""

import argparse
import json
import shlex
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from in_turn import redact

from exporters.formats.base import load_runner
from exporters.report.versions import cpu_name

RECIPES = ("float32", "fp16", "int4", "int8-dynamic", "int8")
TARGETS = ("tflite", "onnx")
BASE = ("tflite", "float32")
ROUNDS = 40


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("checkpoint", "eval_data", "calibration_data", "work"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--model", default="mobilebert")
    parser.add_argument("--max-seq-len", type=int, default=128)
    parser.add_argument("--result", type=Path, required=True)
    options = parser.parse_args()
    reports = {recipe: export(options, recipe) for recipe in RECIPES}
    ratios = latency_ratios(options.work, reports)
    keras = reports["float32"]["accuracy"][0]["score"]
    result = {
        "command": f"python benchmarks/formats.py {shlex.join(redact(arg) for arg in sys.argv[1:])}",
        "model": {
            key: reports["int8"]["model"][key] for key in ("name", "layers", "parameters", "max_seq_len", "rewrites")
        },
        "rows": keras["n"],
        "calibration_rows": reports["int8"]["data"]["calibration_rows"],
        "keras": {key: keras[key] for key in ("metric", "value", "standard_error")},
        "latency": {"cpu": cpu_name(), "threads": 1, "rounds": ROUNDS, "against": "LiteRT float32 of the same run"},
        "versions": reports["int8"]["versions"],
        "files": [record(reports[recipe], target, recipe, ratios) for target in TARGETS for recipe in RECIPES],
    }
    options.result.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


def export(options: argparse.Namespace, recipe: str) -> dict[str, Any]:
    folder = options.work / recipe
    if not (folder / "report.json").is_file():
        command = ["--model", options.model, "--checkpoint", options.checkpoint, "--quantize", recipe]
        command += ["--eval-data", options.eval_data, "--max-seq-len", options.max_seq_len, "--output", folder]
        command += ["--calibration-data", options.calibration_data] if recipe == "int8" else []
        subprocess.run([sys.executable, "-m", "exporters", *map(str, command)], check=True)
    return json.loads((folder / "report.json").read_text(encoding="utf-8"))


def file_name(report: dict[str, Any], target: str) -> str:
    return next(file["name"] for file in report["files"] if file["target"] == target)


def latency_ratios(work: Path, reports: dict[str, Any]) -> dict[tuple[str, str], dict[str, float]]:
    runners, names = {}, reports["float32"]["model"]["inputs"]
    for recipe, report in reports.items():
        for target in TARGETS:
            runners[target, recipe] = load_runner(work / recipe / file_name(report, target), inputs=tuple(names))
    length = reports["float32"]["model"]["max_seq_len"]
    ids = np.random.default_rng(0).integers(1000, 2000, (1, length), dtype=np.int32)
    feed = {"ids": ids, "mask": np.ones_like(ids), "segments": np.zeros_like(ids)}
    times: dict[tuple[str, str], list[float]] = {key: [] for key in runners}
    for turn in range(ROUNDS + 2):
        for key, runner in runners.items():
            start = time.thread_time()
            runner(feed)
            if turn >= 2:  # the first ones warm up
                times[key].append(time.thread_time() - start)
    base = np.array(times[BASE])
    quartiles = {key: np.percentile(np.array(taken) / base, (25, 50, 75)) for key, taken in times.items()}
    return {key: dict(zip(("low", "median", "high"), map(float, row), strict=True)) for key, row in quartiles.items()}


def record(
    report: dict[str, Any], target: str, recipe: str, ratios: dict[tuple[str, str], dict[str, float]]
) -> dict[str, Any]:
    name = file_name(report, target)
    size = next(file["size_bytes"] for file in report["files"] if file["name"] == name)
    parity = next(
        row for row in report["parity"] if row["candidate"] in (f"{name} on LiteRT", f"{name} on ONNX Runtime")
    )
    stage = next(row for row in report["accuracy"] if row["stage"].startswith(name))
    return {
        "target": target,
        "recipe": recipe,
        "size_bytes": size,
        "against": parity["reference"],
        "max_abs": parity["max_abs"],
        "mean_abs": parity["mean_abs"],
        "argmax_agreement": parity["argmax_agreement"],
        "parity_rows": parity["rows"],
        "right": round(stage["score"]["value"] / 100 * stage["score"]["n"]),
        "same": round(parity["argmax_agreement"] * parity["rows"]),
        "accuracy": stage["score"]["value"],
        "standard_error": stage["score"]["standard_error"],
        "drop": stage["drop"],
        "min_runtime": next(file["min_runtime"] for file in report["files"] if file["name"] == name),
        "latency_ratio": {key: round(value, 3) for key, value in ratios[target, recipe].items()},
    }


if __name__ == "__main__":
    main()
