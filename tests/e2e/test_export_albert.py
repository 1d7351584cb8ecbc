"""ALBERT through the command line: every recipe, both gates, SentencePiece, untrained weights of a preset.

Shared weights are stored in a file once.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_export_tokens import assert_complete

from exporters.commands import main as cli
from models_tf.checkpoints import encoder as checkpoint
from models_tf.encoder.model import Encoder
from models_tf.tokenizers.tokenizer import Tokenizer
from support.spiece_files import NORMAL, SPECIAL, spiece_model
from support.tiny_models import LENGTH, write_checkpoint

# Layers that outweigh the rest of the file: a copy of one would be seen.
SIZES: dict[str, Any] = {
    "hidden_size": 48,
    "intermediate_size": 192,
    "embedding_size": 16,
    "num_hidden_layers": 4,
    "num_hidden_groups": 1,
}
Main = Callable[..., int]


@pytest.fixture
def main(monkeypatch: pytest.MonkeyPatch) -> Main:
    """The command in this process, without its signal handlers."""
    return lambda *arguments: cli.main([str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = write_checkpoint(tmp_path_factory.mktemp("albert") / "mine", "albert", **SIZES)
    (made / "vocab.txt").unlink()
    pieces = [*SPECIAL[:4], *((f"\u2581{number}", -1.0, NORMAL) for number in range(56))]
    (made / "spiece.model").write_bytes(spiece_model(pieces))
    return made


@pytest.fixture(scope="module")
def data(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Texts labelled with the model's own answers: it is always right, and a file loses for any other answer."""
    generator, origin = np.random.default_rng(3), checkpoint.load(folder)
    texts = [" ".join(map(str, generator.integers(0, 56, generator.integers(1, 14)))) for _ in range(120)]
    inputs = Tokenizer.from_folder(folder).encode(texts, max_len=LENGTH)
    encoder = Encoder(origin.config, origin.head, origin.tensors)
    answers = encoder(*(inputs[name] for name in ("ids", "mask", "segments")))["logits"].numpy().argmax(-1)
    lines = [f"{text}\t{origin.labels[answer]}" for text, answer in zip(texts, answers, strict=True)]
    path = tmp_path_factory.mktemp("data") / "rows.tsv"
    path.write_text("\n".join(["text\tlabel", *lines]) + "\n")
    return path


# For each recipe: a gate, its exit code, and the bytes of constants per parameter. Besides int8 weights there are
# scales per row and 32-bit biases, which a file may hold once for each use of a layer.
CASES: dict[str, tuple[list[str], int, tuple[str, ...], float]] = {
    "float32": (["--max-size", "1KB"], 4, ("size",), 4.05),
    "int8-dynamic": (["--max-drop", "0"], 3, ("accuracy",), 1.3),
    "int8": ([], 0, (), 1.6),
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("recipe", list(CASES))
def test_every_recipe_is_exported_verified_and_holds_shared_weights_once(
    recipe: str, main: Main, folder: Path, data: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    gate, code, failed, most = CASES[recipe]
    flags = ("--model", "albert", "--checkpoint", folder, "--eval-data", data, "--quantize", recipe)
    assert main(*flags, *gate, "--output", tmp_path / "out") == code, capfd.readouterr().err
    report = assert_complete(tmp_path / "out", recipe, tokenizer=("spiece.model", "tokenizer.json"), failed=failed)
    scores = {row["stage"]: row["score"]["value"] for row in report["accuracy"]}
    assert scores["Keras"] == 100.0
    assert min(scores.values()) > 90
    parameters = report["model"]["parameters"]
    assert report["model"]["layers"] == 4
    for file in (file for file in report["files"] if file["target"]):
        assert file["weight_bytes"] <= most * parameters, file["name"]


@pytest.mark.exhaustive
def test_untrained_weights_of_a_preset_are_exported(
    main: Main, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from models_tf.albert import config

    sizes = {"vocab_size": 300, "num_attention_heads": 2, **SIZES, "num_hidden_layers": 3}
    monkeypatch.setitem(config.PRESETS, "base", {**config.ALBERT_BASE, **sizes})
    flags = ("--model", "albert", "--random-init", "--quantize", "float32", "--target", "onnx", "--max-seq-len", "16")
    assert main(*flags, "--output", tmp_path / "out") == 0
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert (report["model"]["name"], report["model"]["layers"], report["model"]["trained"]) == ("albert", 3, False)
