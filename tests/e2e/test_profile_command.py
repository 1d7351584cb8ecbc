"""`export-mobile profile` as a user runs it: the table, the report with its picture, JSON, and bad input."""

import json
import math
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from models_tf.checkpoints import encoder as checkpoint
from support.export_command import everything_under, run
from support.real_checkpoints import minilm_sst2
from support.tiny_models import LENGTH, write_checkpoint

ROUNDS = ("--rounds", "5")


@pytest.fixture(scope="session")
def folder(tmp_path_factory) -> Path:
    return write_checkpoint(tmp_path_factory.mktemp("profiled") / "mine", "bert")


def check(found: dict, source: Path) -> None:
    """What is true of every profile: sums tied to the checkpoint and to the files."""
    read = checkpoint.load(str(source))
    shapes = read.config.shapes(read.head)
    assert found["parameters"] == sum(part["parameters"] for part in found["parts"])
    assert found["parameters"] == sum(map(math.prod, shapes.values()))
    assert found["multiply_adds"] == sum(part["multiply_adds"] for part in found["parts"]) > 0
    for file in found["files"]:
        assert sum(file["part_bytes"].values()) + file["graph_bytes"] == file["size_bytes"]
        assert file["note"] == ""
        assert sum(part["share"] for part in file["timing"]["parts"].values()) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.slow
def test_the_command_prints_the_table_and_writes_the_report(folder, tmp_path):
    done = run("profile", "--model", "bert", "--checkpoint", folder, "--output", "out", *ROUNDS, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert everything_under(tmp_path) == ["out", "out/profile.svg", "out/report.json", "out/report.md"]
    found = json.loads((tmp_path / "out" / "report.json").read_text())
    check(found, folder)
    assert [part["part"] for part in found["parts"]] == [
        "embedding",
        "linear before attention",
        "attention",
        "linear after attention",
        "FFN",
        "head",
    ]
    assert (found["rounds"], found["model"]["max_seq_len"]) == (5, LENGTH)
    assert found["command"].startswith("export-mobile profile --model bert --checkpoint ")
    for part in found["parts"]:
        assert f"{part['parameters']:,}" in done.stdout
    assert "written: out" in done.stdout
    ET.parse(tmp_path / "out" / "profile.svg")
    assert "![shares of each part](profile.svg)" in (tmp_path / "out" / "report.md").read_text()

    again = run("profile", "--model", "bert", "--checkpoint", folder, "--output", "out", *ROUNDS, cwd=tmp_path)
    assert again.returncode == 2
    assert "--force" in again.stderr


@pytest.mark.slow
@pytest.mark.parametrize("model", ["bert", "mobilebert"])
def test_json_alone_goes_to_stdout_and_nothing_is_written_without_output(model, tmp_path):
    source = write_checkpoint(tmp_path / "mine", model)
    place = tmp_path / "fresh"
    place.mkdir()
    arguments = ("--checkpoint", source, "--max-seq-len", 8, "--quantize", "int8-dynamic", "--json", *ROUNDS)
    done = run("profile", "--model", model, *arguments, cwd=place)
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    check(found, source)
    assert (found["quantize"], found["model"]["max_seq_len"]) == ("int8-dynamic", 8)
    assert everything_under(place) == []


def test_one_target_and_static_int8_with_texts(folder, tmp_path):
    (tmp_path / "rows.tsv").write_text("text\n" + "".join(f"{i} {i + 1} {i + 2}\n" for i in range(40)))
    arguments = ("--quantize", "int8", "--calibration-data", "rows.tsv", "--target", "onnx", "--json", *ROUNDS)
    done = run("profile", "--model", "bert", "--checkpoint", folder, *arguments, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    check(found, folder)
    assert [file["target"] for file in found["files"]] == ["onnx"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), ["profile is for token models", "--checkpoint"]),
        (("--model", "bert"), ["--checkpoint DIR", "--random-init"]),
        (("--model", "prado"), ["profile is for token models", "bert", "Received: the model prado"]),
        (("--model", "bert", "--checkpoint", "nowhere"), ["nowhere"]),
        (("--model", "brt", "--checkpoint", "MINE"), ["Unknown model", "Did you mean bert?"]),
        (("--model", "mobilebert", "--checkpoint", "MINE"), ["mobilebert", "bert"]),
        (("--model", "bert", "--checkpoint", "MINE", "--quantize", "int8"), ["int8", "--calibration-data"]),
        (("--model", "bert", "--checkpoint", "MINE", "--quantize", "int9"), ["Unknown recipe", "int9"]),
        (("--model", "bert", "--checkpoint", "MINE", "--target", "coreml"), ["Unknown target", "coreml"]),
        (("--model", "bert", "--checkpoint", "MINE", "--max-seq-len", "999"), ["--max-seq-len", "999"]),
        (("--model", "bert", "--checkpoint", "MINE", "--rounds", "1"), ["--rounds must be 5 to 200", "1"]),
        (("--model", "bert", "--checkpoint", "MINE", "--rounds", "many"), ["--rounds", "many"]),
        (("--model", "bert", "--random-init", "--preset", "huge"), ["Unknown preset", "huge"]),
        (("--model", "bert", "--checkpoint", "MINE", "--outptu", "x"), ["Did you mean --output?"]),
    ],
)
def test_bad_input_is_one_line_exit_code_2_and_nothing_written(folder, tmp_path, arguments, words):
    arguments = [folder if item == "MINE" else item for item in arguments]
    done = run("profile", *arguments, "--output", "out", cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert everything_under(tmp_path) == []
    for word in words:
        assert word in done.stderr


def test_a_checkpoint_that_is_not_bert_is_named(folder, tmp_path):
    source = write_checkpoint(tmp_path / "gpt", "bert")
    document = json.loads((source / "config.json").read_text())
    (source / "config.json").write_text(json.dumps({**document, "model_type": "gpt2"}))
    place = tmp_path / "fresh"
    place.mkdir()
    done = run("profile", "--model", "bert", "--checkpoint", source, "--output", "out", cwd=place)
    assert done.returncode == 2
    assert "gpt2" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert everything_under(place) == []


@pytest.mark.exhaustive
def test_a_real_checkpoint_has_the_figures_that_were_computed_by_hand(tmp_path):
    source = minilm_sst2()
    done = run("profile", "--model", "bert", "--checkpoint", source, "--json", *ROUNDS, cwd=tmp_path, timeout=900)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    check(found, source)
    parts = {part["part"]: part for part in found["parts"]}
    # Vocabulary, positions, segments and norm, 384 each; 6 layers of three matrices with bias; pooler and two labels.
    assert parts["embedding"]["parameters"] == (30522 + 512 + 2 + 2) * 384
    assert parts["linear before attention"]["parameters"] == 6 * 3 * (384 + 1) * 384
    assert parts["head"]["parameters"] == 385 * 384 + 385 * 2
    # The last layer: keys and values for all 128 tokens, the rest for the first.
    assert parts["linear before attention"]["multiply_adds"] == (5 * 3 + 2) * 128 * 384**2 + 384**2
    assert parts["attention"]["multiply_adds"] == 5 * 2 * 128 * 128 * 384 + 2 * 128 * 384
    assert parts["FFN"]["multiply_adds"] == (5 * 128 + 1) * 2 * 384 * 1536
