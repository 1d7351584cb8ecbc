"""GhostBERT through the command and from Python: both forms, every recipe, untrained weights of a preset.

The form `heads` goes through every recipe in test_export_tokens.py, with all models of the registry.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exporters import ExportRequest, export
from models_tf.ghostbert import config
from quantize.tflite.flatbuffer import read_model
from quantize.tflite.graph import is_constant, op_name
from support.export_command import run
from support.tiny_models import LABELS, LENGTH, write_checkpoint

CLASSES = LABELS["classification"]
# The preset's shape at a size that is exported in seconds: a quarter of the heads and of the layers.
SMALL: dict[str, Any] = {
    **config.HALF,
    "vocab_size": 300,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "max_position_embeddings": 24,
    "export_mobile_kept_heads": [2, 2],
    "export_mobile_kept_ffn": [32, 32],
    "ghost_heads": [2, 2],
    "ghost_folds": [2, 2],
}


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    generator = np.random.default_rng(3)
    lines = ["text\tlabel"]
    for i in range(120):
        words = generator.integers(0, 56, generator.integers(1, 9))
        lines.append(f"{' '.join(map(str, words))}\t{CLASSES[i % 3]}")
    path = tmp_path_factory.mktemp("data") / "rows.tsv"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.exhaustive
@pytest.mark.parametrize("recipe", ["float32", "fp16", "int8-dynamic", "int8"])
def test_the_form_on_outputs_is_exported_by_every_recipe(recipe: str, data: Path, tmp_path: Path) -> None:
    folder = write_checkpoint(tmp_path / "outputs", "ghostbert", ghost_on="outputs", ghost_kernel=5)
    report = export(ExportRequest(checkpoint=folder, eval_data=data, quantize=recipe, output=tmp_path / "out"))
    report.raise_for_failures()
    assert report.model["name"] == "ghostbert"
    assert {"fold_ghosts", "first_token_only"} <= set(report.model["rewrites"])
    model = read_model((tmp_path / "out" / f"model_{recipe.replace('-', '_')}.tflite").read_bytes())
    graph = model.subgraphs[0]
    names = [op_name(model, operator) for operator in graph.operators]
    # The weights are variables until the graph is frozen: that they are constants, and cut once, is seen here.
    assert names.count("SOFTMAX") == 2
    convolutions, splits = (
        [o for o, name in zip(graph.operators, names, strict=True) if name == wanted]
        for wanted in ("DEPTHWISE_CONV_2D", "SPLIT")
    )
    # One output for each channel: with more XNNPACK is slow. Heads and folds of two layers, each with its plain sum.
    assert len(convolutions) > 2 * 4
    assert {convolution.builtinOptions.depthMultiplier for convolution in convolutions} == {1}
    assert not any(is_constant(model, graph.tensors[split.inputs[1]]) for split in splits)


@pytest.mark.exhaustive
def test_the_command_exports_a_ghostbert(data: Path, tmp_path: Path) -> None:
    folder = write_checkpoint(tmp_path / "ghosts", "ghostbert")
    flags = ("--model", "ghostbert", "--checkpoint", folder, "--eval-data", data, "--max-seq-len", "9")
    done = run(*flags, "--quantize", "int8", "--output", tmp_path / "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert report["passed"]
    assert "fold_ghosts" in report["model"]["rewrites"]


@pytest.mark.exhaustive
def test_random_weights_of_a_preset_are_exported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(config.PRESETS, "half", SMALL)
    request = ExportRequest(
        model="ghostbert", random_init=True, preset="half", quantize="int8", max_seq_len=LENGTH, output=tmp_path / "out"
    )
    report = export(request)
    report.raise_for_failures()
    assert report.model["trained"] is False
    assert report.model["layers"] == 2


def test_an_unknown_preset_is_refused_with_those_that_there_are(tmp_path: Path) -> None:
    flags = ("--model", "ghostbert", "--random-init", "--preset", "quarter", "--output", tmp_path / "out")
    done = run(*flags, cwd=tmp_path)
    assert done.returncode == 2
    assert "expected half" in done.stderr
    assert not (tmp_path / "out").exists()
