"""Bad input: one line on stderr, exit code 2, nothing written. And Ctrl-C and a full disk at any moment."""

import json
import os
import resource
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest

from exporters.commands.main import main
from support.export_command import command, environment, everything_under, run
from support.small_disk import small_disk
from support.tiny_models import write_checkpoint

# Progress would be shown without it: bad input is one line all the same.
with_and_without_json = pytest.mark.parametrize("json_flag", [True, False], ids=["json", "plain"])


@pytest.fixture
def refused(tmp_path):
    """Runs the command in a fresh folder and asserts the four claims; `words` must be in the line."""

    def check(*arguments: object, words: list[str], json: bool = True) -> None:
        folder = tmp_path / "fresh"
        folder.mkdir(exist_ok=True)
        before = everything_under(folder)
        done = run(*arguments, *(["--json"] if json else []), cwd=folder)
        assert done.returncode == 2, done.stderr
        assert "Traceback" not in done.stderr
        assert len(done.stderr.splitlines()) == 1, done.stderr
        assert done.stdout == ""
        assert everything_under(folder) == before
        for word in words:
            assert word in done.stderr

    return check


@with_and_without_json
def test_unknown_model_suggests_the_nearest(refused, json_flag):
    refused("--model", "pradoo", words=["Unknown model", "Did you mean prado?"], json=json_flag)


def test_unknown_recipe_suggests_the_nearest(refused):
    refused("--quantize", "int8-full", words=["Format onnx", "Received: recipe 'int8-full'", "--target"])
    refused("--quantize", "int8-dynamik", words=["Unknown recipe", "Did you mean int8-dynamic?"])


def test_int4_of_a_model_with_few_dense_layers(refused, tiny_checkpoint):
    words = ["Recipe int4 needs", "Received: a model with 0% of them there.", "Choose another --quantize."]
    refused("--checkpoint", tiny_checkpoint, "--quantize", "int4", words=words)


@pytest.mark.parametrize("length", ["0", "-1", "1000000000"])
def test_max_seq_len_zero_or_huge(refused, length):
    refused("--max-seq-len", length, words=["--max-seq-len", f"Received: {int(length):,}"])


def test_missing_eval_file(refused, tiny_checkpoint):
    refused(
        "--checkpoint", tiny_checkpoint, "--eval-data", "none.tsv", words=["--eval-data", "none.tsv", "no such file"]
    )


@with_and_without_json
def test_missing_checkpoint(refused, json_flag):
    refused("--checkpoint", "nowhere", words=["nowhere", "no such folder"], json=json_flag)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("empty.tsv", b"", ["empty file"]),
        ("header.tsv", b"text\tlabel\n", ["rows under its header"]),
        ("one.tsv", b"text\tlabel\nhello\tgreet\nhi\tgreet\n", ["at least 2 different labels", "greet"]),
        ("columns.csv", b"phrase,kind\nhello,greet\n", ["text", "phrase, kind", "--text-column"]),
        ("utf8.tsv", b"text\tlabel\nhello\tgreet\nb\xff\xfe\tplay\n", ["UTF-8", "line 3"]),
        ("unknown.tsv", b"text\tlabel\nhello\tgreet\nhi\tdance\n", ["line 3", "'dance'", "book, greet, play"]),
        ("ragged.tsv", b"text\tlabel\nhello\tgreet\tmore\n", ["line 2", "2 columns"]),
        ("broken.jsonl", b'{"text": "hello", "label": "greet"}\n{"text": \n', ["line 2", "JSON"]),
        ("text.doc", b"text\tlabel\n", [".tsv, .csv or .jsonl"]),
        ("cut.tsv.gz", b"\x1f\x8b\x08\x00garbage", ["gzip"]),
    ],
)
def test_a_data_file_that_cannot_be_used(refused, tiny_checkpoint, tmp_path, name, content, words):
    (tmp_path / name).write_bytes(content)
    refused("--checkpoint", tiny_checkpoint, "--eval-data", tmp_path / name, words=[name, *words], json=False)


