"""A family that nobody published, added through the table of models alone: other keys, other tensor names, another
prefix. It is exported in int8 in both formats, and the other commands take it or refuse it in one line.
"""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from exporters import (
    CompressRequest,
    ExplainRequest,
    ExportRequest,
    InputError,
    ProfileRequest,
    compress,
    explain,
    export,
    profile,
)
from models_tf import registry
from models_tf.bert import config as bert
from models_tf.checkpoints import encoder as checkpoint
from models_tf.checkpoints.config_fields import ConfigTable, activation, integer, number, pad_id, rate, vocabulary
from models_tf.checkpoints.family import Compressed, Family
from models_tf.checkpoints.rename import dense, layer, norm, table
from models_tf.compress.settings import Compression
from models_tf.encoder.heads import BASE, CLASSIFICATION
from support.tiny_models import LABELS, LENGTH, VOCABULARY, values

TOY = "toy"
DOCUMENT = {
    "model_type": TOY, "vocab_size": 60, "width": 24, "depth": 3, "eyes": 2, "belly": 20, "places": LENGTH,
    "bend": "relu", "forgets": 0.1,
}  # fmt: skip
CONFIG = ConfigTable(
    model_type=TOY,
    fields=(
        vocabulary(60),
        integer("width", 24, name="hidden_size"),
        integer("depth", 3, name="num_layers"),
        integer("eyes", 2, name="num_heads"),
        integer("belly", 20, name="intermediate_size"),
        integer("places", LENGTH, name="max_positions"),
        activation("relu", key="bend"),
        rate("forgets", 0.1, name="hidden_dropout"),
        number("smallest", 1e-6, name="norm_epsilon", high=1.0),
        pad_id(),
        *bert.COMPRESSED_ROWS,
    ),
    complete=lambda document, found: bert.complete(document, found) | {"num_segments": 0, "pools_base": False},
    split=bert.split,
)
PARTS = {
    "query": "asks", "key": "offers", "value": "says", "attention_output": "hears",
    "ffn.0.intermediate": "widens", "ffn.0.output": "narrows",
}  # fmt: skip


def lines(config, prefix):
    found = table("word_embedding", f"{prefix}words") + table("position_embedding", f"{prefix}places")
    found += norm("embedding_norm", f"{prefix}calm") + dense("embedding_projection", f"{prefix}words_wide")
    for stored in range(len(config.first_uses)):
        norms = {"attention_norm": "calm_1", "ffn.0.norm": "calm_2"}
        found += layer(f"layers.{stored}.", f"{prefix}storey_{stored}/", PARTS, norms)
    return found + dense("pooler", f"{prefix}gist")


FAMILY = Family(
    config=CONFIG,
    prefix="toy_house:",
    architectures={"ToyHouse": BASE, "ToyHouseThatSorts": CLASSIFICATION},
    presets={"only": DOCUMENT},
    lines=lines,
    unread=lambda _config, _prefix: frozenset(),
    heads=(CLASSIFICATION, BASE),
    head_layers={CLASSIFICATION: "verdict"},
    head_poolers={CLASSIFICATION: "verdict_gist"},
    compressed=Compressed(plain=TOY),
)


@pytest.fixture
def toy(monkeypatch):
    entry = registry.ModelEntry(name=TOY, summary="made up", family_path=f"{__name__}:FAMILY")
    monkeypatch.setitem(registry.MODELS, TOY, entry)


@pytest.fixture
def folder(toy, tmp_path) -> Path:
    made = checkpoint.random_init(
        TOY,
        DOCUMENT,
        head=CLASSIFICATION,
        labels=LABELS["classification"],
        tokenizer_files={"vocab.txt": VOCABULARY},
    )
    rng = np.random.default_rng(0)
    tensors = {name: values(rng, name, value.shape).astype(np.float32) for name, value in made.tensors.items()}
    checkpoint.save(tmp_path / "whole", checkpoint.with_tensors(made, tensors))
    return tmp_path / "whole"


def test_a_checkpoint_has_the_keys_and_names_of_its_family_and_is_read_again(folder):
    document = json.loads((folder / "config.json").read_text())
    assert {key: document[key] for key in DOCUMENT} == DOCUMENT
    assert document["architectures"] == ["ToyHouseThatSorts"]
    stored = load_file(folder / "model.safetensors")
    assert stored["toy_house:storey_2/asks.weight"].shape == (24, 24)
    assert stored["verdict.weight"].shape == (3, 24)
    found = checkpoint.load(folder)
    assert found.model_name == TOY
    np.testing.assert_array_equal(found.tensors["layers.2.query.kernel"], stored["toy_house:storey_2/asks.weight"].T)


def test_it_is_exported_in_int8_in_both_formats(folder, tmp_path):
    rows = tmp_path / "rows.tsv"
    rows.write_text(
        "text\tlabel\n" + "".join(f"{i % 9} {i % 7}\t{LABELS['classification'][i % 3]}\n" for i in range(40))
    )
    targets = ("tflite", "onnx")
    report = export(
        ExportRequest(checkpoint=folder, quantize="int8", target=targets, eval_data=rows, output=tmp_path / "out")
    )
    report.raise_for_failures()
    assert [file.name for file in report.model_files()] == ["model_int8.tflite", "model_int8.onnx"]
    assert report.model["inputs"] == ["ids", "mask"]


def test_it_is_compressed_under_its_own_name(folder, tmp_path):
    asked = Compression(drop_layers="top:1", remove_heads=((0, (1,)),), embedding_size=8)
    compress(CompressRequest(checkpoint=folder, compression=asked, output=tmp_path / "small"))
    found = checkpoint.load(tmp_path / "small")
    assert (found.model_name, found.config.num_layers, found.config.kept_heads) == (TOY, 2, (1, 2))
    assert "toy_house:words_wide.weight" in load_file(tmp_path / "small" / "model.safetensors")


def test_its_parts_are_profiled(folder):
    found = profile(ProfileRequest(checkpoint=folder, quantize="float32", target=("onnx",), max_seq_len=8, rounds=5))
    assert {"embedding", "attention", "FFN"} <= {part.part for part in found.parts}


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda folder, out: explain(ExplainRequest(checkpoint=folder, text=("1 2 3",))), "Received: .*toy"),
        (
            lambda folder, out: compress(
                CompressRequest(checkpoint=folder, compression=Compression(ghosts=1), output=out)
            ),
            "`ghosts` makes a ghostbert of a bert .* Received: toy",
        ),
        (
            lambda folder, out: compress(
                CompressRequest(checkpoint=folder, compression=Compression(retention=(4, 2, 1)), output=out)
            ),
            "`retention` makes a powerbert of a bert. Received: toy",
        ),
        (
            lambda folder, out: checkpoint.random_init(TOY, DOCUMENT, head="question-answering", labels=[]),
            "toy is for classification or base. Received: question-answering",
        ),
    ],
    ids=["explain", "ghosts", "retention", "head"],
)
def test_what_it_cannot_do_is_one_line(folder, tmp_path, call, words):
    with pytest.raises(InputError, match=words) as caught:
        call(folder, tmp_path / "out")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_a_family_without_compression_is_refused_with_the_list_of_those_that_have_it(folder, tmp_path, monkeypatch):
    monkeypatch.setitem(globals(), "FAMILY", dataclasses.replace(FAMILY, compressed=None))
    words = r"config\.json: toy cannot be compressed; these can: bert, .*\. Received: a checkpoint of toy\."
    with pytest.raises(InputError, match=words):
        compress(CompressRequest(checkpoint=folder, compression=Compression(share_layers=1), output=tmp_path / "out"))
