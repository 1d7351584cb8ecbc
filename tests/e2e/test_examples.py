"""The examples run as their docstrings say, and stay short."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from exporters import ExportRequest, export
from models_tf import registry
from models_tf.checkpoints import encoder as checkpoint
from models_tf.encoder.model import Encoder
from models_tf.tokenizers.tokenizer import Tokenizer
from support.tiny_models import LENGTH, bert, stored, write_checkpoint

EXAMPLES = Path(__file__).parents[2] / "examples"
SCRIPTS = sorted(path.name for path in EXAMPLES.glob("*.py"))


def run(script: str, *arguments: str | Path) -> str:
    command = [sys.executable, str(EXAMPLES / script), *map(str, arguments)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def snips_export(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("examples") / "out"
    command = [sys.executable, "-m", "exporters.commands.main", "--output", str(folder)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize("script", SCRIPTS)
def test_an_example_has_at_most_forty_lines(script: str) -> None:
    assert len((EXAMPLES / script).read_text().splitlines()) <= 40


@pytest.mark.parametrize("script", SCRIPTS)
def test_an_example_without_arguments_says_what_it_takes(script: str) -> None:
    done = subprocess.run([sys.executable, EXAMPLES / script], check=False, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert f"python examples/{script} " in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_the_python_example_exports_and_prints_sizes_and_accuracy(tmp_path: Path) -> None:
    out = run("export_from_python.py", tmp_path / "out")
    assert "text_int8.tflite: " in out
    assert "Keras: " in out


@pytest.mark.slow
@pytest.mark.parametrize(
    "script",
    ["classify_bytes.py", "classify_bytes_onnx.py", "classify_features.py", "classify_onnx.py", "classify_text.py"],
)
def test_each_kind_of_file_answers_the_same_label(script: str, snips_export: Path) -> None:
    assert run(script, snips_export, "will it rain in boston tomorrow").startswith("GetWeather")


def test_the_inspection_example_names_layers_and_what_the_runtime_does(snips_export: Path) -> None:
    out = run("inspect_from_python.py", snips_export / "text_int8.tflite")
    assert "int8 weights, int8 activations (static)" in out
    assert "LiteRT: XNNPACK takes " in out
    assert "ONNX Runtime runs " in run("inspect_from_python.py", snips_export / "text_int8.onnx")


def test_the_check_example_compares_two_files(snips_export: Path) -> None:
    lite, onnx = snips_export / "text_int8.tflite", snips_export / "text_int8.onnx"
    rows = Path(registry.get("prado").bundled_folder("snips")) / "eval.tsv"
    assert "text_int8.tflite: 94." in run("check_from_python.py", lite, rows, onnx)


def test_the_compare_example_names_the_frontier(snips_export: Path) -> None:
    out = run("compare_from_python.py", snips_export)
    size = min(path.stat().st_size for path in snips_export.iterdir() if path.suffix in (".tflite", ".onnx"))
    assert f": {size:,} bytes, " in out
    assert "smallest" in next(line for line in out.splitlines() if f"{size:,} bytes" in line)


def test_the_verify_example_finds_a_changed_file(snips_export: Path, tmp_path: Path) -> None:
    assert run("verify_from_python.py", snips_export) == "passed\n"
    copy = shutil.copytree(snips_export, tmp_path / "copy")
    (copy / "labels.txt").write_text("others\n", encoding="utf-8")
    assert run("verify_from_python.py", copy).splitlines()[0].startswith("changed: labels.txt (expected 99 bytes")


def test_the_self_test_passes_on_every_file_and_fails_on_a_changed_answer(snips_export: Path, tmp_path: Path) -> None:
    out = run("self_test.py", snips_export).splitlines()
    assert out[0] == "inputs of 16 examples: equal"
    files = sorted(path.name for path in snips_export.iterdir() if path.suffix in (".tflite", ".onnx"))
    assert len(files) == 6
    assert sorted(line.partition(": passed")[0] for line in out[1:]) == files
    copy = shutil.copytree(snips_export, tmp_path / "copy")
    document = json.loads((copy / "examples.json").read_text(encoding="utf-8"))
    document["examples"][3]["outputs"]["text_int8.onnx"]["logits"][0] += 1.5 * document["files"][files[0]]["tolerance"]
    (copy / "examples.json").write_text(json.dumps(document), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, EXAMPLES / "self_test.py", copy], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert next(line for line in done.stdout.splitlines() if "FAILED" in line).startswith("text_int8.onnx: FAILED")


def test_the_bench_example_compares_with_the_first_file(snips_export: Path) -> None:
    out = run("bench_from_python.py", snips_export / "features_int8.onnx", snips_export / "text_int8.onnx")
    first, second = out.splitlines()
    assert "features_int8.onnx on ONNX Runtime: " in first
    assert first.endswith(", 1.00 of the first")
    assert "text_int8.onnx on ONNX Runtime: " in second


def test_a_token_models_file_answers_what_its_export_recorded(tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "tiny")
    command = [
        "--model",
        "mobilebert",
        "--checkpoint",
        tmp_path / "tiny",
        "--quantize",
        "float32",
        "--target",
        "tflite",
    ]
    rows = [f"{number} {number + 1}\t{label}" for number, label in enumerate(["no", "yes", "perhaps"] * 4)]
    (tmp_path / "rows.tsv").write_text("\n".join(["text\tlabel", *rows]) + "\n", encoding="utf-8")  # one text a row
    command += ["--eval-data", tmp_path / "rows.tsv", "--output", tmp_path / "out"]
    done = subprocess.run(
        [sys.executable, "-m", "exporters.commands.main", *map(str, command)],
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    (example, *_) = json.loads((tmp_path / "out" / "examples.json").read_text(encoding="utf-8"))["examples"]
    answer = run("classify_tokens.py", tmp_path / "out", example["text"], "float32")
    label, _, numbers = answer.partition(" ")
    logits = [float(number) for number in numbers.strip(" []\n").split()]
    assert logits == pytest.approx(example["outputs"]["model_float32.tflite"]["logits"], abs=1e-4)
    assert label in (tmp_path / "out" / "labels.txt").read_text(encoding="utf-8").splitlines()
    out = run("self_test.py", tmp_path / "out")
    assert out.splitlines()[0] == "inputs of 16 examples: equal"
    assert "model_float32.tflite: passed" in out


def test_the_tags_of_the_example_are_those_of_the_model(tmp_path: Path) -> None:
    folder = write_checkpoint(tmp_path / "tiny", "tagger", "token-classification")
    words = [[str(number), str(number + 7), "3"] for number in range(12)]
    text = "\n\n".join("\n".join(f"{word}\tO" for word in sentence) for sentence in words)
    (tmp_path / "tags.conll").write_text(text + "\n", encoding="utf-8")
    request = ExportRequest(
        checkpoint=folder, calibration_data=tmp_path / "tags.conll", target=("tflite",), output=tmp_path / "out"
    )
    export(request).raise_for_failures()
    assert "model_int8.tflite: passed" in run("self_test.py", tmp_path / "out")
    origin = checkpoint.load(folder)
    sentence = ["5", "12", "unknown", *map(str, range(20))]  # longer than the model's 16 tokens
    encoded = Tokenizer.from_folder(folder).encode_words([sentence], max_len=LENGTH)
    encoder = Encoder(origin.config, origin.head, origin.tensors)
    logits = encoder(*(encoded.inputs[name] for name in ("ids", "mask", "segments")))["logits"].numpy()[0]
    shown = [line.split("\t") for line in run("tag_words.py", tmp_path / "out", " ".join(sentence)).splitlines()]
    assert [word for word, _ in shown] == sentence
    places = encoded.first[0]
    assert [tag for (_, tag), place in zip(shown, places, strict=True) if place < 0] == ["-"] * (len(sentence) - 14)
    best = np.sort(logits, axis=-1)
    # Far above what int8 moves a logit of this model.
    sure = [(tag, p) for (_, tag), p in zip(shown, places, strict=True) if p >= 0 and best[p, -1] - best[p, -2] > 0.5]
    assert len(sure) > 5
    assert [tag for tag, _ in sure] == [origin.labels[logits[place].argmax()] for _, place in sure]


def test_the_training_example_tells_its_epochs_and_writes_a_checkpoint(tmp_path: Path) -> None:
    rows = "".join(f"{'play' if number % 2 else 'stop'} number {number}\t{number % 2}\n" for number in range(32))
    (tmp_path / "rows.tsv").write_text(f"text\tlabel\n{rows}")
    out = run("train_from_python.py", tmp_path / "rows.tsv", tmp_path / "rows.tsv", tmp_path / "out")
    assert "epoch 3/3" in out
    assert "on 32 rows, best epoch" in out
    assert (tmp_path / "out" / "model.safetensors").is_file()


@pytest.mark.slow
def test_the_compression_and_ablation_examples_take_a_bert(tmp_path: Path) -> None:
    checkpoint.save(tmp_path / "bert", stored(bert()))
    rows = "".join(f"{number} {number % 7}\t{('no', 'yes', 'perhaps')[number % 3]}\n" for number in range(24))
    (tmp_path / "rows.tsv").write_text(f"text\tlabel\n{rows}")
    out = run("compress_from_python.py", tmp_path / "bert", tmp_path / "rows.tsv", tmp_path / "small")
    assert "heads kept in each layer: [2, 2, 2]" in out
    assert (tmp_path / "small" / "compression.json").is_file()
    out = run("ablate_from_python.py", tmp_path / "small", tmp_path / "rows.tsv")
    assert "whole model: accuracy" in out
    assert out.count("without layer") == 3


@pytest.mark.slow
def test_the_profile_example_names_parts_and_the_explain_example_names_words(tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "power", "powerbert")
    out = run("profile_from_python.py", tmp_path / "power")
    assert "FFN: " in out
    assert "model_float32.tflite: " in out
    out = run("explain_from_python.py", tmp_path / "power", "1 2 3 4 5 6 7 8 9 10 11 12")
    assert "layer 1 keeps 9 tokens" in out
    assert "answer: " in out