def test_a_column_that_does_not_exist_lists_those_that_do(refused, tiny_checkpoint, table):
    refused(
        "--checkpoint", tiny_checkpoint, "--eval-data", table, "--text-column", "body", words=["'body'", "text, label"]
    )


def test_static_int8_without_calibration_data_is_refused(refused, tiny_checkpoint):
    refused("--checkpoint", tiny_checkpoint, words=["--calibration-data", "--eval-data"], json=False)


def test_training_labels_in_dev_that_train_lacks(refused, tmp_path):
    (tmp_path / "train.tsv").write_text("text\tlabel\nhello\tgreet\nplay it\tplay\n")
    (tmp_path / "dev.tsv").write_text("text\tlabel\nhello\tgreet\nrain\tweather\n")
    refused(
        "train", "--train", tmp_path / "train.tsv", "--dev", tmp_path / "dev.tsv", "--output", "out", words=["weather"]
    )


def test_training_with_one_label_only(refused, tmp_path):
    (tmp_path / "one.tsv").write_text("text\tlabel\nhello\tgreet\nhi\tgreet\n")
    refused("train", "--train", tmp_path / "one.tsv", "--dev", tmp_path / "one.tsv", "--output", "out", words=["label"])


def test_an_output_folder_that_exists(refused, tmp_path):
    folder = tmp_path / "fresh"
    (folder / "out").mkdir(parents=True)
    refused("--model", "prado", "--output", "out", words=["exists", "--force"])
    (folder / "out" / "mine.txt").write_text("mine")
    for flags in ([], ["--force"]):
        refused("--model", "prado", "--output", "out", *flags, words=["one that export-mobile wrote", "mine.txt"])
    (folder / "out" / "report.json").write_text("{}")  # the name alone proves nothing
    refused("--model", "prado", "--output", "out", "--force", words=["one that export-mobile wrote"])


@pytest.mark.parametrize("output", ["mine", "mine/deep/out", "."])
@pytest.mark.parametrize("name", ["export", "profile"])
def test_an_output_folder_that_is_holds_or_lies_in_the_checkpoint(refused, tiny_checkpoint, tmp_path, name, output):
    folder = tmp_path / "fresh"
    model = () if name == "export" else ("--model", "bert")
    source = tiny_checkpoint if name == "export" else write_checkpoint(tmp_path / "bert", "bert")
    shutil.copytree(source, folder / "mine")
    refused(name, *model, "--checkpoint", "mine", "--output", output, "--force", words=["--output must not"])


@pytest.mark.parametrize("place", ["file/out", "/proc/nowhere/out"])
def test_an_output_folder_that_cannot_be_written(refused, tiny_checkpoint, tmp_path, place):
    (tmp_path / "fresh").mkdir()
    (tmp_path / "fresh" / "file").write_text("")
    refused(
        "--checkpoint",
        tiny_checkpoint,
        "--quantize",
        "float32",
        "--output",
        place,
        words=["cannot be written", "--output"],
    )


def damaged(source: Path, target: Path, kind: str) -> Path:
    from safetensors.numpy import load_file, save_file

    shutil.copytree(source, target)
    weights, config = target / "model.safetensors", target / "config.json"
    document = json.loads(config.read_text())
    if kind == "truncated":
        weights.write_bytes(weights.read_bytes()[:-100])
    elif kind == "empty":
        weights.write_bytes(b"")
    elif kind == "no weights":
        weights.unlink()
    elif kind == "wrong shape":
        tensors = load_file(weights)
        name = next(name for name in tensors if "kernel" in name)
        save_file({**tensors, name: np.zeros((1, 2, 3, 5), np.float32)}, weights)
    elif kind == "extra tensor":
        save_file({**load_file(weights), "surplus": np.zeros(3, np.float32)}, weights)
    elif kind == "not a number":
        tensors = load_file(weights)
        name = next(name for name in tensors if "kernel" in name)
        save_file({**tensors, name: np.full_like(tensors[name], np.nan)}, weights)
    elif kind == "wrong key":
        document["config"]["embeding_size"] = 8
        config.write_text(json.dumps(document))
    elif kind == "wrong value":
        document["config"]["max_seq_len"] = "twelve"
        config.write_text(json.dumps(document))
    elif kind == "wrong model":
        document["model"] = "bert"
        config.write_text(json.dumps(document))
    elif kind == "not JSON":
        config.write_text("{")
    elif kind == "labels":
        (target / "labels.txt").write_text("book\n")
    return target


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("truncated", ["model.safetensors", "damaged"]),
        ("empty", ["model.safetensors", "damaged"]),
        ("no weights", ["lacks model.safetensors"]),
        ("wrong shape", ["must have shape", "(1, 2, 3, 5)"]),
        ("extra tensor", ["surplus"]),
        ("not a number", ["finite"]),
        ("wrong key", ["config.json", "embeding_size"]),
        ("wrong value", ["config.json"]),
        ("wrong model", ["Unknown model", "bert"]),
        ("not JSON", ["config.json", "JSON"]),
        ("labels", ["labels.txt", "3 labels"]),
    ],
)
def test_a_damaged_checkpoint(refused, tiny_checkpoint, tmp_path, kind, words):
    folder = damaged(tiny_checkpoint, tmp_path / "damaged", kind)
    refused("--checkpoint", folder, "--quantize", "float32", "--target", "onnx", words=words, json=False)


