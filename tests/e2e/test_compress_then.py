"""Compression in `train` and in an export: smaller files, records of what was removed, refusals."""

import json
from pathlib import Path
from typing import Any

import pytest

from exporters import Compression, ExportRequest, InputError, TrainRequest, export, train
from exporters.training.tokens import record_file
from models_tf.checkpoints import encoder as checkpoint
from support.compressions import refusal, write_models


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_models(tmp_path_factory.mktemp("then"))


@pytest.mark.exhaustive
def test_an_export_can_compress_first_and_says_what_it_removed(folder: Path, tmp_path: Path) -> None:
    files = {"quantize": "float32", "target": ("tflite",), "max_seq_len": 12, "checkpoint": folder / "bert"}
    smaller = Compression(drop_layers="top:1", prune_heads=0.5, prune_ffn=0.5)
    export(ExportRequest(model="bert", **files, output=tmp_path / "whole"))
    by = {"compression": smaller, "importance_data": folder / "rows.tsv"}
    report = export(ExportRequest(model="bert", **files, **by, output=tmp_path / "small"))
    sizes = [(tmp_path / name / "model_float32.tflite").stat().st_size for name in ("small", "whole")]
    assert sizes[0] < sizes[1]
    removed = report.model["compression"]
    assert removed["layers"]["dropped"] == [2]
    assert [len(kept) for kept in removed["heads"]["kept"]] == [2, 2]
    assert removed["neurons"]["kept_counts"] == [16, 16]
    assert report.model["parameters"] == removed["parameters"]["after"] < removed["parameters"]["before"]


@pytest.mark.parametrize(
    ("fields", "data", "words"),
    [
        ({"prune_heads": 0.5}, {}, "`importance_data` FILE with labels is needed"),
        ({"prune_heads": 0.5}, {"eval_data": "rows.tsv"}, "rows of `eval_data` are never used"),
        ({"prune_heads": 1.5}, {"importance_data": "rows.tsv"}, "the part that is kept must be in (0, 1]"),
        ({"drop_layers": "top:3"}, {}, "must leave at least 1 of the model's 3 layers"),
        ({"drop_layers": "top:1"}, {"importance_data": "rows.tsv"}, "`importance_data` is for `prune_heads`"),
        ({"prune_ffn": 0.5}, {"importance_data": "absent.tsv"}, "`importance_data` must be a file"),
        ({"remove_heads": ((0, (7,)),)}, {}, "heads from 0 to 3 of layer 0. Received: 7."),
    ],
)
def test_an_export_refuses_what_compress_refuses(
    folder: Path, tmp_path: Path, fields: dict[str, Any], data: dict[str, str], words: str
) -> None:
    rows = {name: folder / file for name, file in data.items()}
    given = {"model": "bert", "checkpoint": folder / "bert", "output": tmp_path / "out", **rows}
    assert words in refusal(tmp_path, lambda: export(ExportRequest(**given, compression=Compression(**fields))))


def test_compression_is_for_those_that_can_be_compressed(folder: Path) -> None:
    smaller = Compression(drop_layers="top:1")
    words = r"mobilebert cannot be compressed; these can: bert, .*\. Received: `model` mobilebert .*; leave them out\."
    with pytest.raises(InputError, match=words):
        ExportRequest(model="mobilebert", checkpoint=folder / "bert", compression=Compression(prune_heads=0.5))
    with pytest.raises(InputError, match="is for token models"):
        ExportRequest(model="prado", compression=smaller)
    with pytest.raises(InputError, match="must be a Compression"):
        ExportRequest(model="bert", random_init=True, compression="top:1")  # type: ignore[arg-type]
    ExportRequest(model="bert", random_init=True, compression=smaller)
    with pytest.raises(InputError, match="Untrained weights have no importance to choose by"):
        ExportRequest(model="bert", random_init=True, compression=Compression(prune_heads=0.5))


@pytest.mark.exhaustive
def test_training_can_compress_its_checkpoint_first(folder: Path, tmp_path: Path) -> None:
    smaller = Compression(prune_heads=0.5, prune_ffn=0.5, drop_layers="1")
    rows = {"train": folder / "rows.tsv", "dev": folder / "rows.tsv", "max_seq_len": 12, "epochs": 1, "batch_size": 16}
    given = {"checkpoint": folder / "bert", "compression": smaller, "output": tmp_path / "trained"}
    train(TrainRequest(model="bert", **rows, **given))
    found = checkpoint.load(tmp_path / "trained")
    assert (found.config.num_layers, found.config.kept_heads, found.config.kept_ffn) == (2, (2, 2), (16, 16))
    record = json.loads((tmp_path / "trained" / "compression.json").read_text())
    assert (record["layers"]["dropped"], record["rows"], record["data"]) == ([1], 48, "rows.tsv")


def test_every_checkpoint_of_a_training_has_its_record_and_a_resumed_one_keeps_it(tmp_path: Path) -> None:
    assert record_file(None, "train", tmp_path) == {}
    made = record_file({"rows": 3}, "train", tmp_path)
    assert json.loads(made["compression.json"]) == {"command": "train", "rows": 3}
    (tmp_path / "compression.json").write_bytes(made["compression.json"])
    assert record_file({"rows": 4}, "train --resume", tmp_path) == made
    assert record_file({"rows": 4}, "train --force") != made


@pytest.mark.parametrize(
    ("start", "fields", "words"),
    [
        ({"checkpoint": "bert"}, {"prune_heads": 1.0}, "the part that is kept must be in (0, 1]"),
        ({"checkpoint": "bert"}, {"drop_layers": "top:3"}, "must leave at least 1"),
        ({"checkpoint": "base"}, {"prune_heads": 0.5}, "whose head is new"),
        ({"vocab": "bert"}, {"prune_heads": 0.5}, "Received: no `checkpoint`"),
    ],
)
def test_training_refuses_what_compress_refuses(
    folder: Path, tmp_path: Path, start: dict[str, str], fields: dict[str, Any], words: str
) -> None:
    rows = {"train": folder / "rows.tsv", "dev": folder / "rows.tsv", "max_seq_len": 12, "output": tmp_path / "trained"}
    given: dict[str, Any] = {**rows, **{name: folder / source for name, source in start.items()}}
    line = refusal(tmp_path, lambda: train(TrainRequest(model="bert", **given, compression=Compression(**fields))))
    assert words in line
