"""`--retention`, `--share-layers`, `--embedding-size` and `--prune-vocab` from the command line.

Alone, together, in `train` and in an export; and one line for bad input.
"""

import json
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from exporters.commands import main as cli
from models_tf.checkpoints import encoder as checkpoint
from models_tf.encoder.network import Network
from models_tf.tokenizers.tokenizer import Tokenizer
from support.compress_cases import bert, outputs, stored
from support.export_command import everything_under
from support.random_encoders import relative_error

Command = Callable[..., tuple[int, str, str]]
WORDS = range(0, 50, 2)  # of the vocabulary's 57 numbers


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Checkpoints with words that are numbers, and rows of some of them; `other.tsv` has words of its own."""
    place = tmp_path_factory.mktemp("more")
    checkpoint.save(place / "bert", stored(bert(num_layers=4)))
    checkpoint.save(place / "questions", stored(bert("questions"), "questions"))
    checkpoint.save(place / "tags", stored(bert("tokens"), "tokens"))
    generator = random.Random(0)
    for name, words in (("rows.tsv", WORDS), ("other.tsv", range(1, 50, 2))):
        lines = ["text\tlabel"]
        for _ in range(40):
            text = " ".join(str(generator.choice(words)) for _ in range(generator.randrange(2, 9)))
            lines.append(f"{text}\t{generator.choice(('no', 'yes', 'perhaps'))}")
        (place / name).write_text("\n".join(lines) + "\n")
    (place / "tags.conll").write_text("2 O\n4 B-X\n\n6 O\n8 B-Y\n10 I-Y\n")
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


def answers(folder: Path, texts: list[str]) -> dict[str, np.ndarray]:
    found = checkpoint.load(folder)
    inputs = Tokenizer.from_files(found.tokenizer_files).encode(texts, max_len=12)
    return outputs(Network(config=found.config, head=found.head, tensors=found.tensors), inputs)


def texts_of(path: Path) -> list[str]:
    return [line.split("\t")[0] for line in path.read_text().splitlines()[1:]]


def test_all_of_them_in_one_command(command, folder):
    code, printed, errors = command(
        "compress", "--checkpoint", folder / "bert", "--drop-layers", "3", "--share-layers", "2",
        "--share-from", "mean", "--prune-vocab", "--vocab-data", folder / "rows.tsv", "--embedding-size", "8",
        "--retention", "10,6,2", "--retention-by", "random", "--seed", "5", "--output", "small",
    )  # fmt: skip
    assert code == 0, errors
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
    assert record["vocab_data"] == ["rows.tsv"]
    assert record["retention"] == {"kept": [10, 6, 2], "by": "random", "seed": 5}


def test_a_pruned_vocabulary_gives_the_same_answers_on_its_texts(command, folder):
    flags = ("compress", "--checkpoint", folder / "bert", "--prune-vocab", "--vocab-data", folder / "rows.tsv")
    assert command(*flags, "--output", "small")[0] == 0
    assert command(*flags, folder / "other.tsv", "--drop-characters", "--output", "both")[0] == 0
    texts, others = texts_of(folder / "rows.tsv"), texts_of(folder / "other.tsv")
    assert relative_error(answers(Path("small"), texts), answers(folder / "bert", texts)) == 0.0
    assert relative_error(answers(Path("small"), others), answers(folder / "bert", others)) > 0.0
    assert relative_error(answers(Path("both"), others), answers(folder / "bert", others)) == 0.0


def test_a_tagger_stays_a_tagger(command, folder):
    code, printed, errors = command(
        "compress", "--model", "tagger", "--checkpoint", folder / "tags", "--prune-vocab", "--vocab-data",
        folder / "tags.conll", "--drop-characters", "--embedding-size", "8", "--share-layers", "--output", "small",
    )  # fmt: skip
    assert code == 0, errors
    assert "vocabulary: 61 -> 9 tokens" in printed  # five words and four special tokens
    found = checkpoint.load("small")
    assert (found.model_name, found.config.vocab_size, found.config.shared_layers) == ("tagger", 9, (0, 0, 0))


CASES: list[tuple[list[str], str]] = [
    (["--retention", "9,6,3"], "--retention must be 4 whole numbers from 1"),
    (["--retention", "9,6,3,2,1"], "Received: 5 numbers"),
    (["--retention", "9,6,7,1"], "--retention must not grow"),
    (["--retention", "9,6,3,0"], "--retention must be 4 whole numbers from 1"),
    (["--retention", "all"], "Received: 'all'"),
    (["--retention", "9,6,3,1", "--drop-layers", "top:1"], "each layer left by --drop-layers keeps"),
    (["--retention", "9,6,3,1", "--retention-by", "length"], "argument --retention-by: invalid choice"),
    (["--retention-by", "first"], "--retention-by needs --retention. Received: --retention-by first alone."),
    (["--retention", "9,6,3,1", "--ghosts"], "Received: --ghosts and --retention."),
    (["--share-layers", "0"], "--share-layers must be a whole number from 1 to 256. Received: 0."),
    (["--share-layers", "5"], "--share-layers must be 1 to 4 groups, the model's layers. Received: 5."),
    (["--share-from", "mean"], "--share-from needs --share-layers"),
    (["--share-layers", "--ghosts", "1"], "Received: --ghosts and --share-layers."),
    (["--share-layers", "--remove-heads", "0:1"], "must have as many heads and FFN neurons"),
    (["--embedding-size", "32"], "--embedding-size must be below the model's width, 32. Received: 32."),
    (["--embedding-size", "-1"], "--embedding-size must be a whole number from 1"),
    (["--prune-vocab"], "--prune-vocab keeps the tokens of texts: give --vocab-data FILE. Received: none."),
    (["--prune-vocab", "--vocab-data", "absent.tsv"], "--vocab-data must be a file. Received:"),
    (["--vocab-data", "rows.tsv"], "--vocab-data needs --prune-vocab. Received: --vocab-data alone."),
    (["--drop-layers", "1", "--drop-characters"], "--drop-characters needs --prune-vocab"),
]


@pytest.mark.parametrize(("flags", "words"), CASES, ids=[" ".join(flags) for flags, _ in CASES])
def test_bad_input_is_one_line_and_nothing_is_written(command, folder, flags, words):
    given = [str(folder / flag) if flag.endswith(".tsv") else flag for flag in flags]
    code, printed, errors = command("compress", "--checkpoint", folder / "bert", *given, "--output", "small")
    assert (code, printed, len(errors.splitlines())) == (2, "", 1), errors
    assert words in errors
    assert everything_under(Path.cwd()) == []


@pytest.mark.parametrize("name", ["tags", "questions"])
def test_heads_that_read_every_token_have_no_retention(command, folder, name):
    code, _, errors = command("compress", "--checkpoint", folder / name, "--retention", "9,6,3", "--output", "small")
    assert code == 2
    assert "--retention is for classification and regression, whose heads read the first token" in errors
    assert everything_under(Path.cwd()) == []


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--retention", "9,6,3"], "--retention must be 4 whole numbers from 1"),
        (["--prune-vocab"], "--prune-vocab and --vocab-data FILE go together"),
        (["--prune-vocab", "--vocab-data", "absent.tsv"], "--vocab-data must be a file"),
        (["--embedding-size", "40"], "--embedding-size must be below the model's width"),
        (["--share-layers", "9"], "--share-layers must be 1 to 4 groups"),
    ],
)
def test_an_export_refuses_the_same(command, folder, flags, words):
    given = [str(folder / flag) if flag.endswith(".tsv") else flag for flag in flags]
    code, printed, errors = command("--checkpoint", folder / "bert", *given)
    assert (code, printed, len(errors.splitlines())) == (2, "", 1), errors
    assert words in errors
    assert everything_under(Path.cwd()) == []


def test_random_weights_have_no_vocabulary_to_prune(command, folder):
    flags = ("--model", "bert", "--random-init", "--prune-vocab", "--vocab-data", folder / "rows.tsv")
    code, _, errors = command(*flags)
    assert (code, "Received: --random-init." in errors) == (2, True)


@pytest.mark.slow
def test_an_export_has_the_pruned_vocabulary_beside_the_model(command, folder):
    code, printed, errors = command(
        "--checkpoint", folder / "bert", "--prune-vocab", "--vocab-data", folder / "rows.tsv", "--embedding-size", "8",
        "--share-layers", "--retention", "10,8,4,1", "--quantize", "float32", "--target", "onnx", "--max-seq-len", "12",
        "--eval-data", folder / "rows.tsv", "--output", "out",
    )  # fmt: skip
    assert code == 0, errors
    assert "layers share weights 0 0 0 0, word embedding 32 -> 8, vocabulary 61 -> 34" in printed
    assert "tokens by significance 10 8 4 1" in printed
    assert len(Path("out/vocab.txt").read_text().splitlines()) == 34
    report = json.loads(Path("out/report.json").read_text())
    assert (report["model"]["name"], report["model"]["vocab_size"]) == ("powerbert", 34)


@pytest.mark.slow
def test_training_prunes_the_vocabulary_to_its_own_files(command, folder):
    """The teacher's hidden states are learned all the same: it reads the student's ids."""
    code, _, errors = command(
        "train", "--model", "bert", "--checkpoint", folder / "bert", "--teacher", folder / "bert",
        "--hidden-weight", "1", "--train", folder / "rows.tsv", "--dev", folder / "rows.tsv", "--max-seq-len", "12",
        "--epochs", "1", "--batch-size", "16", "--prune-vocab", "--embedding-size", "8", "--output", "trained",
    )  # fmt: skip
    assert code == 0, errors
    found = checkpoint.load("trained")
    assert (found.config.vocab_size, found.config.embedding_size) == (34, 8)
    assert Tokenizer.from_files(found.tokenizer_files).vocab_size == 34
    record = json.loads(Path("trained/compression.json").read_text())
    assert (record["vocab_data"], record["vocabulary"]["after"]) == (["rows.tsv", "rows.tsv"], 34)
    # A second command can go on from there, with the whole model as its teacher.
    code, _, errors = command(
        "train", "--model", "bert", "--checkpoint", "trained", "--teacher", folder / "bert", "--hidden-weight", "1",
        "--train", folder / "rows.tsv", "--dev", folder / "rows.tsv", "--max-seq-len", "12", "--epochs", "1",
        "--output", "again",
    )  # fmt: skip
    assert code == 0, errors


@pytest.mark.slow
def test_a_new_model_can_be_built_shared_and_narrow(command, folder):
    sizes = ("num_hidden_layers=4", "hidden_size=16", "num_attention_heads=2", "intermediate_size=16")
    code, _, errors = command(
        "train", "--model", "bert", "--vocab", folder / "bert", "--train", folder / "rows.tsv", "--dev",
        folder / "rows.tsv", "--max-seq-len", "12", "--epochs", "1", "--share-layers", "2", "--embedding-size", "8",
        "--prune-vocab", "--retention", "9,9,4,1", "--output", "new",
        *(word for size in sizes for word in ("--set", size)),
    )  # fmt: skip
    assert code == 0, errors
    found = checkpoint.load("new")
    assert (found.model_name, found.config.shared_layers) == ("powerbert", (0, 0, 1, 1))
    assert (found.config.embedding_size, found.config.vocab_size, found.config.retention) == (8, 34, (9, 9, 4, 1))


def test_a_new_model_has_nothing_to_remove(command, folder):
    rows = ("--train", folder / "rows.tsv", "--dev", folder / "rows.tsv", "--vocab", folder / "bert", "--output", "new")
    code, _, errors = command("train", "--model", "bert", "--drop-layers", "1", *rows)
    assert (code, "Received: no --checkpoint." in errors) == (2, True)


def test_layers_that_share_weights_cannot_learn_from_a_teacher_in_turns(command, folder):
    rows = (
        "--train",
        folder / "rows.tsv",
        "--dev",
        folder / "rows.tsv",
        "--teacher",
        folder / "bert",
        "--output",
        "new",
    )
    flags = ("--checkpoint", folder / "bert", "--share-layers", "2", "--transfer", "progressive", "--max-seq-len", "12")
    code, _, errors = command("train", "--model", "bert", *flags, *rows)
    assert (code, errors.count("\n")) == (2, 1)
    assert "use --transfer joint. Received: shared layers 0, 0, 1, 1." in errors
    assert not Path("new").exists()