@with_and_without_json
def test_a_full_disk(refused, tiny_checkpoint, tmp_path, json_flag):
    with small_disk(tmp_path / "disk", 8) as disk:
        refused(
            "--checkpoint",
            tiny_checkpoint,
            "--quantize",
            "float32",
            "--output",
            disk / "out",
            words=["No space left on device", "Nothing was written"],
            json=json_flag,
        )
        assert everything_under(disk) == []


def test_a_file_size_limit(tiny_checkpoint, tmp_path):
    """As a full disk, and needs no root: the files may be 2 KB at most."""
    done = run(
        "--checkpoint",
        tiny_checkpoint,
        "--quantize",
        "float32",
        "--target",
        "onnx",
        "--output",
        "out",
        "--json",
        cwd=tmp_path,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (2048, 2048)),
    )
    assert done.returncode == 2, done.stderr
    assert done.stderr.splitlines() == ["export-mobile: File too large. Nothing was written."]
    assert everything_under(tmp_path) == []


# Import, reading, TensorFlow's import, conversion, verification: each of them is cut somewhere.
@pytest.mark.parametrize("seconds", [0.15, 1.0, 3.0, 5.0, 8.0])
def test_ctrl_c_at_any_moment_leaves_nothing(tiny_checkpoint, table, tmp_path, seconds):
    place, printed = tmp_path / "place", tmp_path / "printed"  # a pipe that nobody reads would hold the command up
    place.mkdir()
    with printed.open("w") as stdout:
        process = subprocess.Popen(
            command("--checkpoint", tiny_checkpoint, "--eval-data", table, "--output", "deep/out", "--json"),
            cwd=place,
            env=environment(),
            stdout=stdout,
            stderr=subprocess.PIPE,
            text=True,
        )
        time.sleep(seconds)
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=60)
    if process.returncode == 0:  # it was faster: then all of it is there
        assert json.loads(printed.read_text())["passed"]
        assert (place / "deep" / "out" / "report.json").is_file()
        return
    assert process.returncode == 2, stderr
    assert "Traceback" not in stderr
    assert len(stderr.splitlines()) == 1
    assert "interrupted" in stderr
    if "is complete" in stderr:  # between the last file and the first word
        assert (place / "deep" / "out" / "report.json").is_file()
        return
    assert printed.read_text() == ""
    assert everything_under(place) == []


def test_weights_that_float16_cannot_hold(refused, tiny_checkpoint, tmp_path):
    from safetensors.numpy import load_file, save_file

    folder = shutil.copytree(tiny_checkpoint, tmp_path / "large")
    tensors = load_file(folder / "model.safetensors")
    name = next(name for name in tensors if "classifier" in name and "kernel" in name)
    save_file({**tensors, name: tensors[name] * np.float32(1e7)}, folder / "model.safetensors")
    refused(
        *("--checkpoint", folder, "--quantize", "fp16", "--target", "onnx"),
        words=["Recipe fp16 needs weights below 65504. Received: ", "Choose another --quantize."],
        json=False,
    )


