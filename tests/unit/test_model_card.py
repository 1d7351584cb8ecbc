"""README.md of an export: front matter that a hub reads, the numbers of the report, and nothing of a user as markup."""

import ast
import dataclasses
import re
from types import SimpleNamespace

import numpy as np
import pytest
import yaml
from huggingface_hub import ModelCard

from exporters.formats.model_file import Signature, TensorInfo
from exporters.model_card.card import model_card
from exporters.model_card.front_matter import front_matter
from exporters.report.report import Failure, FileRecord, Latency, Report, StageScore
from models_tf.tasks.score import Score

EVIL = "<script>alert(1)</script> | `x` [a](b) \x1b[31m\n---\nlicense: mit\u2028"
SCORE = Score(metric="accuracy", value=94.0199, n=301, standard_error=1.37, interval=(90.75, 96.18))
FEATURES = Signature(
    inputs=(TensorInfo(name="features", dtype="int8", shape=(1, 64, 512), scale=1.0),),
    outputs=(TensorInfo(name="logits", dtype="int8", shape=(1, 7), scale=0.0471234, zero_point=-3),),
)
TEXT = Signature(
    inputs=(TensorInfo(name="text", dtype="string", shape=(1,)),),
    outputs=(TensorInfo(name="logits", dtype="float32", shape=("batch", 7)),),
)
TOKENS = Signature(
    inputs=tuple(TensorInfo(name=name, dtype="int32", shape=(1, 128)) for name in ("ids", "mask")),
    outputs=(TensorInfo(name="logits", dtype="float32", shape=(1, 128, 9)),),
)
BYTES = {
    f"bytes_int8.{target}": Signature(
        inputs=(TensorInfo(name="text", dtype="uint8", shape=(1, size)),),
        outputs=(TensorInfo(name="logits", dtype="float32", shape=(1, 7)),),
    )
    for target, size in (("tflite", 96), ("onnx", "length"))
}
PROJECTION = {"features_int8.tflite": FEATURES, "text_int8.onnx": TEXT}


def make(**changes) -> Report:
    files = [
        FileRecord(
            name="features_int8.tflite", size_bytes=130_400, sha256="0" * 64, target="tflite", min_runtime="2.3"
        ),
        FileRecord(name="text_int8.onnx", size_bytes=131_322, sha256="1" * 64, target="onnx"),
        FileRecord(name="labels.txt", size_bytes=5000, sha256="2" * 64),
    ]
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
        "target": ("tflite", "onnx"),
        "output": "out",
        "command": "export-mobile --model prado",
        "seed": 0,
        "data": {
            "eval_source": "data/eval.tsv",
            "eval_rows": 301,
            "calibration_source": "calibration.tsv",
            "calibration_rows": 9,
        },
        "files": tuple(files),
        "accuracy": (
            StageScore(stage="Keras", score=SCORE, drop=0.0),
            StageScore(stage="text_float32.onnx on ONNX Runtime", score=SCORE, drop=0.0),  # not kept
            StageScore(
                stage="text_int8.onnx on ONNX Runtime", score=dataclasses.replace(SCORE, value=93.5), drop=0.5199
            ),
        ),
        "parity": (),
        "latency": (
            Latency(file="features_int8.tflite", seq_len=64, median_ms=0.25, runs=20),
            Latency(file="features_int8.tflite", seq_len=32, median_ms=0.125, runs=20),
        ),
        "latency_cpu": "some CPU",
        "gates": {},
        "failures": (),
        "notes": ("a note",),
        "versions": {"export-mobile": "0.2.0"},
        "seconds": {},
    }
    return Report(**(values | changes))


def matter(card: str) -> dict:
    return yaml.safe_load(re.match(r"---\n(.*?)\n---\n", card, re.DOTALL)[1])


def test_a_hub_reads_task_tags_and_results():
    card = model_card(make(), PROJECTION, ["PlayMusic"])
    data = ModelCard(card).data
    assert (data.pipeline_tag, data.library_name) == ("text-classification", "tflite")
    assert data.tags == ["export-mobile", "tflite", "onnx", "prado", "int8", "on-device"]
    assert data.model_name == "prado-snips-int8"
    found = [(one.metric_type, one.metric_value, one.metric_name, one.dataset_name) for one in data.eval_results]
    assert found == [
        ("accuracy", 0.940199, "Keras, n = 301", "eval.tsv"),
        ("accuracy", 0.935, "text_int8.onnx on ONNX Runtime, n = 301", "eval.tsv"),
    ]
    assert data.license is None
    assert data.language is None


