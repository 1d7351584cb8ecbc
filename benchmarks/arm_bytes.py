"""Bytes-in graphs on the machine that runs this; arm_bytes.sh runs it on two and compares.

    python benchmarks/arm_bytes.py prepare JOB [FOLDER_OF_AN_EXPORT ROWS.tsv]    ROWS.tsv: text, label
    python benchmarks/arm_bytes.py run JOB OUTPUT.npz
    python benchmarks/arm_bytes.py compare JOB HERE.npz ARM.npz RESULT.json

The fronts alone must give the features of the C++ core, as computed here. Of an export, the logits of bytes-in files
are compared with those of text-in files here, and with those of features-in files on the same machine.
"""

import csv
import importlib.metadata
import json
import platform
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from arm_rows import LIMIT, PACKAGES, TFLITE, text_logits

from models_tf.ops.projection.tflite_loader import import_interpreter
from support import bytes_fronts

STRINGS = 1_000  # for each front
FRONT, BYTES, FEATURES, TEXT = "front", "bytes_int8", "features_int8", "text_int8"


def prepare(job: Path, export: Path | None = None, table: Path | None = None) -> None:
    """Writes the fronts, the texts, and what the core and text-in files answer here."""
    from exporters.bytes_in.settings import BytesIn
    from exporters.formats.onnx.bytes_in import bytes_in_model as onnx_model
    from exporters.formats.tflite.bytes_in import bytes_in_model as tflite_model
    from models_tf.ops.projection.library import HostProjection
    from quantize.tflite.flatbuffer import write_model

    job.mkdir()
    for name, (config, _) in bytes_fronts.CONFIGS.items():
        front = BytesIn(config=config)
        (job / f"{FRONT} {name}.tflite").write_bytes(write_model(tflite_model(front)))
        (job / f"{FRONT} {name}.onnx").write_bytes(onnx_model(front).SerializeToString())
        texts = bytes_fronts.texts(name, STRINGS)
        write_texts(job / f"{FRONT} {name}.npz", texts, HostProjection(config).project(texts)[0])
    if export is not None and table is not None:
        prepare_export(job, export, table)


def prepare_export(job: Path, export: Path, table: Path) -> None:
    import onnxruntime

    from models_tf.ops.projection.config import ProjectionConfig
    from models_tf.ops.projection.library import HostProjection
    from models_tf.ops.projection.ort_loader import session_options_with_projection
    from models_tf.ops.projection.tflite_loader import interpreter

    with table.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))[:LIMIT]
    for kind in (BYTES, FEATURES):
        for suffix in (".tflite", ".onnx"):
            shutil.copy(export / f"{kind}{suffix}", job)
    labels = (export / "labels.txt").read_text(encoding="utf-8").splitlines()
    document = json.loads((export / "projection.json").read_text(encoding="utf-8"))
    texts = [row["text"] for row in rows]
    features = HostProjection(ProjectionConfig.from_dict(document["config"])).project(texts)[0]
    logits: dict[str, Any] = {}
    for runtime in TFLITE:
        model = interpreter((export / f"{TEXT}.tflite").read_bytes(), runtime)
        logits[runtime] = [text_logits(model, text) for text in texts]
    scale, zero = model.get_output_details()[0]["quantization"]
    session = onnxruntime.InferenceSession(str(export / f"{TEXT}.onnx"), session_options_with_projection())
    logits["onnxruntime"] = [session.run(["logits"], {"text": np.array([text], object)})[0][0] for text in texts]
    truth = [labels.index(row["label"]) for row in rows]
    name = f"{table.parent.name}/{table.name}"
    about = {"truth": truth, "rows": name, "scale": scale, "zero": zero}
    write_texts(job / "export.npz", [text.encode() for text in texts], features, **about, **logits)


def write_texts(path: Path, texts: Sequence[bytes], features: np.ndarray, **others: Any) -> None:
    sizes = [len(text) for text in texts]
    np.savez(path, joined=np.frombuffer(b"".join(texts), np.uint8), sizes=sizes, features=features, **others)


def read_texts(path: Path) -> tuple[list[bytes], np.ndarray]:
    given = np.load(path)
    parts = np.split(given["joined"], np.cumsum(given["sizes"])[:-1])
    return [part.tobytes() for part in parts], given["features"]


