"""Bad input for token models: one line on stderr, exit code 2, nothing written."""

import json
import pickle
import shutil
from pathlib import Path

import numpy as np
import pytest
from test_bad_input import small_disk, with_and_without_json

from support.export_command import everything_under, run
from support.tiny_models import write_checkpoint


@pytest.fixture(scope="session")
def folder(tmp_path_factory) -> Path:
    return write_checkpoint(tmp_path_factory.mktemp("tokens") / "mine")


@pytest.fixture
def refused(tmp_path):
    """Runs the command in a fresh folder and asserts the four claims; `words` must be in the line."""

    def check(*arguments: object, words: list[str], json: bool = False) -> None:
        place = tmp_path / "fresh"
        place.mkdir()
        done = run(*arguments, *(["--json"] if json else []), cwd=place)
        assert done.returncode == 2, done.stderr
        assert "Traceback" not in done.stderr
        assert len(done.stderr.splitlines()) == 1, done.stderr
        assert done.stdout == ""
        assert everything_under(place) == []
        for word in words:
            assert word in done.stderr

    return check


@with_and_without_json
def test_no_checkpoint_names_both_ways_on(refused, json_flag):
    refused("--model", "mobilebert", words=["--checkpoint DIR", "--random-init"], json=json_flag)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--random-init",), ["--random-init is for token models (mobilebert"]),
        (("--model", "mobilebert", "--random-init", "--preset", "huge"), ["Unknown preset", "opt, tiny", "huge"]),
        (("--model", "mobilebert", "--random-init", "--fold", "sure"), ["--fold", "full, safe, off", "sure"]),
        (
            ("--model", "mobilebert", "--random-init", "--task", "tagging"),
            ["--task", "token-classification", "tagging"],
        ),
        (("--model", "mobilebert", "--checkpoint", "nowhere"), ["nowhere", "no such folder"]),
        (("--model", "prado", "--text-pair-column", "b"), ["--text-pair-column is for token models"]),
    ],
)
def test_flags_that_do_not_go_together(refused, arguments, words):
    refused(*arguments, words=words)


