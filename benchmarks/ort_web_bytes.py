"""Bytes-in graphs in ONNX Runtime Web (WebAssembly, in node): how long they take to load and for a row.

    PYTHONPATH=tests python benchmarks/ort_web_bytes.py FOLDER_OF_AN_EXPORT ROWS.tsv RESULT.json    ROWS.tsv: text

The front of the bundled models alone, and of the export its int8 files of bytes-in and features-in graphs. One thread;
files take turns, each turn is a new process: loading starts the runtime as well, and the first rows wait for
WebAssembly's compiler. After some rows the file is loaded again, and rows are timed. Times are quartiles, of the clock
and of the processor, which counts the compiler's threads. Answers are checked: features against the C++ core, logits of
bytes-in against features-in. Needs the npm package onnxruntime-web, in a folder that NODE_PATH names.
"""

import csv
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from exporters.bytes_in.settings import BytesIn
from exporters.formats.onnx.bytes_in import bytes_in_model
from exporters.report.versions import cpu_name
from models_tf.ops.projection.config import ProjectionConfig
from models_tf.ops.projection.library import HostProjection
from support import bytes_fronts, ort_web

TURNS, WARM_UP, ROWS = 5, 400, 200
START, FRONT, BYTES, FEATURES = "one operator", "front of the bundled models", "bytes_int8.onnx", "features_int8.onnx"


def measure(export: Path, table: Path) -> dict[str, Any]:
    with table.open(encoding="utf-8", newline="") as file:
        texts = [row["text"] for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)][:ROWS]
    config, _ = bytes_fronts.CONFIGS["bundled"]
    settings = json.loads((export / "projection.json").read_text(encoding="utf-8"))["config"]
    features = HostProjection(ProjectionConfig.from_dict(settings)).project(texts)[0]
    smallest = '<ir_version: 8, opset_import: ["": 13]> g (float[1] x) => (float[1] y) {y = Relu(x)}'
    models = {START: onnx.parser.parse_model(smallest), FRONT: bytes_in_model(BytesIn(config=config))} | {
        name: onnx.load(export / name) for name in (BYTES, FEATURES)
    }
    as_bytes = [{"text": np.frombuffer(text.encode(), np.uint8)[None]} for text in texts]
    nothing = [{"x": np.zeros(1, np.float32)}] * len(texts)
    given = {START: nothing, FRONT: as_bytes, BYTES: as_bytes, FEATURES: [{"features": row[None]} for row in features]}
    answers: dict[str, np.ndarray] = {}
    times: dict[str, list[list[dict[str, Any]]]] = {name: [] for name in models}
    for name in list(models) * TURNS:
        with tempfile.TemporaryDirectory() as folder:
            own = [given[name] * (WARM_UP // ROWS), given[name]]
            _, found = ort_web.run([models[name]] * 2, own, Path(folder))
            times[name].append(json.loads(Path(folder, "times.json").read_text()))
        answers[name] = np.concatenate([next(iter(answer.values())) for answer in found])
    core = HostProjection(config).project(texts)[0]
    return {
        "rows": len(texts),
        "warm_up": WARM_UP,
        "turns": TURNS,
        "different_from_the_core": int((answers[FRONT] != core).any(axis=(1, 2)).sum()),
        "different_from_features_in": int((answers[BYTES] != answers[FEATURES]).any(axis=1).sum()),
        "files": {
            name: {
                "size_bytes": len(model.SerializeToString()),
                "operators": len(model.graph.node),
                "load_ms": quartiles([first["load"] for first, _ in times[name]]),
                "first_row_ms": quartiles([first["rows"][0] for first, _ in times[name]]),
                "load_again_ms": quartiles([again["load"] for _, again in times[name]]),
                "row_ms": quartiles([row for _, again in times[name] for row in again["rows"]]),
            }
            for name, model in models.items()
        },
    }


def quartiles(values: list[Sequence[float]]) -> dict[str, list[float]]:
    """Low, median and high, of the clock and of the processor."""
    found = np.quantile(np.array(values), (0.25, 0.5, 0.75), axis=0).T
    return dict(zip(("clock", "processor"), found.round(3).tolist(), strict=True))


def web_version() -> str:
    script = "console.log(require('onnxruntime-web').env.versions.web)"
    found = subprocess.run(["node", "-e", script], capture_output=True, text=True, check=True)
    return found.stdout.strip()


def main() -> None:
    if ort_web.missing():
        sys.exit(f"Needs {ort_web.missing()}.")
    export, table, result = map(Path, sys.argv[1:])
    document = {
        "command": "PYTHONPATH=tests python benchmarks/ort_web_bytes.py FOLDER_OF_AN_EXPORT ROWS.tsv RESULT.json",
        "cpu": cpu_name(),
        "onnxruntime_web": web_version(),
        "threads": 1,
        "data": f"{table.parent.name}/{table.name}",
        **measure(export, table),
    }
    result.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(document, indent=2))


if __name__ == "__main__":
    main()
