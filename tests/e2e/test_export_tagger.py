"""The tagger through the command line: every recipe and both gates, what is inside the files, untrained weights."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from test_export_tokens import assert_complete

from exporters.commands import main as cli
from models_tf.checkpoints import encoder as checkpoint
from models_tf.encoder.model import Encoder
from models_tf.tokenizers.tokenizer import Tokenizer
from quantize.tflite.flatbuffer import read_model
from quantize.tflite.graph import op_name
from support.tiny_models import LENGTH, write_checkpoint

LAYERS = 3
Main = Callable[..., int]


@pytest.fixture
def main(monkeypatch: pytest.MonkeyPatch) -> Main:
    """The command in this process, without its signal handlers."""
    return lambda *arguments: cli.main([str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_checkpoint(tmp_path_factory.mktemp("tagger") / "mine", "tagger", "token-classification")


@pytest.fixture(scope="module")
def data(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sentences with the model's own tags: it is right everywhere, and a file loses what it tags otherwise."""
    generator, origin = np.random.default_rng(3), checkpoint.load(folder)
    sentences = [list(map(str, generator.integers(0, 56, generator.integers(1, 13)))) for _ in range(120)]
    encoded = Tokenizer.from_folder(folder).encode_words(sentences, max_len=LENGTH)
    encoder = Encoder(origin.config, origin.head, origin.tensors)
    tags = encoder(*(encoded.inputs[name] for name in ("ids", "mask", "segments")))["logits"].numpy().argmax(-1)
    lines = [
        "\n".join(f"{word}\t{origin.labels[tags[i, encoded.first[i, j]]]}" for j, word in enumerate(words))
        for i, words in enumerate(sentences)
    ]
    path = tmp_path_factory.mktemp("data") / "tags.conll"
    path.write_text("\n\n".join(lines) + "\n")
    return path


GATES: dict[str, tuple[list[str], int, tuple[str, ...]]] = {
    "float32": (["--max-size", "1KB"], 4, ("size",)),
    "int8-dynamic": (["--max-drop", "0"], 3, ("accuracy",)),
    "int8": ([], 0, ()),
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("recipe", list(GATES))
def test_every_recipe_is_exported_verified_and_held_by_its_gate(
    recipe: str, main: Main, folder: Path, data: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    gate, code, failed = GATES[recipe]
    flags = ("--model", "tagger", "--checkpoint", folder, "--eval-data", data, "--quantize", recipe)
    assert main(*flags, *gate, "--output", tmp_path / "out") == code, capfd.readouterr().err
    report = assert_complete(tmp_path / "out", recipe, failed=failed)
    assert report["model"]["task"] == "token-classification"
    assert report["model"]["inputs"] == ["ids", "mask"]  # tags are for one text
    assert {row["score"]["metric"] for row in report["accuracy"]} == {"entity_f1"}
    assert report["accuracy"][0]["score"]["value"] == 100.0
    assert min(row["score"]["more"]["accuracy"] for row in report["accuracy"]) > 90
    model = read_model((tmp_path / "out" / f"model_{recipe.replace('-', '_')}.tflite").read_bytes())
    names = [op_name(model, operator) for operator in model.subgraphs[0].operators]
    assert names.count("SOFTMAX") == LAYERS
    assert "first_token_only" not in report["model"]["rewrites"]  # every token is asked for


@pytest.mark.exhaustive
def test_untrained_weights_of_the_preset_are_exported_with_tags(
    main: Main, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from models_tf.tagger import config

    sizes = {"vocab_size": 300, "hidden_size": 24, "num_attention_heads": 2, "intermediate_size": 32}
    monkeypatch.setitem(config.PRESETS, "small", {**config.SMALL, **sizes})
    flags = ("--model", "tagger", "--random-init", "--quantize", "float32", "--target", "onnx", "--max-seq-len", "16")
    assert main(*flags, "--output", tmp_path / "out") == 0
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert (report["model"]["task"], report["model"]["layers"]) == ("token-classification", LAYERS)
    assert report["model"]["trained"] is False
