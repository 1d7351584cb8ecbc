"""Wrong retention lists, tag files and tokenizers: one line on stderr, exit code 2, nothing written.

All run in this process, except for one run of the command itself.
"""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exporters.commands import main as cli
from support.export_command import everything_under, run
from support.tiny_models import write_checkpoint

Refused = Callable[..., str]
TAGS = "1\tB-X\n2\tI-X\n3\tO\n\n4\tO\n5\tB-X\n"


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_checkpoint(tmp_path_factory.mktemp("bert") / "mine", "bert")


@pytest.fixture(scope="module")
def powerbert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_checkpoint(tmp_path_factory.mktemp("powerbert") / "mine", "powerbert")


@pytest.fixture(scope="module")
def albert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_checkpoint(tmp_path_factory.mktemp("albert") / "mine", "albert")


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rows") / "rows.tsv"
    path.write_text("\n".join(["text\tlabel", *(f"{i} {i + 1}\t{('no', 'yes', 'perhaps')[i % 3]}" for i in range(30))]))
    return path


@pytest.fixture
def refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Refused:
    """Runs the command in a fresh folder, asserts the four claims, and returns the line."""

    def check(*arguments: object) -> str:
        place = tmp_path / "fresh"
        place.mkdir(exist_ok=True)
        monkeypatch.chdir(place)
        code = cli.main([str(argument) for argument in arguments])
        found = capfd.readouterr()
        assert code == 2, found.err
        assert found.out == ""
        assert len(found.err.splitlines()) == 1, found.err
        assert found.err.startswith("export-mobile: ")
        assert "Traceback" not in found.err
        assert "internal error" not in found.err
        assert everything_under(place) == []
        return found.err

    return check


def changed(source: Path, target: Path, **config: Any) -> Path:
    """A copy with keys of config.json replaced."""
    shutil.copytree(source, target)
    document = {**json.loads((target / "config.json").read_text()), **config}
    (target / "config.json").write_text(json.dumps(document))
    return target


# Of a model with three layers in config.json, and with two from the command line.
LISTS: list[tuple[list[Any], list[str]]] = [
    ([9, 5, 3, 1], ["`retention` must be 3 whole numbers", "4 numbers, [9, 5, 3, 1]"]),
    ([9, 5], ["must be 3 whole numbers", "2 numbers"]),
    ([9, 5, 6], ["must not grow", "6 in layer 2 after 5"]),
    ([9, 5, 0], ["must be 3 whole numbers from 1", "[9, 5, 0]"]),
    ([9, -5, 1], ["whole numbers from 1"]),
    ([9, 5.5, 1], ["retention", "5.5"]),
    ([9, True, 1], ["retention"]),
]


@pytest.mark.parametrize(("retention", "words"), LISTS, ids=[str(retention) for retention, _ in LISTS])
def test_a_config_with_a_wrong_retention_is_refused(
    refused: Refused, powerbert: Path, tmp_path: Path, retention: list[Any], words: list[str]
) -> None:
    folder = changed(powerbert, tmp_path / "wrong", retention=retention)
    lines = [
        refused("--checkpoint", folder, "--quantize", "float32"),
        refused("explain", "--checkpoint", folder, "--text", "1"),
    ]
    for word in ["config.json", *words]:
        assert all(word in line for line in lines), lines


@pytest.mark.parametrize("key", ["retention", "retention_by", "retention_seed"])
def test_a_retention_that_is_no_list_or_no_name_is_refused(
    refused: Refused, powerbert: Path, tmp_path: Path, key: str
) -> None:
    folder = changed(powerbert, tmp_path / "wrong", **{key: "most"})
    assert f"`{key}`" in refused("--checkpoint", folder, "--quantize", "float32")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("9,5,3", ["2 whole numbers", "3 numbers"]),
        ("9", ["2 whole numbers", "1 number"]),
        ("5,9", ["must not grow", "9 in layer 1 after 5"]),
        ("5,0", ["from 1", "0"]),
        ("5,-1", ["-1"]),
        ("5,many", ["many"]),
        ("", ["retention"]),
    ],
)
def test_a_wrong_list_on_the_command_line_is_refused_by_every_command(
    refused: Refused, bert: Path, rows: Path, text: str, words: list[str]
) -> None:
    training = ("--train", rows, "--dev", rows, "--max-seq-len", 16)
    flag = f"--retention={text}"
    lines = [
        refused("--checkpoint", bert, "--quantize", "float32", flag),
        refused("compress", "--checkpoint", bert, "--output", "out", flag),
        refused("train", "--model", "powerbert", "--checkpoint", bert, *training, "--output", "out", flag),
    ]
    for word in words:
        assert all(word in line for line in lines), lines