def changed(source: Path, target: Path, kind: str) -> Path:
    from safetensors.numpy import load_file, save_file

    shutil.copytree(source, target)
    weights, config = target / "model.safetensors", target / "config.json"
    document = json.loads(config.read_text())
    tensors = load_file(weights)
    name = "mobilebert.encoder.layer.1.attention.self.query.weight"
    if kind == "no config":
        config.unlink()
    elif kind == "config is no JSON":
        config.write_text("{")
    elif kind == "another model":
        config.write_text(json.dumps({**document, "model_type": "gpt2"}))
    elif kind == "another architecture":
        config.write_text(json.dumps({**document, "architectures": ["GPT2LMHeadModel"]}))
    elif kind == "wrong value":
        config.write_text(json.dumps({**document, "num_attention_heads": 7}))
    elif kind == "truncated":
        weights.write_bytes(weights.read_bytes()[:-100])
    elif kind == "pickle":
        weights.write_bytes(pickle.dumps({"tensor": [1.0]}))
    elif kind == "no weights":
        weights.unlink()
    elif kind == "wrong shape":
        save_file({**tensors, name: np.zeros((3, 5), np.float32)}, weights, metadata={"format": "pt"})
    elif kind == "missing":
        del tensors[name]
        save_file(tensors, weights, metadata={"format": "pt"})
    elif kind == "unread":
        save_file({**tensors, "surplus.weight": np.zeros(3, np.float32)}, weights, metadata={"format": "pt"})
    elif kind == "not a number":
        save_file({**tensors, name: tensors[name] * np.float32(np.nan)}, weights, metadata={"format": "pt"})
    elif kind == "small vocabulary":
        lines = (target / "vocab.txt").read_text().splitlines()
        (target / "vocab.txt").write_text("\n".join(lines[:-5]) + "\n")
    elif kind == "no vocabulary":
        (target / "vocab.txt").unlink()
    return target


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("no config", ["lacks config.json"]),
        ("config is no JSON", ["config.json", "JSON"]),
        ("another model", ["another architecture", "mobilebert", "gpt2"]),
        ("another architecture", ["another architecture", "GPT2LMHeadModel"]),
        ("wrong value", ["config.json", "num_attention_heads"]),
        ("truncated", ["model.safetensors"]),
        ("pickle", ["model.safetensors", "pickle"]),
        ("no weights", ["model.safetensors"]),
        ("wrong shape", ["layer.1.attention.self.query.weight", "(3, 5)"]),
        ("missing", ["layer.1.attention.self.query.weight"]),
        ("unread", ["surplus.weight"]),
        ("not a number", ["layer.1.attention.self.query.weight", "finite"]),
        ("small vocabulary", ["vocab.txt", "60", "55"]),
        ("no vocabulary", ["vocab.txt"]),
    ],
)
def test_a_damaged_checkpoint(refused, folder, tmp_path, kind, words):
    damaged = changed(folder, tmp_path / "damaged", kind)
    refused("--model", "mobilebert", "--checkpoint", damaged, "--quantize", "float32", words=words)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("empty.tsv", "", ["empty file"]),
        ("header.tsv", "text\tlabel\n", ["rows"]),
        ("labels.tsv", "text\tlabel\n1 2\tyes\n3\tmaybe\n", ["'maybe'", "no, yes, perhaps"]),
        ("one.tsv", "text\tlabel\n1 2\tyes\n3\tyes\n", ["at least 2 different labels"]),
        ("columns.tsv", "phrase\tkind\n1 2\tyes\n", ["phrase, kind", "--text-column"]),
        ("few.tsv", "text\tlabel\n1\tyes\n1\tno\n", ["too few"]),
        ("rows.doc", "text\tlabel\n", [".tsv, .csv or .jsonl"]),
    ],
)
def test_a_data_file_that_cannot_be_used(refused, folder, tmp_path, name, content, words):
    (tmp_path / name).write_text(content)
    refused("--model", "mobilebert", "--checkpoint", folder, "--eval-data", tmp_path / name, words=[name, *words])


def test_a_task_that_the_head_is_not_for(refused, folder):
    flags = ("--checkpoint", folder, "--quantize", "float32")
    refused(*flags, "--task", "question-answering", words=["question-answering", "classification"])


def test_a_regression_of_a_head_with_two_labels(refused, folder):
    refused("--checkpoint", folder, "--task", "regression", "--quantize", "float32", words=["--task", "3 labels"])


@pytest.mark.parametrize("length", ["17", "4", "100000"])
def test_a_sequence_length_beyond_the_positions(refused, folder, length):
    flags = ("--checkpoint", folder, "--quantize", "float32", "--max-seq-len", length)
    refused(*flags, words=["--max-seq-len", f"Received: {int(length):,}"])


def test_static_int8_without_calibration_data_is_refused(refused, folder):
    refused("--checkpoint", folder, words=["--calibration-data", "--eval-data"])


def test_a_base_model_has_nothing_to_measure(refused, folder, tmp_path):
    (tmp_path / "rows.tsv").write_text("text\tlabel\n1 2\tyes\n3\tno\n")
    refused(
        "--checkpoint", folder, "--task", "base", "--eval-data", tmp_path / "rows.tsv", words=["base", "--eval-data"]
    )


@with_and_without_json
def test_a_full_disk(folder, tmp_path, json_flag):
    with small_disk(tmp_path / "disk", 8) as disk:
        flags = ("--checkpoint", folder, "--quantize", "float32", "--output", disk / "out")
        done = run(*flags, *(["--json"] if json_flag else []), cwd=tmp_path)
        assert done.returncode == 2, done.stderr
        assert len(done.stderr.splitlines()) == 1
        assert "No space left on device" in done.stderr
        assert "Nothing was written" in done.stderr
        assert everything_under(disk) == []
