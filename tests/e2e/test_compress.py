"""`compress`: complete folders, correct records, one line for what cannot be done."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exporters import AblateRequest, ablate
from models_tf.checkpoints import encoder as checkpoint
from models_tf.encoder.network import Network
from support.compressions import compress, refusal, write_models
from support.export_command import everything_under
from support.network_runs import outputs, relative_error, rows


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_models(tmp_path_factory.mktemp("compress"))


@pytest.fixture
def refused(tmp_path: Path) -> Callable[..., str]:
    """Compresses what must be refused; returns the line."""
    place = tmp_path / "fresh"
    place.mkdir()

    def check(source: Path, output: Path = place / "small", **fields: Any) -> str:
        return refusal(place, lambda: compress(source, output, **fields))

    return check


def test_layers_alone_leave_a_checkpoint_that_transformers_reads(folder: Path, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    compress(folder / "bert", tmp_path / "small", drop_layers="alternate:odd")
    found, given = checkpoint.load(tmp_path / "small"), rows(5)
    theirs = transformers.BertForSequenceClassification.from_pretrained(tmp_path / "small").eval()
    with torch.no_grad():
        expected = theirs(
            input_ids=torch.tensor(given["ids"], dtype=torch.long),
            attention_mask=torch.tensor(given["mask"]),
            token_type_ids=torch.tensor(given["segments"], dtype=torch.long),
        ).logits.numpy()
    ours = outputs(Network(config=found.config, head=found.head, tensors=found.tensors), given)
    assert relative_error(ours, {"logits": expected}) <= 1e-5


def test_ghosts_make_a_ghostbert_that_can_be_trained(folder: Path, tmp_path: Path) -> None:
    ghosts = {"prune_heads": 0.5, "ghosts": 0, "ghost_on": "outputs"}
    made = compress(folder / "bert", tmp_path / "ghostly", data=folder / "rows.tsv", **ghosts)
    assert made.record["ghosts"] == {"heads": [2, 2, 2], "folds": [1, 1, 1], "on": "outputs"}
    assert made.model == made.record["model"] == checkpoint.load(tmp_path / "ghostly").model_name == "ghostbert"


@pytest.mark.parametrize("source", ["bert", "base"])
def test_contribution_and_random_heads_work_without_labels(folder: Path, tmp_path: Path, source: str) -> None:
    random_heads = {"prune_heads": 0.5, "head_importance": "random"}
    data = folder / "texts.tsv"
    made = compress(folder / source, tmp_path / "small", data=data, drop_layers="contribution:2", **random_heads)
    record = json.loads((tmp_path / "small" / "compression.json").read_text())
    assert len(record["layers"]["similarity"]) == 3
    assert len(record["layers"]["dropped"]) == 2
    # The command that it suggests must work: a base model has no answers to teach.
    assert ("--teacher" in made.summary()) == (source == "bert")


@pytest.mark.parametrize("data", ["tagger.txt", "regression.tsv", "questions.json"])
def test_every_task_has_a_loss_to_choose_by_and_a_score_to_ablate(folder: Path, tmp_path: Path, data: str) -> None:
    source, given = folder / data.partition(".")[0], {"data": folder / data, "max_seq_len": 40}
    compress(source, tmp_path / "a", **given, prune_heads=0.5, prune_ffn=0.5, head_importance="token")
    record = json.loads((tmp_path / "a" / "compression.json").read_text())
    assert checkpoint.load(tmp_path / "a").config.kept_heads == (2, 2, 2)
    # A wrong loss would be the same for all heads, or for all labels.
    scores = np.array(record["importance"]["heads"])
    assert (scores > 0).all()
    assert len(np.unique(scores)) == 12
    found = ablate(AblateRequest(checkpoint=source, **given, what="heads")).to_dict()
    assert np.isfinite(found["without_head"]["change"]).all()


def test_force_replaces_and_repeats_exactly(folder: Path, tmp_path: Path) -> None:
    fields: dict[str, Any] = {"data": folder / "rows.tsv", "prune_ffn": 0.5}
    compress(folder / "bert", tmp_path / "small", **fields)
    first = (tmp_path / "small" / "model.safetensors").read_bytes()
    compress(folder / "bert", tmp_path / "small", **fields, force=True)
    assert (tmp_path / "small" / "model.safetensors").read_bytes() == first


def test_a_narrow_model_can_be_compressed_again(folder: Path, tmp_path: Path) -> None:
    compress(folder / "bert", tmp_path / "a", remove_heads=((0, (3,)), (1, (0, 1))))
    compress(tmp_path / "a", tmp_path / "b", remove_heads=((0, (0,)),), drop_layers="2")
    assert checkpoint.load(tmp_path / "b").config.kept_heads == (2, 2)
    expected = checkpoint.load(folder / "bert").tensors["layers.0.query.kernel"][:, 8:24]
    np.testing.assert_array_equal(checkpoint.load(tmp_path / "b").tensors["layers.0.query.kernel"], expected)


CASES: list[tuple[dict[str, Any], str]] = [
    ({"prune_heads": 1.0, "data": "rows.tsv"}, "the part that is kept must be in (0, 1]). Received: 1.0."),
    ({"prune_ffn": -0.5, "data": "rows.tsv"}, "`prune_ffn` is the share that is removed"),
    ({"prune_heads": float("nan"), "data": "rows.tsv"}, "Received: nan."),
    ({"drop_layers": "top:3"}, "must leave at least 1 of the model's 3 layers. Received: 3 to drop."),
    ({"drop_layers": "top:9"}, "must leave at least 1 of the model's 3 layers. Received: 9 to drop."),
    ({"drop_layers": "0,1,2"}, "must leave at least 1"),
    ({"drop_layers": "7"}, "must name layers from 0 to 2. Received: 7."),
    ({"drop_layers": "middle:1"}, "`drop_layers` must be top:K, bottom:K"),
    ({"remove_heads": ((0, (4,)),)}, "must name heads from 0 to 3 of layer 0. Received: 4."),
    ({"remove_heads": ((3, (0,)),)}, "must name layers from 0 to 2. Received: 3."),
    ({"remove_heads": ((0, (0, 1, 2, 3)),)}, "must leave at least 1 of the 4 heads of layer 0"),
    ({"prune_heads": 0.5, "remove_heads": ((0, (1,)),)}, "not both"),
    ({"prune_heads": 0.5}, "`data` FILE with labels is needed"),
    ({"drop_layers": "contribution:1"}, "`data` FILE is needed"),
    ({"prune_heads": 0.5, "data": "texts.tsv"}, "label"),
    ({"prune_heads": 0.5, "data": "absent.tsv"}, "`data` must be a file. Received:"),
    ({"prune_heads": 0.5, "data": "rows.tsv", "rows": 0}, "`rows` must be at least 1"),
    ({"prune_heads": 0.5, "data": "rows.tsv", "task": "regression"}, "`task` must be classification"),
    ({"prune_heads": 0.5, "data": "rows.tsv", "max_seq_len": 50}, "`max_seq_len` must be 5 to 20"),
    ({"prune_heads": 0.5, "min_heads": 9, "data": "rows.tsv"}, "`min_heads` must be 1 to 4"),
    ({"ghosts": 5}, "`ghosts` must be at most the 4 heads. Received: 5."),
    ({"ghosts": 0, "ghost_kernel": 4}, "`ghost_kernel` must be an odd number from 1 to 31. Received: 4."),
    ({"drop_layers": "1", "data": "absent.tsv"}, "`data` must be a file. Received:"),
    ({"prune_heads": 0.0, "data": "rows.tsv"}, "Nothing to do: give `drop_layers`"),
    ({}, "Nothing to do: give `drop_layers`"),
    ({"drop_layers": "1", "model": "prado"}, "`model` must be one of bert, ghostbert"),
    ({"drop_layers": "1", "model": "brt"}, "Unknown model"),
]


@pytest.mark.parametrize(("fields", "words"), CASES, ids=[str(fields) for fields, _ in CASES])
def test_what_cannot_be_done_is_one_line_and_nothing_is_written(
    refused: Callable[..., str], folder: Path, fields: dict[str, Any], words: str
) -> None:
    given = {name: folder / value if name == "data" else value for name, value in fields.items()}
    assert words in refused(folder / "bert", **given)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("mobilebert", "Received: a checkpoint of mobilebert."),
        ("prado", "Received: a config without `model_type`."),
        ("xlnet", "Received: a checkpoint of xlnet."),
        ("absent", "no such folder"),
    ],
)
def test_a_checkpoint_that_is_not_bert_is_refused(
    refused: Callable[..., str], folder: Path, tmp_path: Path, name: str, words: str
) -> None:
    source = folder / name
    if name == "xlnet":
        source = tmp_path / "xlnet"
        source.mkdir()
        document = json.loads((folder / "bert" / "config.json").read_text())
        (source / "config.json").write_text(json.dumps({**document, "model_type": "xlnet"}))
    assert words in refused(source, drop_layers="top:1")


def test_a_base_model_has_no_loss_to_choose_by(refused: Callable[..., str], folder: Path) -> None:
    assert "Received: a base model" in refused(folder / "base", data=folder / "rows.tsv", prune_heads=0.5)


def test_ghosts_are_not_added_twice(refused: Callable[..., str], folder: Path, tmp_path: Path) -> None:
    compress(folder / "bert", tmp_path / "ghostly", ghosts=1)
    assert "A model with ghosts can lose layers only" in refused(tmp_path / "ghostly", ghosts=1)


def test_an_output_that_exists_or_is_the_checkpoint_is_refused(
    refused: Callable[..., str], folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "file").write_text("mine")
    line = refused(folder / "bert", drop_layers="top:1", output=tmp_path / "there")
    assert "must be a new folder, or one that export-mobile wrote" in line
    assert everything_under(tmp_path / "there") == ["file"]
    compress(folder / "bert", tmp_path / "ours", drop_layers="top:1")
    assert "`force`" in refused(folder / "bert", drop_layers="top:1", output=tmp_path / "ours")
    line = refused(folder / "bert", drop_layers="top:1", output=folder / "bert", force=True)
    assert "must not be `checkpoint` itself" in line
    assert checkpoint.load(folder / "bert").config.num_layers == 3
