"""Checkpoint folders: what is saved comes back, what is damaged is named."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from models_tf import checkpoint
from models_tf.errors import InputError
from models_tf.ops.projection.config import ProjectionConfig
from models_tf.prado.config import PradoConfig

CONFIG = PradoConfig(
    num_labels=3,
    embedding_size=4,
    **dict.fromkeys(("unigram", "bigram", "trigram", "fourgram", "fivegram", "skip1bigram", "skip2bigram"), 2),
    projection=ProjectionConfig(feature_size=16, presence_feature=True),
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    from models_tf.prado.model import Prado

    weights = checkpoint.tensors(Prado(CONFIG))
    saved = checkpoint.Checkpoint(model_name="prado", config=CONFIG, labels=["a", "b", "ü c"], weights=weights)
    checkpoint.save(tmp_path / "ckpt", saved)
    return tmp_path / "ckpt"


def test_checkpoint_comes_back_as_it_was(folder: Path) -> None:
    loaded = checkpoint.load(folder)
    assert loaded.config == CONFIG
    assert loaded.labels == ["a", "b", "ü c"]
    model = checkpoint.build(loaded)
    for name, value in checkpoint.tensors(model).items():
        np.testing.assert_array_equal(value, loaded.weights[name])


def edit_config(change: Callable[[dict], object]) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        document = json.loads((folder / "config.json").read_text())
        change(document)
        (folder / "config.json").write_text(json.dumps(document))

    return damage


def edit_weights(change: Callable[[dict[str, np.ndarray]], object]) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        weights = load_file(folder / "model.safetensors")
        change(weights)
        save_file(weights, folder / "model.safetensors")

    return damage


def truncate(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])


BIAS = "prado/classifier/bias"


@pytest.mark.parametrize(
    ("damage", "expected"),
    [
        (truncate, "damaged"),
        (lambda f: (f / "model.safetensors").write_bytes(b"\x80\x04pickle"), "damaged"),
        (lambda f: (f / "labels.txt").unlink(), "lacks labels.txt"),
        (lambda f: (f / "labels.txt").write_text("a\nb\n"), "must hold 3 labels"),
        (lambda f: (f / "config.json").write_text("{"), "must be JSON"),
        (edit_config(lambda d: d.update(format="other/1")), '"format": "export-mobile/1"'),
        (edit_config(lambda d: d.pop("config")), 'must have the key "config"'),
        (edit_config(lambda d: d.update(model="prada")), "Did you mean prado?"),
        (edit_config(lambda d: d["config"].update(embeding_size=4)), "embeding_size"),
        (edit_config(lambda d: d["config"].update(embedding_size="4")), "`embedding_size` must be of type int"),
        (edit_config(lambda d: d["config"]["projection"].update(hash="md5")), "md5"),
        (edit_config(lambda d: d["config"].update(embedding_size=5)), "must have shape"),
        (edit_config(lambda d: d["config"].update(fivegram=0)), "which the model does not have"),
        (edit_weights(lambda w: w.pop(BIAS)), f"lacks {BIAS}"),
        (edit_weights(lambda w: w.update(extra=np.zeros(2))), "extra"),
        (edit_weights(lambda w: w.update({BIAS: np.zeros(4, np.float32)})), r"must have shape (3,)"),
        (edit_weights(lambda w: w.update({BIAS: np.full(3, np.nan, np.float32)})), "NaN"),
    ],
)
def test_damaged_checkpoint_is_one_clear_line(folder: Path, damage: Callable[[Path], None], expected: str) -> None:
    damage(folder)
    with pytest.raises(InputError) as caught:
        checkpoint.build(checkpoint.load(folder))
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)