def run(job: Path, output: Path) -> None:
    """What all files of the job answer in all runtimes."""
    answers: dict[str, Any] = {}
    for path in sorted(job.glob("*.npz")):
        texts, features = read_texts(path)
        for kind in [path.stem] if path.stem.startswith(FRONT) else [BYTES, FEATURES]:
            given = features if kind == FEATURES else texts
            for runtime in PACKAGES:
                file = job / f"{kind}{'.tflite' if runtime in TFLITE else '.onnx'}"
                print(file.name, runtime, file=sys.stderr)
                call = in_tflite(file, runtime) if runtime in TFLITE else in_onnx(file)
                answers[f"{kind}, {runtime}"] = np.stack(list(call(given)))
    versions = {name: importlib.metadata.version(package) for name, package in PACKAGES.items()}
    about = {"machine": platform.machine(), "versions": versions}
    np.savez(output, about=json.dumps(about), **answers)


def in_tflite(file: Path, runtime: str) -> Callable[[Any], Iterator[np.ndarray]]:
    model = import_interpreter(runtime).Interpreter(str(file), num_threads=1)
    size = model.get_input_details()[0]["shape"][1]

    def call(given: Any) -> Iterator[np.ndarray]:
        rows = given if isinstance(given, np.ndarray) else bytes_fronts.rows(given, size)
        return bytes_fronts.run_tflite(model, rows)

    return call


def in_onnx(file: Path) -> Callable[[Any], Iterator[np.ndarray]]:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name

    def call(given: Any) -> Iterator[np.ndarray]:
        for row in given:
            array = row if isinstance(row, np.ndarray) else np.frombuffer(row, np.uint8)
            yield session.run(None, {name: array[None]})[0][0]

    return call


def compare(job: Path, here: Path, there: Path, result: Path) -> None:
    own, arm = np.load(here), np.load(there)
    fronts = {}
    for path in sorted(job.glob(f"{FRONT} *.npz")):
        texts, expected = read_texts(path)
        different = {
            machine: {runtime: count(answers[f"{path.stem}, {runtime}"] != expected) for runtime in PACKAGES}
            for machine, answers in (("different_here", own), ("different_on_arm", arm))
        }
        fronts[path.stem.removeprefix(FRONT + " ")] = {"n": len(texts), **different}
    with_export = (job / "export.npz").is_file()
    words = " FOLDER_OF_AN_EXPORT ROWS.tsv" if with_export else ""
    document = {
        "command": f"bash benchmarks/arm_bytes.sh {result.name}{words}",
        "here": json.loads(str(own["about"])),
        "arm": json.loads(str(arm["about"])) | {"emulated": True, "processor": "cortex-a76"},
        "fronts": fronts,
    }
    if with_export:
        document["export"] = compare_export(np.load(job / "export.npz"), own, arm)
    result.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(document, indent=2))


def count(different: np.ndarray) -> int:
    return int(different.any(axis=tuple(range(1, different.ndim))).sum())


def compare_export(given: Any, own: Any, arm: Any) -> dict[str, Any]:
    """In int8 steps, where the logits of the text-in file are int8."""

    def logits(answers: Any, kind: str) -> np.ndarray:
        found = answers[f"{kind}, {runtime}"]
        if text.dtype != np.int8 or found.dtype == np.int8:
            return found.astype(float)
        steps = found / given["scale"] + given["zero"]
        np.testing.assert_allclose(steps, np.rint(steps), atol=1e-3)  # a file that answers float32 only converts
        return np.rint(steps)

    files = {}
    for runtime in PACKAGES:
        text = given[runtime]
        bytes_arm = logits(arm, BYTES)
        difference = np.abs(bytes_arm - text)
        files[runtime] = {
            "unit": "int8 steps" if text.dtype == np.int8 else "logits",
            "different_from_text_in_here": count(logits(own, BYTES) != text),
            "different_from_features_in_on_arm": count(bytes_arm != logits(arm, FEATURES)),
            "on_arm_from_text_in_here": {
                "max_abs": float(difference.max()),
                "mean_abs": round(float(difference.mean()), 6),
                "same_argmax": float(np.mean(bytes_arm.argmax(1) == text.argmax(1))),
            },
            "accuracy_here": round(float(np.mean(text.argmax(1) == given["truth"])), 4),
            "accuracy_arm": round(float(np.mean(bytes_arm.argmax(1) == given["truth"])), 4),
        }
    return {"rows": str(given["rows"]), "n": len(given["truth"]), "files": files}


if __name__ == "__main__":
    globals()[sys.argv[1]](*map(Path, sys.argv[2:]))
