"""A small report made by hand, with everything in it; and what is true of the report of every export."""

import dataclasses
import hashlib
import json
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np

import exporters
from exporters.anatomy.runtime_plan import RuntimePlan
from exporters.data.text_rows import TextRows
from exporters.report.inputs import InputRecord
from exporters.report.report import REPORT_VERSION, FileRecord, Latency, LayerBytes, Report, StageScore
from exporters.verification.evaluate import Score
from exporters.verification.parity import Parity
from exporters.verification.quality import Answers, qualities

SCHEMA = json.loads((Path(exporters.__file__).parent / f"report/schema/report-{REPORT_VERSION}.json").read_bytes())
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
GOOD = Parity(
    candidate="f.tflite", reference="Keras", rows=4, max_abs=1e-6, mean_abs=1e-7, argmax_agreement=1.0, limit=1e-4
)
BAD = dataclasses.replace(GOOD, max_abs=float("inf"), mean_abs=float("inf"))
FILE = FileRecord(
    name="text_int8.tflite",
    size_bytes=1000,
    sha256="0" * 64,
    target="tflite",
    graph="text",
    parameters=880,
    weight_bytes=900,
    overhead_bytes=100,
    gzip_bytes=700,
    layers=(
        LayerBytes(name="embedding", bytes=500),
        LayerBytes(name="dense 1", bytes=400),
        LayerBytes(name="graph", bytes=100),
    ),
    runtime_plan=RuntimePlan(
        runtime="LiteRT",
        version="2.3",
        delegate="XNNPACK",
        partitions=2,
        delegated={"CONV_2D": 3},
        kept={"MEAN": 1},
    ).to_dict(),
    ops={"CONV_2D": 3, "MEAN": 1},
    dtypes={"int8": 9},
)
LABELS = FileRecord(name="labels.txt", size_bytes=5000, sha256="1" * 64, gzip_bytes=4000)
SCORE = Score(metric="accuracy", value=97.5, n=40, standard_error=2.47, interval=(87.12, 99.56))
NAMES = ("play", "book", "rate")


def quality(texts: tuple[str, ...] = (), labels: tuple[str, ...] = NAMES) -> Any:
    """Forty rows; one that was right is wrong after quantization, another one the other way round, a third still is."""
    generator = np.random.default_rng(0)
    targets = np.arange(40) % 3
    logits = 4 * np.eye(3)[targets] + generator.normal(0, 0.5, (40, 3))
    logits[4], logits[7] = (9, 0, 0), (0, 0, 9)  # 4 and 7 are "book": wrong
    after = logits + generator.normal(0, 0.01, (40, 3))
    after[2], after[4], after[7] = (9, 0, 0), (0, 9, 0), (9, 0, 0)
    texts = texts or tuple(f"{'word ' * (1 + i % 9)}{i}" for i in range(40))
    rows = TextRows(keys=list(texts), targets=targets, project=None, labels=labels)
    answers = {
        name: Answers(judged=rows.judge({"logits": values}), decisions=rows.decisions({"logits": values}))
        for name, values in (("Keras", logits), ("text_int8.tflite on LiteRT", after))
    }
    return qualities(answers)


def make(**changes: Any) -> Report:
    values = {
        "model": {
            "name": "prado",
            "task": "snips",
            "num_labels": 7,
            "parameters": 123456,
            "max_seq_len": 64,
            "feature_size": 512,
            "features": "mixed",
        },
        "quantize": "int8",
        "target": ("tflite",),
        "output": "out",
        "command": "export-mobile --model prado",
        "seed": 0,
        "data": {
            "eval_source": "eval.tsv",
            "eval_rows": 40,
            "calibration_source": "calibration.tsv",
            "calibration_rows": 9,
        },
        "files": (FILE, LABELS),
        "accuracy": (
            StageScore(stage="Keras", score=SCORE, drop=0.0),
            StageScore(
                stage="text_int8.tflite on LiteRT",
                score=dataclasses.replace(SCORE, value=95.0, interval=(83.5, 98.62)),
                drop=2.5,
            ),
        ),
        "parity": (GOOD,),
        "latency": (Latency(file=FILE.name, seq_len=32, median_ms=0.25, runs=20, quartiles_ms=(0.241, 0.262)),),
        "latency_cpu": "some CPU",
        "gates": {"max_drop": None, "max_size_bytes": 204800},
        "failures": (),
        "notes": ("a note",),
        "versions": {"numpy": "1.26"},
        "seconds": {"convert": 4.2},
        "inputs": (InputRecord(role="eval_data", path="eval.tsv", size_bytes=77, sha256="2" * 64),),
        "quality": quality(),
    }
    return Report(**(values | changes))


def assert_report_is_whole(report: dict[str, Any]) -> None:
    """What is true of the report.json of every export."""
    VALIDATOR.validate(report)
    for file in report["files"]:
        assert 0 < file["gzip_bytes"] <= file["size_bytes"] + 64
        if file["target"]:
            assert sum(layer["bytes"] for layer in file["layers"]) == file["size_bytes"]
            assert file["runtime_plan"]["problem"] == ""
            assert file["runtime_plan"]["partitions"] or file["target"] != "tflite"
    for stage in report["accuracy"]:
        low, high = stage["score"]["interval"]
        assert low <= stage["score"]["value"] <= high
    for row in report["latency"]:
        low, high = row["quartiles_ms"]
        assert low <= row["median_ms"] <= high
    for record in report["inputs"]:
        if record["role"] != "checkpoint":  # those go by their name
            content = Path(record["path"]).read_bytes()
            assert record["sha256"] == hashlib.sha256(content).hexdigest()