def test_license_and_language_are_named_only_if_they_were_given():
    card = model_card(make(request={"license": "apache-2.0", "language": ["en", "pt-BR"]}), PROJECTION, [])
    assert (matter(card)["license"], matter(card)["language"]) == ("apache-2.0", ["en", "pt-BR"])
    assert "not known to the exporter" not in card
    assert "not known to the exporter" in model_card(make(), PROJECTION, [])


def test_without_rows_there_are_no_results():
    card = model_card(make(accuracy=()), PROJECTION, [])
    assert "model-index" not in matter(card)
    assert "Not measured." in card


@pytest.mark.parametrize(
    ("task", "tag"),
    [
        ("snips", "text-classification"),
        ("regression", "text-classification"),
        ("token-classification", "token-classification"),
        ("question-answering", "question-answering"),
        ("base", "feature-extraction"),
    ],
)
def test_each_task_has_the_tag_of_the_hub(task, tag):
    assert matter(front_matter(make(), name="x", task=task) + "\n")["pipeline_tag"] == tag


def test_sizes_accuracy_times_and_inputs_are_those_of_the_report():
    card = model_card(make(), PROJECTION, ["PlayMusic", "GetWeather"])
    assert "| features_int8.tflite | 130,400 | 0.250 | 2.3 |" in card
    assert "| text_int8.onnx on ONNX Runtime | 93.50 % | 90.75 to 96.18 | -0.52 | 301 |" in card
    assert "features: int8 (1, 64, 512), scale 1, zero point 0" in card
    assert "logits: int8 (1, 7), scale 0.0471234, zero point -3" in card
    assert "one of them is 0.33 points" in card
    assert "2 labels: PlayMusic, GetWeather." in card
    assert "- a note" in card


def test_a_failed_gate_and_random_weights_are_said():
    model = make().model | {"trained": False, "name": "bert"}
    failure = Failure(gate="accuracy", message="too low")
    card = model_card(make(failures=(failure,), model=model), {"model_int8.tflite": TOKENS}, [])
    assert "**a gate FAILED**" in card
    assert "- accuracy: too low" in card
    assert "The weights are random" in card
    assert "There is no tokenizer" in card
    assert "tokenizer.json" not in card
    assert "```python" not in card


def test_text_of_users_is_no_markup_anywhere():
    report = make(
        model=make().model | {"task": EVIL},
        data=make().data | {"eval_source": EVIL},
        notes=(EVIL,),
        failures=(Failure(gate="parity", message=EVIL),),
        latency_cpu=EVIL,
    )
    card = model_card(report, PROJECTION, [EVIL, "plain"])
    assert "license" not in matter(card)
    # YAML gives back what was written, as one value
    assert matter(card)["model-index"][0]["name"] == f"prado-{EVIL}-int8"
    body = card.split("\n---\n", 1)[1]
    assert "<script" not in body
    assert "\x1b" not in card
    assert not re.search(r"^---$", body, re.MULTILINE)
    rows = [line for line in body.splitlines() if line.startswith("| ")]
    assert {line.count("|") for line in rows} == {4, 5, 6}  # every row of a table has its cells and no more


def test_python_is_python_and_kotlin_has_the_shapes_of_the_file():
    for files, task in (
        (PROJECTION, "snips"),
        ({"m.tflite": TOKENS}, "token-classification"),
        ({"m.onnx": TOKENS}, "base"),
    ):
        card = model_card(make(model=make().model | {"task": task}), files, [])
        ast.parse(re.search(r"```python\n(.*?)```", card, re.DOTALL)[1])
    assert "text_int8.onnx" in re.search(r"```python\n(.*?)```", model_card(make(), PROJECTION, []), re.DOTALL)[1]
    kotlin = re.search(r"```kotlin\n(.*?)```", model_card(make(), PROJECTION, []), re.DOTALL)[1]
    assert "ByteBuffer.allocateDirect(64 * 512)" in kotlin
    assert "Array(1) { ByteArray(7) }  // (q - (-3)) * 0.0471234" in kotlin
    kotlin = re.search(r"```kotlin\n(.*?)```", model_card(make(), {"m.tflite": TOKENS}, []), re.DOTALL)[1]
    assert 'mapOf("ids" to ids, "mask" to mask)' in kotlin
    assert "Array(1) { Array(128) { FloatArray(9) } }" in kotlin
    assert "```kotlin" not in model_card(make(), {"m.onnx": TOKENS}, [])


