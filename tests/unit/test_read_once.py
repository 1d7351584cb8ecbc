"""A training opens each of its files once: the rows, the checkpoint, the vocabulary."""

import random
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from safetensors.numpy import load_file

from exporters import Compression
from support.token_training import train, write_task

_watched: dict[str, Counter[str]] = {}


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open" and _watched and isinstance(arguments[0], str | Path):
        for folder, found in _watched.items():
            if str(arguments[0]).startswith(folder):
                found[str(Path(arguments[0]).relative_to(folder))] += 1


sys.addaudithook(_hook)  # cannot be removed: it does nothing while no folder is watched


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Counter[str]]:
    """How often each file below `tmp_path` was opened by Python."""
    _watched[str(tmp_path)] = Counter()
    yield _watched[str(tmp_path)]
    _watched.clear()


def test_a_fine_tuning_opens_rows_and_checkpoint_once_and_rows_again_for_their_sum(
    tmp_path: Path, opened: Counter[str]
) -> None:
    files = write_task(tmp_path, random.Random(0), train_rows=32)
    train(files, tmp_path / "bert", epochs=1)
    assert (opened["train.tsv"], opened["dev.tsv"], opened["vocab.txt"]) == (3, 3, 2)  # one was to write them
    opened.clear()
    smaller = Compression(prune_heads=0.34, prune_vocab=True)
    train(files, tmp_path / "again", checkpoint=tmp_path / "bert", epochs=1, compression=smaller)
    counts = {name: opened[name] for name in ("train.tsv", "dev.tsv", "bert/config.json", "bert/vocab.txt")}
    assert counts == {"train.tsv": 2, "dev.tsv": 2, "bert/config.json": 1, "bert/vocab.txt": 1}
    # Its header, then one tensor at a time: each once.
    reads = opened["bert/model.safetensors"]
    assert reads == 1 + len(load_file(tmp_path / "bert" / "model.safetensors"))


def test_a_small_file_of_a_projection_model_is_read_once_for_all_epochs(tmp_path: Path, opened: Counter[str]) -> None:
    files = write_task(tmp_path, random.Random(0), train_rows=32)
    opened.clear()
    small = ("hidden_size=4", "hidden_layers=1", "projection.feature_size=16")
    train(files, tmp_path / "out", model="sgnn", overrides=small, epochs=2)
    assert (opened["train.tsv"], opened["dev.tsv"]) == (2, 2)  # the other for its sum