@pytest.mark.parametrize("json_flag", [["--json"], []], ids=["json", "plain"])
def test_a_full_folder_for_temporary_files_is_one_line(tiny_checkpoint, tmp_path, monkeypatch, capfd, json_flag):
    made = tempfile.mkdtemp

    def full(*arguments: object, dir: object = None, **options: object) -> str:  # noqa: A002 - as in tempfile
        return made(*arguments, dir=dir, **options) if dir is not None else "/dev/full/no-room"

    monkeypatch.setattr(tempfile, "mkdtemp", full)
    flags = ["--checkpoint", str(tiny_checkpoint), "--quantize", "float32", "--output", str(tmp_path / "out")]
    assert main([*flags, *json_flag]) == 2
    captured = capfd.readouterr()
    assert captured.out == ""
    assert len(captured.err.splitlines()) == 1
    assert f"could not save the model in {tempfile.gettempdir()}" in captured.err
    assert "TMPDIR" in captured.err
    assert everything_under(tmp_path) == []


def test_no_folder_for_temporary_files_at_all_is_one_line(tiny_checkpoint, tmp_path, monkeypatch, capfd):
    def none() -> str:
        raise FileNotFoundError(2, "No usable temporary directory found in ['/tmp']")

    flags = ["--checkpoint", str(tiny_checkpoint), "--quantize", "float32", "--output", str(tmp_path / "out")]
    with monkeypatch.context() as patch:  # pytest needs such a folder too
        patch.setattr(tempfile, "_get_default_tempdir", none)
        patch.setattr(tempfile, "tempdir", None)
        assert main(flags) == 2
    captured = capfd.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert "No usable temporary directory" in captured.err
    assert everything_under(tmp_path) == []


@pytest.mark.exhaustive
def test_python_without_docstrings_exports_too(tmp_path):
    python, *rest = command("--model", "prado", "--quantize", "int8", "--output", "out")
    done = subprocess.run(
        [python, "-OO", *rest], cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "out" / "report.json").read_text())["passed"]


PLAIN_ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


@pytest.mark.parametrize(
    ("name", "variables"),
    [(b"out-\xff", {}), ("out-é".encode(), PLAIN_ASCII)],
    ids=["not UTF-8", "ASCII only"],
)
def test_an_output_folder_of_any_name_is_written_and_reported(tiny_checkpoint, tmp_path, name, variables):
    flags = (
        "--checkpoint",
        tiny_checkpoint,
        "--quantize",
        "float32",
        "--target",
        "onnx",
        "--output",
        os.fsdecode(name),
    )
    done = subprocess.run(
        command(*flags), cwd=tmp_path, env={**environment(), **variables}, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert [os.fsencode(path.name) for path in tmp_path.iterdir()] == [name]
    report = json.loads((tmp_path / os.fsdecode(name) / "report.json").read_text(encoding="utf-8"))
    assert os.fsencode(report["output"]) == name
    assert done.stdout.decode("utf-8").splitlines()[-1].startswith("passed: out-")


def test_an_export_with_closed_output_streams_is_written(tiny_checkpoint, tmp_path):
    flags = ("--checkpoint", tiny_checkpoint, "--quantize", "float32", "--target", "onnx", "--output", "out")
    done = subprocess.run(
        ["/bin/sh", "-c", '"$@" >&- 2>&-', "sh", *command(*flags)], cwd=tmp_path, env=environment(), check=False
    )
    assert done.returncode == 0
    assert json.loads((tmp_path / "out" / "report.json").read_text())["passed"]


def test_a_reader_that_goes_away_changes_neither_the_files_nor_the_exit_code(tiny_checkpoint, tmp_path):
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        command(
            *("--checkpoint", tiny_checkpoint, "--quantize", "float32", "--target", "onnx", "--output", "out"),
            *("--max-size", "1KB"),
        ),
        cwd=tmp_path,
        env=environment(),
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writing)
    assert done.returncode == 4, done.stderr
    assert "Traceback" not in done.stderr
    assert (tmp_path / "out" / "report.json").is_file()
