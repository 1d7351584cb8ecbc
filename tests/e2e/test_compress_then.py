"""The compression flags of `train` and of the export: smaller files, records of what was removed, refusals."""

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from exporters.commands import main as cli
from exporters.request import ExportRequest
from exporters.training.tokens import record_file
from models_tf.checkpoints import encoder as checkpoint
from models_tf.compress.settings import Compression
from models_tf.errors import InputError
from support.compress_cases import bert, stored
from support.export_command import everything_under

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A checkpoint `bert`, its `base`, and rows."""
    place = tmp_path_factory.mktemp("then")
    checkpoint.save(place / "bert", stored(bert()))
    checkpoint.save(place / "base", stored(bert("base"), "base"))
    generator = random.Random(0)
    lines = ["text\tlabel"]
    for _ in range(40):
        words = " ".join(str(generator.randrange(50)) for _ in range(generator.randrange(2, 9)))
        lines.append(f"{words}\t{generator.choice(('no', 'yes', 'perhaps'))}")
    (place / "rows.tsv").write_text("\n".join(lines) + "\n")
    return place


@pytest.fixture
def command(tmp_path, monkeypatch, capfd) -> Command:
    (tmp_path / "fresh").mkdir()
    monkeypatch.chdir(tmp_path / "fresh")

    def call(*arguments: object) -> tuple[int, str, str]:
        code = cli.main([str(argument) for argument in arguments])
        found = capfd.readouterr()
        return code, found.out, found.err

    return call


@pytest.mark.slow
def test_an_export_can_compress_first_and_says_what_it_removed(command, folder):
    flags = (
        "--model",
        "bert",
        "--checkpoint",
        folder / "bert",
        "--quantize",
        "float32",
        "--target",
        "tflite",
        "--json",
    )
    flags += ("--max-seq-len", "12")
    sizes = []
    for number, more in enumerate(
        (
            (),
            (
                "--drop-layers",
                "top:1",
                "--prune-heads",
                "0.5",
                "--prune-ffn",
                "0.5",
                "--importance-data",
                folder / "rows.tsv",
            ),
        )
    ):
        code, printed, errors = command(*flags, *more, "--output", f"out{number}")
        assert code == 0, errors
        report = json.loads(printed)
        sizes.append(Path(f"out{number}/model_float32.tflite").stat().st_size)
    assert sizes[1] < sizes[0]
    removed = report["model"]["compression"]
    assert removed["layers"]["dropped"] == [2]
    assert [len(kept) for kept in removed["heads"]["kept"]] == [2, 2]
    assert removed["neurons"]["kept_counts"] == [16, 16]
    assert report["model"]["parameters"] == removed["parameters"]["after"] < removed["parameters"]["before"]


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--prune-heads", "0.5"], "--importance-data FILE with labels is needed"),
        (["--prune-heads", "0.5", "--eval-data", "rows.tsv"], "rows of --eval-data are never used"),
        (["--prune-heads", "1.5", "--importance-data", "rows.tsv"], "the part that is kept must be in (0, 1]"),
        (["--drop-layers", "top:3"], "must leave at least 1 of the model's 3 layers"),
        (["--drop-layers", "top:1", "--importance-data", "rows.tsv"], "--importance-data is for --prune-heads"),
        (["--prune-ffn", "0.5", "--importance-data", "absent.tsv"], "--importance-data must be a file"),
        (["--remove-heads", "0:7"], "heads from 0 to 3 of layer 0. Received: 7."),
        (
            ["--model", "mobilebert", "--prune-heads", "0.5"],
            "Only BERT can be compressed (bert, ghostbert, powerbert, albert, tagger).",
        ),
    ],
)
def test_an_export_refuses_what_compress_refuses(command, folder, flags, words):
    given = [str(folder / flag) if flag.endswith(".tsv") else flag for flag in flags]
    code, printed, errors = command("--model", "bert", "--checkpoint", folder / "bert", *given)
    assert (code, printed, len(errors.splitlines())) == (2, "", 1)
    assert words in errors
    assert everything_under(Path.cwd()) == []


def test_compression_is_for_bert_only(command):
    code, _, errors = command("--model", "prado", "--drop-layers", "top:1")
    assert code == 2
    assert "is for token models" in errors
    with pytest.raises(InputError, match="must be a Compression"):
        ExportRequest(model="bert", random_init=True, compression="top:1")
    ExportRequest(model="bert", random_init=True, compression=Compression(drop_layers="top:1"))
    with pytest.raises(InputError, match="Untrained weights have no importance to choose by"):
        ExportRequest(model="bert", random_init=True, compression=Compression(prune_heads=0.5))


@pytest.mark.slow
def test_training_can_compress_its_checkpoint_first(command, folder):
    code, _, errors = command(
        "train", "--model", "bert", "--checkpoint", folder / "bert", "--train", folder / "rows.tsv", "--dev",
        folder / "rows.tsv", "--max-seq-len", "12", "--epochs", "1", "--batch-size", "16", "--prune-heads", "0.5",
        "--prune-ffn", "0.5", "--drop-layers", "1", "--output", "trained",
    )  # fmt: skip
    assert code == 0, errors
    found = checkpoint.load("trained")
    assert (found.config.num_layers, found.config.kept_heads, found.config.kept_ffn) == (2, (2, 2), (16, 16))
    record = json.loads(Path("trained/compression.json").read_text())
    assert (record["layers"]["dropped"], record["rows"], record["data"]) == ([1], 40, "rows.tsv")


def test_every_checkpoint_of_a_training_has_its_record_and_a_resumed_one_keeps_it(tmp_path):
    assert record_file(None, "train", tmp_path) == {}
    made = record_file({"rows": 3}, "train", tmp_path)
    assert json.loads(made["compression.json"]) == {"command": "train", "rows": 3}
    (tmp_path / "compression.json").write_bytes(made["compression.json"])
    assert record_file({"rows": 4}, "train --resume", tmp_path) == made
    assert record_file({"rows": 4}, "train --force") != made


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--checkpoint", "bert", "--prune-heads", "1"], "the part that is kept must be in (0, 1]"),
        (["--checkpoint", "bert", "--drop-layers", "top:3"], "must leave at least 1"),
        (["--checkpoint", "base", "--prune-heads", "0.5"], "whose head is new"),
        (["--prune-heads", "0.5", "--vocab", "bert"], "Received: no --checkpoint"),
    ],
)
def test_training_refuses_what_compress_refuses(command, folder, flags, words):
    given = [str(folder / flag) if flag in ("bert", "base") else flag for flag in flags]
    rows = ("--train", folder / "rows.tsv", "--dev", folder / "rows.tsv", "--max-seq-len", "12", "--output", "trained")
    code, printed, errors = command("train", "--model", "bert", *given, *rows)
    assert (code, printed, len(errors.splitlines())) == (2, "", 1)
    assert words in errors
    assert everything_under(Path.cwd()) == []