def test_a_head_on_every_token_has_nothing_to_read_where_tokens_are_dropped(
    refused: Refused, powerbert: Path, albert: Path, rows: Path, tmp_path: Path
) -> None:
    task = ("--task", "token-classification")
    line = refused("--model", "powerbert", "--random-init", *task, "--quantize", "float32")
    assert "powerbert is for classification or base. Received: token-classification" in line
    refused("--model", "powerbert", "--checkpoint", powerbert, *task, "--quantize", "float32")
    tags = tmp_path / "tags.conll"
    tags.write_text(TAGS)
    training = ("--train", tags, "--dev", tags, "--output", "out", "--max-seq-len", 16)
    refused("train", "--model", "powerbert", "--checkpoint", powerbert, *task, *training)
    dropping = changed(
        albert, tmp_path / "dropping", retention=[8, 6, 4, 1], architectures=["AlbertForTokenClassification"]
    )
    assert "drops tokens" in refused("--checkpoint", dropping, "--quantize", "float32")


def test_a_tagger_is_for_tags(refused: Refused, bert: Path) -> None:
    line = refused("--model", "tagger", "--random-init", "--task", "classification", "--quantize", "float32")
    assert "tagger is for token-classification or base. Received: classification" in line
    refused("--model", "tagger", "--checkpoint", bert, "--quantize", "float32")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1\tB-X\n2\tI-X\n3\n", ["line 3", "2 columns", "Received: 1"]),
        ("1\tB-X\n\n2\tx\tO\n", ["line 3", "2 columns", "Received: 3"]),
        ("1\tB-X\n2\t\n", ["line 2"]),
        ("1\tB-X\n2\tO\n3\tI-X\n", ["line 3", "must begin with B-", "I-X after O"]),
        ("1\tB-X\n2\tVERB\n", ["line 2", "'VERB'"]),
        ("1\tB-X\n2\tL-X\n", ["line 2", "BILOU"]),
        ("1\tb-X\n2\tO\n", ["line 1", "capitals"]),
        ("\n\n", ["sentences"]),
    ],
)
@pytest.mark.parametrize("which", ["--train", "--dev"])
def test_a_wrong_tag_file_is_refused_with_its_line(
    refused: Refused, bert: Path, tmp_path: Path, which: str, text: str, words: list[str]
) -> None:
    good, wrong = tmp_path / "good.conll", tmp_path / "wrong.conll"
    good.write_text(TAGS)
    wrong.write_text(text)
    files = {"--train": good, "--dev": good, which: wrong}
    flags = [part for flag, path in files.items() for part in (flag, path)]
    line = refused("train", "--model", "tagger", "--checkpoint", bert, *flags, "--output", "out", "--max-seq-len", 16)
    for word in ["wrong.conll", *words]:
        assert word in line


def test_a_tag_of_dev_that_train_has_not_is_refused_with_its_line(refused: Refused, bert: Path, tmp_path: Path) -> None:
    train, dev = tmp_path / "train.conll", tmp_path / "dev.conll"
    train.write_text(TAGS)
    dev.write_text("1\tB-X\n2\tO\n3\tB-Y\n")
    flags = ("--checkpoint", bert, "--train", train, "--dev", dev, "--output", "out", "--max-seq-len", 16)
    line = refused("train", "--model", "tagger", *flags)
    assert "dev.conll line 3" in line
    assert "'B-Y'" in line


def test_tags_that_an_exported_model_has_not_are_refused_with_their_line(refused: Refused, tmp_path: Path) -> None:
    folder = write_checkpoint(tmp_path / "tagger", "tagger", "token-classification")
    path = tmp_path / "eval.conll"
    path.write_text("1\tB-X\n2\tB-Y\n")
    line = refused("--checkpoint", folder, "--eval-data", path, "--quantize", "float32")
    assert "eval.conll line 2" in line
    assert "'B-Y'" in line


@pytest.mark.parametrize("command", ["export", "explain", "train", "compress"])
def test_an_albert_without_its_sentencepiece_model_is_refused(
    refused: Refused, albert: Path, rows: Path, tmp_path: Path, command: str
) -> None:
    folder = changed(albert, tmp_path / "bare", retention=[8, 6, 4, 1])
    (folder / "vocab.txt").unlink()
    flags: dict[str, tuple[object, ...]] = {
        "export": ("--quantize", "float32"),
        "explain": ("--text", "1"),
        "train": ("--model", "albert", "--train", rows, "--dev", rows, "--output", "out"),
        "compress": ("--drop-layers", "contribution:1", "--data", rows, "--output", "out"),
    }
    name = () if command == "export" else (command,)
    line = refused(*name, "--checkpoint", folder, *flags[command])
    if command != "compress":  # which may refuse layers that share weights before
        assert "spiece.model" in line


def test_a_sentencepiece_model_that_is_broken_is_refused(refused: Refused, albert: Path, tmp_path: Path) -> None:
    folder = changed(albert, tmp_path / "broken")
    (folder / "vocab.txt").unlink()
    (folder / "spiece.model").write_bytes(b"\x0a\xff no protobuf")
    assert "spiece.model" in refused("--checkpoint", folder, "--quantize", "float32")


def test_explain_refuses_a_dense_bert_in_a_fresh_folder(bert: Path, tmp_path: Path) -> None:
    place = tmp_path / "fresh"
    place.mkdir()
    done = run("explain", "--checkpoint", bert, "--text", "1 2 3", cwd=place)
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    assert "Received: bert, which keeps all of them" in done.stderr
    assert everything_under(place) == []
