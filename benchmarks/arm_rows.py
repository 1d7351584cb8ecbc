"""Logits of every int8 file of an export, on the machine that runs this; arm.sh runs it on two and compares.

python benchmarks/arm_rows.py FOLDER_OF_AN_EXPORT ROWS.tsv OUTPUT.npz     ROWS.tsv: text, label
python benchmarks/arm_rows.py --compare HERE.npz ARM.npz RESULT.json
"""

import csv
import importlib.metadata
import json
import platform
import sys
from pathlib import Path
from typing import Any

import numpy as np

from models_tf.ops.projection.config import ProjectionConfig
from models_tf.ops.projection.library import HostProjection
from models_tf.ops.projection.ort_loader import session_options_with_projection
from models_tf.ops.projection.tflite_loader import import_interpreter, interpreter

LIMIT = 300
TFLITE = ("litert", "tflite-runtime")
PACKAGES = {"litert": "ai-edge-litert", "tflite-runtime": "tflite-runtime", "onnxruntime": "onnxruntime"}


def measure(folder: Path, table: Path, output: Path) -> None:
    with table.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))[:LIMIT]
    texts = [row["text"] for row in rows]
    labels = (folder / "labels.txt").read_text(encoding="utf-8").splitlines()
    document = json.loads((folder / "projection.json").read_text(encoding="utf-8"))
    host = HostProjection(ProjectionConfig.from_dict(document["config"]))
    features = [host.project([text])[0] for text in texts]
    logits: dict[str, Any] = {}
    for runtime in TFLITE:
        model = import_interpreter(runtime).Interpreter(str(folder / "features_int8.tflite"), num_threads=1)
        run = model.get_signature_runner("serving_default")
        logits[f"features_int8.tflite, {runtime}"] = [run(features=row)["logits"][0] for row in features]
        text_model = interpreter((folder / "text_int8.tflite").read_bytes(), runtime)
        logits[f"text_int8.tflite, {runtime}"] = [text_logits(text_model, text) for text in texts]
    import onnxruntime

    session = onnxruntime.InferenceSession(str(folder / "text_int8.onnx"), session_options_with_projection())
    logits["text_int8.onnx, onnxruntime"] = [
        session.run(["logits"], {"text": np.array([text], dtype=object)})[0][0] for text in texts
    ]
    truth = [labels.index(row["label"]) for row in rows]
    versions = {name: importlib.metadata.version(package) for name, package in PACKAGES.items()}
    about = {
        "machine": platform.machine(),
        "rows": f"{table.parent.name}/{table.name}",
        "n": len(rows),
        "versions": versions,
    }
    np.savez(output, about=json.dumps(about), features=np.concatenate(features), truth=truth, **logits)


def text_logits(model: Any, text: str) -> np.ndarray:
    model.allocate_tensors()
    model.set_tensor(model.get_input_details()[0]["index"], np.array([text.encode()]))
    model.invoke()
    return model.get_tensor(model.get_output_details()[0]["index"])[0].copy()


def compare(here: Path, there: Path, result: Path) -> None:
    a, b = np.load(here), np.load(there)
    files = {}
    for name in a.files:
        if name in ("about", "features", "truth"):
            continue
        difference = np.abs(a[name].astype(float) - b[name].astype(float))
        files[name] = {
            "unit": "int8 steps" if a[name].dtype == np.int8 else "logits",
            "max_abs": float(difference.max()),
            "mean_abs": round(float(difference.mean()), 5),
            "same_argmax": float(np.mean(a[name].argmax(1) == b[name].argmax(1))),
            "accuracy_here": round(float(np.mean(a[name].argmax(1) == a["truth"])), 4),
            "accuracy_arm": round(float(np.mean(b[name].argmax(1) == b["truth"])), 4),
        }
    document = {
        "command": "bash benchmarks/arm.sh FOLDER_OF_AN_EXPORT ROWS.tsv RESULT.json",
        "here": json.loads(str(a["about"])),
        "arm": json.loads(str(b["about"])) | {"emulated": True},
        "features_equal": bool(np.array_equal(a["features"], b["features"])),
        "text_in_equals_features_in_on_arm": {
            runtime: bool(np.array_equal(b[f"text_int8.tflite, {runtime}"], b[f"features_int8.tflite, {runtime}"]))
            for runtime in TFLITE
        },
        "files": files,
    }
    result.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(document, indent=2))


if __name__ == "__main__":
    arguments = [Path(argument) for argument in sys.argv[1:] if argument != "--compare"]
    (compare if "--compare" in sys.argv else measure)(*arguments)
