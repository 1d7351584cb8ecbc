"""Retention, shared layers, a narrower embedding and a pruned vocabulary: in `compress`, `train` and an export."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exporters import Compression, ExportRequest, TrainRequest, export, train
from models_tf.checkpoints import encoder as checkpoint
from models_tf.encoder.network import Network
from models_tf.tokenizers.tokenizer import Tokenizer
from support.compressions import compress, refusal, write_models
from support.network_runs import outputs, relative_error


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_models(tmp_path_factory.mktemp("more"))


def answers(folder: Path, texts: list[str]) -> dict[str, np.ndarray]:
    found = checkpoint.load(folder)
    inputs = Tokenizer.from_files(found.tokenizer_files).encode(texts, max_len=12)
    return outputs(Network(config=found.config, head=found.head, tensors=found.tensors), inputs)


def texts_of(path: Path) -> list[str]:
    return [line.split("\t")[0] for line in path.read_text().splitlines()[1:]]


def test_a_pruned_vocabulary_gives_the_same_answers_on_its_texts(folder: Path, tmp_path: Path) -> None:
    whole, even, odd = folder / "deep", folder / "even.tsv", folder / "odd.tsv"
    compress(whole, tmp_path / "small", prune_vocab=True, vocab_data=[even])
    compress(whole, tmp_path / "both", prune_vocab=True, vocab_data=[even, odd], drop_characters=True)
    texts, others = texts_of(even), texts_of(odd)
    assert relative_error(answers(tmp_path / "small", texts), answers(whole, texts)) == 0.0
    assert relative_error(answers(tmp_path / "small", others), answers(whole, others)) > 0.0
    assert relative_error(answers(tmp_path / "both", others), answers(whole, others)) == 0.0


def test_a_tagger_stays_a_tagger(folder: Path, tmp_path: Path) -> None:
    fields = {"drop_characters": True, "embedding_size": 8, "share_layers": 1, "vocab_data": [folder / "tagged.conll"]}
    made = compress(folder / "tagger", tmp_path / "small", model="tagger", prune_vocab=True, **fields)
    assert "vocabulary: 61 -> 9 tokens" in made.summary()  # five words and four special tokens
    found = checkpoint.load(tmp_path / "small")
    assert (found.model_name, found.config.vocab_size, found.config.shared_layers) == ("tagger", 9, (0, 0, 0))


CASES: list[tuple[dict[str, Any], str]] = [
    ({"retention": (9, 6, 3)}, "`retention` must be 4 whole numbers from 1"),
    ({"retention": (9, 6, 3, 2, 1)}, "Received: 5 numbers"),
    ({"retention": (9, 6, 7, 1)}, "`retention` must not grow"),
    ({"retention": (9, 6, 3, 0)}, "`retention` must be 4 whole numbers from 1"),
    ({"retention": "all"}, "Received: 'all'"),
    ({"retention": (9, 6, 3, 1), "drop_layers": "top:1"}, "each layer left by `drop_layers` keeps"),
    ({"retention": (9, 6, 3, 1), "retention_by": "length"}, "`retention_by` must be one of"),
    ({"retention": (9, 6, 3, 1), "ghosts": 0}, "Received: `ghosts` and `retention`."),
    ({"share_layers": 0}, "`share_layers` must be a whole number from 1 to 256. Received: 0."),
    ({"share_layers": 5}, "`share_layers` must be 1 to 4 groups, the model's layers. Received: 5."),
    ({"share_layers": 1, "ghosts": 1}, "Received: `ghosts` and `share_layers`."),
    ({"share_layers": 1, "remove_heads": ((0, (1,)),)}, "must have as many heads and FFN neurons"),
    ({"embedding_size": 32}, "`embedding_size` must be below the model's width, 32. Received: 32."),
    ({"embedding_size": -1}, "`embedding_size` must be a whole number from 1"),
    ({"prune_vocab": True}, "`prune_vocab` keeps the tokens of texts: give `vocab_data` FILE. Received: none."),
    ({"prune_vocab": True, "vocab_data": [Path("absent.tsv")]}, "`vocab_data` must be a file. Received:"),
    ({"vocab_data": [Path("rows.tsv")]}, "`vocab_data` needs `prune_vocab`. Received: `vocab_data` alone."),
]


@pytest.mark.parametrize(("fields", "words"), CASES, ids=[str(fields) for fields, _ in CASES])
def test_what_cannot_be_done_is_one_line_and_nothing_is_written(
    folder: Path, tmp_path: Path, fields: dict[str, Any], words: str
) -> None:
    assert words in refusal(tmp_path, lambda: compress(folder / "deep", tmp_path / "small", **fields))


@pytest.mark.parametrize("name", ["tagger", "questions"])
def test_heads_that_read_every_token_have_no_retention(folder: Path, tmp_path: Path, name: str) -> None:
    line = refusal(tmp_path, lambda: compress(folder / name, tmp_path / "small", retention=(9, 6, 3)))
    assert "`retention` is for classification and regression, whose heads read the first token" in line


@pytest.mark.parametrize(
    ("fields", "texts", "words"),
    [
        ({"retention": (9, 6, 3)}, None, "`retention` must be 4 whole numbers from 1"),
        ({"prune_vocab": True}, None, "`prune_vocab` and `vocab_data` FILE go together"),
        ({"prune_vocab": True}, "absent.tsv", "`vocab_data` must be a file"),
        ({"embedding_size": 40}, None, "`embedding_size` must be below the model's width"),
        ({"share_layers": 9}, None, "`share_layers` must be 1 to 4 groups"),
    ],
)
def test_an_export_refuses_the_same(
    folder: Path, tmp_path: Path, fields: dict[str, Any], texts: str | None, words: str
) -> None:
    given = {"checkpoint": folder / "deep", "output": tmp_path / "out", "vocab_data": [folder / texts] if texts else ()}
    line = refusal(tmp_path, lambda: export(ExportRequest(**given, compression=Compression(**fields))))
    assert words in line


def test_random_weights_have_no_vocabulary_to_prune(folder: Path, tmp_path: Path) -> None:
    fields: dict[str, Any] = {"random_init": True, "compression": Compression(prune_vocab=True)}
    line = refusal(tmp_path, lambda: ExportRequest(model="bert", vocab_data=[folder / "rows.tsv"], **fields))
    assert "Received: `random_init`." in line


@pytest.mark.exhaustive
def test_an_export_has_the_pruned_vocabulary_beside_the_model(folder: Path, tmp_path: Path) -> None:
    even, output = folder / "even.tsv", tmp_path / "out"
    smaller = Compression(prune_vocab=True, embedding_size=8, share_layers=1, retention=(10, 8, 4, 1))
    files = {"quantize": "float32", "target": ("onnx",), "max_seq_len": 12}
    data = {"checkpoint": folder / "deep", "vocab_data": [even], "eval_data": even, "output": output}
    report = export(ExportRequest(**data, **files, compression=smaller))
    assert report.passed
    assert "layers share weights 0 0 0 0, word embedding 32 -> 8, vocabulary 61 -> 34" in report.summary()
    assert "tokens by significance 10 8 4 1" in report.summary()
    assert len((output / "vocab.txt").read_text().splitlines()) == 34
    written = json.loads((output / "report.json").read_text())
    assert (written["model"]["name"], written["model"]["vocab_size"]) == ("powerbert", 34)


def fields_of(folder: Path) -> dict[str, Any]:
    """A training of one epoch."""
    rows = {"train": folder / "even.tsv", "dev": folder / "even.tsv", "max_seq_len": 12}
    return {"model": "bert", "epochs": 1, "batch_size": 16, **rows}


@pytest.mark.exhaustive
def test_training_prunes_the_vocabulary_to_its_own_files(folder: Path, tmp_path: Path) -> None:
    """The teacher's hidden states are learned all the same: it reads the student's ids."""
    fields = {**fields_of(folder), "teacher": [folder / "deep"], "hidden_weight": 1.0}
    smaller = Compression(prune_vocab=True, embedding_size=8)
    output = tmp_path / "trained"
    train(TrainRequest(**fields, checkpoint=folder / "deep", compression=smaller, output=output))
    found = checkpoint.load(output)
    assert (found.config.vocab_size, found.config.embedding_size) == (34, 8)
    assert Tokenizer.from_files(found.tokenizer_files).vocab_size == 34
    record = json.loads((output / "compression.json").read_text())
    assert (record["vocab_data"], record["vocabulary"]["after"]) == (["even.tsv", "even.tsv"], 34)
    # A second training can go on from there, with the whole model as its teacher.
    train(TrainRequest(**fields, checkpoint=output, output=tmp_path / "again"))


@pytest.mark.exhaustive
def test_a_new_model_can_be_built_shared_and_narrow(folder: Path, tmp_path: Path) -> None:
    sizes = ("num_hidden_layers=4", "hidden_size=16", "num_attention_heads=2", "intermediate_size=16")
    smaller = Compression(share_layers=2, embedding_size=8, prune_vocab=True, retention=(9, 9, 4, 1))
    new = {"vocab": folder / "deep", "overrides": sizes, "compression": smaller, "output": tmp_path / "new"}
    train(TrainRequest(**fields_of(folder), **new))
    found = checkpoint.load(tmp_path / "new")
    assert (found.model_name, found.config.shared_layers) == ("powerbert", (0, 0, 1, 1))
    assert (found.config.embedding_size, found.config.vocab_size, found.config.retention) == (8, 34, (9, 9, 4, 1))


def test_a_new_model_has_nothing_to_remove(folder: Path, tmp_path: Path) -> None:
    new = {"vocab": folder / "deep", "compression": Compression(drop_layers="1"), "output": tmp_path / "new"}
    assert "Received: no `checkpoint`." in refusal(tmp_path, lambda: TrainRequest(**fields_of(folder), **new))


def test_layers_that_share_weights_cannot_learn_from_a_teacher_in_turns(folder: Path, tmp_path: Path) -> None:
    taught = {"checkpoint": folder / "deep", "teacher": [folder / "deep"], "transfer": "progressive"}
    fields = {**fields_of(folder), **taught, "compression": Compression(share_layers=2), "output": tmp_path / "new"}
    line = refusal(tmp_path, lambda: train(TrainRequest(**fields)))
    assert "use `transfer` joint. Received: shared layers 0, 0, 1, 1." in line
