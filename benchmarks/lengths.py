"""What any length without padding saves: one file on the texts as long as they are, and padded to its longest.

    python benchmarks/lengths.py CHECKPOINT EVAL_DATA CALIBRATION_DATA WORK_FOLDER --max-seq-len 128 --result FILE

Both formats, int8 and int8-dynamic. Each text runs at its own length and padded, in turn, in two copies of the runtime;
time is the processor's, one thread, with the resize where the length changes. Texts come in the order of the file, so
nearly every one is a resize. Accuracy is that of both ways on the same texts. A second table has the time at fixed
lengths. An export that is done is not repeated.
"""

import argparse
import json
import shlex
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from in_turn import TARGETS, export, redact

from exporters.formats.base import get
from exporters.report.versions import cpu_name
from exporters.shipped.model import open_one
from exporters.shipped.rows import read
from models_tf.tasks.rows import Columns

RECIPES = ("int8", "int8-dynamic")
LENGTHS = (16, 32, 64, 128)
ROUNDS = 15


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("checkpoint", "eval_data", "calibration_data", "work"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--max-seq-len", type=int, default=128)
    parser.add_argument("--result", type=Path, required=True)
    options = parser.parse_args()
    files = []
    for recipe in RECIPES:
        folder = options.work / recipe
        data = {"eval_data": options.eval_data, "calibration_data": options.calibration_data}
        export(options.checkpoint, folder, length=options.max_seq_len, quantize=recipe, **data)
        for target in TARGETS:
            found = measured(folder / f"model_{recipe.replace('-', '_')}.{target}", options)
            files.append({"target": target, "recipe": recipe, **found})
            print(files[-1], flush=True)
    result = {
        "command": f"python benchmarks/lengths.py {shlex.join(redact(arg) for arg in sys.argv[1:])}",
        "cpu": cpu_name(),
        "threads": 1,
        "max_seq_len": options.max_seq_len,
        "files": files,
    }
    options.result.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


def measured(path: Path, options: argparse.Namespace) -> dict[str, Any]:
    shipped = open_one(path)
    examples = read(shipped, options.eval_data, columns=Columns(), label_separator=",")
    feed = {name: np.concatenate([chunk[name] for chunk in examples.chunks(256)]) for name in shipped.inputs}
    format_ = get(path.suffix.removeprefix("."))
    own, padded = (format_.runner(shipped.file, inputs=shipped.inputs, padded=way) for way in (False, True))
    rows = [{name: values[i : i + 1] for name, values in feed.items()} for i in range(len(feed["ids"]))]
    answers: dict[str, list[Any]] = {"own": [], "padded": []}
    times: dict[str, list[float]] = {"own": [], "padded": []}
    for row in rows[:5]:
        own(row), padded(row)
    for row in rows:
        for name, run in (("own", own), ("padded", padded)):
            start = time.thread_time()
            found = run(row)
            times[name].append(time.thread_time() - start)
            answers[name].append(found["logits"][0])
    mean = {name: 1000 * float(np.mean(taken)) for name, taken in times.items()}
    logits = {name: np.stack(found) for name, found in answers.items()}
    scores = {name: examples.score({"logits": found}, seed=0).value for name, found in logits.items()}
    right = {name: round(value * len(rows) / 100) for name, value in scores.items()}
    tokens = feed["mask"].sum(1)
    return {
        "rows": len(rows),
        "mean_tokens": round(float(tokens.mean()), 2),
        "mean_ms": {name: round(value, 3) for name, value in mean.items()},
        "ratio": round(mean["own"] / mean["padded"], 3),
        "right": right,
        "same_answer": int((logits["own"].argmax(1) == logits["padded"].argmax(1)).sum()),
        "largest_difference": round(float(np.abs(logits["own"] - logits["padded"]).max()), 4),
        "ms_at": at_lengths(padded, shipped.inputs, options.max_seq_len),
    }


def at_lengths(run: Any, inputs: tuple[str, ...], longest: int) -> dict[int, float]:
    """Median milliseconds of rows without padding, lengths in turn; a resize is not counted."""
    times: dict[int, list[float]] = {length: [] for length in LENGTHS if length <= longest}
    for _ in range(ROUNDS):
        for length, taken in times.items():
            ids = np.random.default_rng(0).integers(1000, 2000, (1, length), dtype=np.int32)
            values = {"ids": ids, "mask": np.ones_like(ids), "segments": np.zeros_like(ids)}
            row = {name: values[name] for name in inputs}
            run(row)
            start = time.thread_time()
            run(row)
            taken.append(time.thread_time() - start)
    return {length: round(1000 * float(np.median(taken)), 3) for length, taken in times.items()}


if __name__ == "__main__":
    main()