def test_files_that_take_bytes_come_first_in_both_formats_and_need_no_custom_op():
    report = make(model=make().model | {"max_bytes": 96})
    card = model_card(report, BYTES | PROJECTION, [])
    lite, ort = re.findall(r"```python\n(.*?)```", card, re.DOTALL)
    for code in (lite, ort):
        ast.parse(code)
        assert "models_tf" not in code
        assert len(code.splitlines()) <= 10
    assert "np.zeros((1, 96), np.uint8)" in lite
    for code in (lite, ort):
        assert "print(labels[logits.argmax()])" in code
    assert "from ai_edge_litert.interpreter import Interpreter" in lite
    assert "import onnxruntime" in ort
    kotlin = re.search(r"```kotlin\n(.*?)```", card, re.DOTALL)[1]
    assert 'val text = ByteBuffer.wrap("some text".toByteArray().copyOf(96))' in kotlin
    assert "Array(1) { FloatArray(7) }" in kotlin
    assert "A text beyond 64 tokens or 96 bytes is cut." in card
    assert "Files that take text as a string need the projection op" in card
    assert "projection op" not in model_card(report, BYTES, [])


def test_the_label_of_a_file_that_answers_it_is_used():
    labelled = {
        name: dataclasses.replace(one, outputs=(*one.outputs, TensorInfo(name="label", dtype="int32", shape=(1,))))
        for name, one in BYTES.items()
    }
    lite, ort = re.findall(r"```python\n(.*?)```", model_card(make(), labelled, []), re.DOTALL)
    assert 'label = run(text=text)["label"][0]' in lite
    assert 'label = session.run(["label"]' in ort
    for code in (lite, ort):
        assert "print(labels[label])" in code


def several(files: dict[str, Signature]) -> str:
    return model_card(make(model=make().model | {"multi_label": True}), files, ["fun", "sad", "long"])


# Logits, also in int8, and the labels whose probability is at least one half.
@pytest.mark.parametrize(
    ("output", "values"),
    [
        (TensorInfo(name="logits", dtype="float32", shape=(1, 3)), np.array([[0.0, -0.01, 2.0]], np.float32)),
        (
            TensorInfo(name="logits", dtype="int8", shape=(1, 3), scale=0.5, zero_point=-100),
            np.array([[-100, -128, 127]], np.int8),
        ),
        (TensorInfo(name="probabilities", dtype="float32", shape=(1, 3)), np.array([[0.5, 0.4, 0.9]], np.float32)),
    ],
    ids=["float", "int8", "probabilities"],
)
@pytest.mark.filterwarnings("ignore:unclosed file")  # the calls are short: they read the labels and leave
@pytest.mark.parametrize("target", ["tflite", "onnx"])
def test_of_several_labels_those_of_half_a_probability_are_printed(
    output, values, target, tmp_path, monkeypatch, capsys
):
    (tmp_path / "labels.txt").write_text("fun\nsad\nlong\n")
    monkeypatch.chdir(tmp_path)
    logits = TensorInfo(name="logits", dtype="float32", shape=(1, 3))
    file = f"bytes_int8.{target}"
    outputs = (output,) if output.name == "logits" else (logits, output)
    card = several({file: dataclasses.replace(BYTES[file], outputs=outputs)})
    (code,) = re.findall(r"```python\n(.*?)```", card, re.DOTALL)
    assert "argmax" not in card
    answers = SimpleNamespace(
        get_signature_runner=lambda _: lambda text: {output.name: values},
        run=lambda names, _: [values for _ in names],
    )
    monkeypatch.setattr("ai_edge_litert.interpreter.Interpreter", lambda _: answers)
    monkeypatch.setattr("onnxruntime.InferenceSession", lambda _: answers)
    exec(code, {})
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == ["fun", "long"]


def test_a_card_says_that_a_text_may_have_several_labels():
    assert "each label has a probability of its own, the sigmoid of its logit" in several(BYTES)
    assert "of its own" not in model_card(make(), BYTES, ["fun", "sad"])


def test_each_format_has_a_call_of_the_same_graph():
    lite, ort = re.findall(
        r"```python\n(.*?)```", model_card(make(), {"m.tflite": TOKENS, "m.onnx": TOKENS}, []), re.DOTALL
    )
    assert 'Interpreter("m.tflite")' in lite
    assert 'InferenceSession("m.onnx")' in ort
    (only,) = re.findall(r"```python\n(.*?)```", model_card(make(), PROJECTION, []), re.DOTALL)
    assert "text_int8.onnx" in only
