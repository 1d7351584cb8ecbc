"""`export-mobile compress` and `ablate` as commands, and the flags of compression: what is printed, exit codes."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from exporters.commands import main as cli
from models_tf.checkpoints import encoder as checkpoint
from support.compressions import write_models
from support.export_command import everything_under, run

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_models(tmp_path_factory.mktemp("compress"))


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Command:
    """Runs a command in a fresh folder; returns its exit code and what it printed."""
    (tmp_path / "fresh").mkdir()
    monkeypatch.chdir(tmp_path / "fresh")

    def call(*arguments: object) -> tuple[int, str, str]:
        code = cli.main([str(argument) for argument in arguments])
        found = capfd.readouterr()
        return code, found.out, found.err

    return call


@pytest.fixture
def passed(command: Command) -> Callable[..., str]:
    """Runs a command that must pass; returns what it printed."""

    def call(*arguments: object) -> str:
        code, printed, errors = command(*arguments)
        assert code == 0, errors
        return printed

    return call


@pytest.fixture
def refused(command: Command) -> Callable[..., str]:
    """Runs a command that must be refused: exit code 2, one line, nothing written. Returns the line."""

    def check(*arguments: object) -> str:
        code, printed, errors = command(*arguments)
        assert (code, printed, len(errors.splitlines())) == (2, "", 1), errors
        assert everything_under(Path.cwd()) == []
        return errors

    return check


def test_a_smaller_checkpoint_is_written_with_its_record(passed: Callable[..., str], folder: Path) -> None:
    printed = passed(
        "compress", "--model", "bert", "--checkpoint", folder / "bert", "--data", folder / "rows.tsv", "--rows", "32",
        "--drop-layers", "top:1", "--prune-heads", "0.5", "--prune-ffn", "0.5", "--output", "small",
    )  # fmt: skip
    record = json.loads(Path("small/compression.json").read_text())
    before, after = record["parameters"]["before"], record["parameters"]["after"]
    assert f"parameters: {before:,} -> {after:,}" in printed
    assert "layers kept: 2 of 3 (0 1)" in printed
    assert "heads kept in each: 2 2\n" in printed
    assert "FFN neurons kept in each: 16 16\n" in printed
    assert "chosen on 32 rows of rows.tsv" in printed
    assert "export-mobile train --model bert --checkpoint small --teacher" in printed
    assert (record["rows"], record["layers"]["dropped"]) == (32, [2])
    found = checkpoint.load("small")
    assert (found.config.num_layers, found.config.kept_heads, found.config.kept_ffn) == (2, (2, 2), (16, 16))
    assert found.labels == ["no", "yes", "perhaps"]
    assert found.trained
    assert "vocab.txt" in found.tokenizer_files
    assert after == sum(value.size for value in found.tensors.values())
    assert everything_under(Path("small")) == ["compression.json", "config.json", "model.safetensors", "vocab.txt"]


def test_sharing_vocabulary_embedding_and_retention_in_one_command(passed: Callable[..., str], folder: Path) -> None:
    printed = passed(
        "compress", "--checkpoint", folder / "deep", "--drop-layers", "3", "--share-layers", "2",
        "--share-from", "mean", "--prune-vocab", "--vocab-data", folder / "even.tsv", "--embedding-size", "8",
        "--retention", "10,6,2", "--retention-by", "random", "--seed", "5", "--output", "small",
    )  # fmt: skip
    lines = printed.splitlines()
    assert "weights of each layer: 0 0 1 (2 stored)" in lines
    assert "tokens kept after each layer, by random: 10 6 2" in lines
    vocabulary = next(line for line in lines if line.startswith("vocabulary: "))
    # 25 words, 10 digits, 4 special tokens; 0, 2, 4, 6 and 8 are both.
    assert vocabulary == "vocabulary: 61 -> 34 tokens (25 in the data)"
    assert any(line.startswith("word embedding: width 32 -> 8, ") for line in lines)
    assert "--model powerbert" in lines[-1]
    assert "--hidden-weight" not in lines[-1]
    found = checkpoint.load("small")
    config = found.config
    assert (found.model_name, config.retention, config.retention_by) == ("powerbert", (10, 6, 2), "random")
    assert (config.retention_seed, config.shared_layers, config.embedding_size) == (5, (0, 0, 1), 8)
    assert config.vocab_size == 34
    record = json.loads(Path("small/compression.json").read_text())
    assert record["vocabulary"] == {"before": 61, "after": 34, "in_data": 25}
    assert record["vocab_data"] == ["even.tsv"]
    assert record["retention"] == {"kept": [10, 6, 2], "by": "random", "seed": 5}


def test_the_record_is_printed_as_json(passed: Callable[..., str], folder: Path) -> None:
    printed = passed(
        "compress", "--checkpoint", folder / "bert", "--remove-heads", "0:3;1:0,1", "--ghosts", "--ghost-on",
        "outputs", "--output", "ghostly", "--json",
    )  # fmt: skip
    record = json.loads(printed)
    assert (record["model"], record["output"]) == ("ghostbert", "ghostly")
    assert record["heads"]["kept"] == [[0, 1, 2], [2, 3], [0, 1, 2, 3]]
    assert record["ghosts"]["on"] == "outputs"


CASES: list[tuple[list[str], str]] = [
    (["--prune-heads", "half"], "--prune-heads must be a number. Received: half."),
    (["--remove-heads", "heads"], 'such as "0:3,5;2:1"'),
    (["--ghosts", "0"], "argument --ghosts: must be from 1 to the number of heads, or nothing. Received: '0'"),
    (["--drop-layers", "1", "--ghost-on", "heads"], "--ghost-on needs --ghosts"),
    (["--drop-layers", "1", "--head-scope", "global"], "--head-scope needs --prune-heads"),
    (["--drop-layers", "1", "--min-heads", "2"], "--min-heads needs --prune-heads or --remove-heads"),
    (["--drop-layers", "1", "--drop-characters"], "--drop-characters needs --prune-vocab"),
    (["--drop-layers", "1", "--prune-head", "0.5"], "Did you mean --prune-heads?"),
    (["--retention", "9,6,3", "--retention-by", "length"], "--retention-by must be one of "),
    (["--retention-by", "first"], "--retention-by needs --retention. Received: --retention-by first alone."),
    (["--share-from", "mean"], "--share-from needs --share-layers"),
    (["--drop-layers", "top:9"], "must leave at least 1 of the model's 3 layers. Received: 9 to drop."),
    ([], "Nothing to do: give --drop-layers"),
]


@pytest.mark.parametrize(("flags", "words"), CASES, ids=[" ".join(flags) or "nothing" for flags, _ in CASES])
def test_bad_flags_are_one_line_and_nothing_is_written(
    refused: Callable[..., str], folder: Path, flags: list[str], words: str
) -> None:
    assert words in refused("compress", "--checkpoint", folder / "bert", *flags, "--output", "small")


@pytest.mark.parametrize("start", [(), ("train", "--train", "rows.tsv", "--dev", "rows.tsv", "--output", "new")])
def test_export_and_train_take_the_same_flags(
    refused: Callable[..., str], folder: Path, start: tuple[str, ...]
) -> None:
    given = [folder / flag if flag.endswith(".tsv") else flag for flag in start]
    flags = ("--model", "bert", "--checkpoint", folder / "bert", "--drop-layers", "top:3", "--max-seq-len", "12")
    line = refused(*given, *flags)
    assert "must leave at least 1 of the model's 3 layers" in line


def test_compression_is_for_token_models(refused: Callable[..., str]) -> None:
    assert "is for token models" in refused("--model", "prado", "--drop-layers", "top:1")


def test_ablation_prints_tables_or_json_and_writes_it(passed: Callable[..., str], folder: Path) -> None:
    flags = ("ablate", "--checkpoint", folder / "bert", "--data", folder / "rows.tsv", "--rows", "20")
    printed = passed(*flags)
    assert "accuracy of the whole model:" in printed
    assert "(n = 20," in printed
    assert "change in points without one head" in printed
    assert "change in points without one layer" in printed
    found = json.loads(passed(*flags, "--what", "layers", "--json", "--output", "a.json"))
    assert json.loads(Path("a.json").read_text()) == found
    assert len(found["without_layer"]["change"]) == 3


def test_ablation_needs_rows(refused: Callable[..., str], folder: Path) -> None:
    assert "the following arguments are required: --data" in refused("ablate", "--checkpoint", folder / "bert")


def test_the_command_itself_says_one_line_and_writes_nothing(folder: Path, tmp_path: Path) -> None:
    flags = ("--checkpoint", folder / "bert", "--drop-layers", "top:3", "--output", "small")
    (tmp_path / "fresh").mkdir()
    done = run("compress", *flags, cwd=tmp_path / "fresh")
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    assert everything_under(tmp_path / "fresh") == []
