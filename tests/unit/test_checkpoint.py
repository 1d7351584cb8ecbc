"""Checkpoint folders: what is saved comes back, what is damaged is named."""

import dataclasses
import json
import resource
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from models_tf.checkpoints import atomic_files
from models_tf.checkpoints import projection as checkpoint
from models_tf.checkpoints.folder import STATE_FILE
from models_tf.errors import InputError
from models_tf.ops.projection.config import ProjectionConfig
from models_tf.prado.config import PradoConfig
from models_tf.training.state import Position, interruption, load_state, save_state

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
    saved = checkpoint.ProjectionCheckpoint(
        model_name="prado", config=CONFIG, labels=["a", "b", "ü c"], weights=weights
    )
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


def retype(name: str, size: int) -> Callable[[Path], None]:
    """One tensor of a type that numpy does not have."""

    def damage(folder: Path) -> None:
        header = json.dumps({"x": {"dtype": name, "shape": [2], "data_offsets": [0, 2 * size]}}).encode()
        (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + bytes(2 * size))

    return damage


BIAS = "prado/classifier/bias"
VARIANCE = "prado/value_bottleneck/moving_variance"


@pytest.mark.parametrize(
    ("damage", "expected"),
    [
        (truncate, "damaged"),
        (lambda f: (f / "model.safetensors").write_bytes(b"\x80\x04pickle"), "damaged"),
        (lambda f: (f / "labels.txt").unlink(), "lacks labels.txt"),
        (lambda f: (f / "config.json").write_text('{"dim": 8}'), "Received: neither"),
        (lambda f: (f / "labels.txt").write_text("a\nb\n"), "must hold 3 labels"),
        (lambda f: (f / "labels.txt").write_text("a\n\nb\n"), "an empty line 2"),
        (lambda f: (f / "labels.txt").write_text("a\nb\na\n"), "'a' twice"),
        (lambda f: (f / "labels.txt").write_text("a\nb\u2028c\nd\n"), "in line 2"),
        (lambda f: (f / "labels.txt").write_bytes(b"a\nb\n\xff\n"), "must be UTF-8"),
        (lambda f: (f / "config.json").write_text("{"), "must be JSON"),
        (lambda f: (f / "config.json").write_bytes(b"\xff"), "must be JSON"),
        (lambda f: (f / "config.json").write_text("[" * 100_000), "at most 100 levels"),
        (lambda f: (f / "config.json").write_text('{"format": ' + "9" * 5000 + "}"), "must be JSON"),
        (edit_config(lambda d: d.update(model=["prado"])), '"model" must be text. Received: list'),
        (edit_config(lambda d: d.update(model=None)), '"model" must be text. Received: NoneType'),
        (edit_config(lambda d: d.update(config=None)), '"config" must be an object'),
        (edit_config(lambda d: d.update(training=[])), '"training" must be an object'),
        (edit_config(lambda d: d["config"].update(projection=None)), "`projection` must be an object"),
        (edit_config(lambda d: d["config"].update(embedding_size=10**12)), "`embedding_size` must be 1 to 65536"),
        (edit_config(lambda d: d["config"].update(attention_offset=float("nan"))), "`attention_offset`"),
        (edit_config(lambda d: d["config"].update(dropout=10**400)), "`dropout`"),
        (retype("BF16", 2), "F16, F32 or F64"),
        (retype("F8_E4M3", 1), "F16, F32 or F64"),
        (edit_weights(lambda w: w.update({BIAS: np.zeros(3, np.int64)})), "F16, F32 or F64"),
        (edit_weights(lambda w: w.update({BIAS: np.full(3, 1e300)})), "must be finite"),
        (edit_weights(lambda w: w.update({VARIANCE: np.full(4, -0.01, np.float32)})), "must be at least 0"),
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


@pytest.mark.parametrize(
    "content", ["\ufeffa\nb\nü c\n", "a\r\nb\r\nü c\r\n", "a\nb\nü c"], ids=["mark", "crlf", "no end"]
)
def test_labels_saved_by_an_editor_are_the_same_labels(folder: Path, content: str) -> None:
    (folder / "labels.txt").write_bytes(content.encode())
    assert checkpoint.load(folder).labels == ["a", "b", "ü c"]


def replaced_until(
    folder: Path, saved: checkpoint.ProjectionCheckpoint, renames: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Saves as far as a kill before rename number `renames` lets it."""
    original, done = Path.replace, []

    def replace(self: Path, target: Path) -> None:
        if len(done) == renames:
            raise KeyboardInterrupt
        done.append(target)
        original(self, target)

    with monkeypatch.context() as patch:
        patch.setattr(atomic_files.Path, "replace", replace)
        with pytest.raises(KeyboardInterrupt):
            checkpoint.save(folder, saved)
    assert len(done) == renames


@pytest.mark.parametrize("renames", [0, 1, 2])
def test_a_kill_while_the_next_epoch_is_saved_leaves_a_checkpoint_that_loads(
    folder: Path, renames: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = checkpoint.load(folder)
    newer = {name: value + 1 for name, value in old.weights.items()}
    replaced_until(folder, dataclasses.replace(old, weights=newer, training={"epoch": 2}), renames, monkeypatch)
    bias = checkpoint.load(folder).weights[BIAS]
    assert (bias == old.weights[BIAS]).all() or (bias == newer[BIAS]).all()
    assert sorted(path.name for path in folder.iterdir()) == ["config.json", "labels.txt", "model.safetensors"]


def test_a_kill_while_another_model_is_saved_leaves_no_mixture(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = dataclasses.replace(checkpoint.load(folder), labels=["x", "y", "z"])
    replaced_until(folder, other, 1, monkeypatch)
    with pytest.raises(InputError, match=r"lacks config\.json"):
        checkpoint.load(folder)


def test_a_folder_whose_training_was_stopped_before_a_checkpoint_names_resume(folder: Path) -> None:
    (folder / "config.json").unlink()
    (folder / STATE_FILE).write_bytes(b"")
    with pytest.raises(InputError, match=r"lacks config\.json: its training was stopped .* --resume`"):
        checkpoint.load(folder)


SAVE_SCRIPT = """
import dataclasses, sys
from pathlib import Path
from models_tf.checkpoints import projection as checkpoint
loaded = checkpoint.load(Path(sys.argv[1]))
try:
    checkpoint.save(Path(sys.argv[1]), dataclasses.replace(loaded, labels=["x", "y", "z"]))
except OSError as error:
    print(error.strerror)
"""


def test_a_full_disk_leaves_the_earlier_checkpoint_as_it_was(folder: Path) -> None:
    """Files may be 2 KB at most: labels.txt fits, the weights do not."""
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    done = subprocess.run(
        [sys.executable, "-c", SAVE_SCRIPT, str(folder)],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (2048, 2048)),
        cwd=Path(checkpoint.__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout == "File too large\n"
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_the_state_of_a_training_comes_back(tmp_path: Path) -> None:
    position = Position(epoch=3, batch=7, best_accuracy=0.5, best_epoch=2, seconds=1.5)
    save_state(tmp_path, position, {"seed": 1}, [np.ones((2, 3)), np.zeros(4)], 9)
    assert [path.name for path in tmp_path.iterdir()] == [STATE_FILE]
    found, arrays = load_state(tmp_path, {"seed": 1}, [(2, 3), (4,)])
    assert found == position
    np.testing.assert_array_equal(arrays[0], np.ones((2, 3)))


def test_the_folder_of_an_interrupted_training_says_where_it_stands(tmp_path: Path) -> None:
    assert interruption(tmp_path) == ()
    save_state(tmp_path, Position(epoch=3, batch=7), {}, [], 9)
    (note,) = interruption(tmp_path)
    assert note == (
        f"The training of {tmp_path} was interrupted after epoch 3 of 9: this is its best epoch so far. "
        "Repeat its train command with --resume to finish it."
    )
    # An earlier version did not store the number of epochs; a damaged file has nothing to read.
    save_file({"0000": np.zeros(2, np.float32)}, tmp_path / STATE_FILE, {"position": GOOD})
    assert "was interrupted: this" in interruption(tmp_path)[0]
    (tmp_path / STATE_FILE).write_bytes(b"{")
    assert "was interrupted: this" in interruption(tmp_path)[0]


GOOD = json.dumps(dataclasses.asdict(Position()))


@pytest.mark.parametrize(
    "metadata",
    [
        None,
        {"position": GOOD},
        {"position": "{", "fingerprint": "{}"},
        {"position": "[" * 100_000, "fingerprint": "{}"},
        {"position": GOOD, "fingerprint": "[]"},
        {"position": "{}", "fingerprint": "{}"},
        {"position": GOOD.replace("-1.0", '"high"'), "fingerprint": "{}"},
        {"position": GOOD.replace("-1.0", "NaN"), "fingerprint": "{}"},
    ],
)
def test_a_damaged_state_is_one_clear_line(tmp_path: Path, metadata: dict[str, str] | None) -> None:
    save_file({"0000": np.zeros(2, np.float32)}, tmp_path / STATE_FILE, metadata)
    with pytest.raises(InputError, match=r"damaged.*--force") as caught:
        load_state(tmp_path, {}, [(2,)])
    assert "\n" not in str(caught.value)


def test_a_state_of_another_shape_is_refused(tmp_path: Path) -> None:
    save_state(tmp_path, Position(), {}, [np.zeros(2)], 9)
    with pytest.raises(InputError, match="do not fit the model"):
        load_state(tmp_path, {}, [(3,)])


def test_a_setting_that_is_not_that_of_the_state_is_named_also_inside_of_an_object(tmp_path: Path) -> None:
    save_state(tmp_path, Position(), {"config": {"kept_heads": (2, 2), "layers": 2}, "seed": 1}, [], 9)
    with pytest.raises(InputError, match=r"config\.kept_heads was \[2, 2\]\. Received: \[3, 2\]\.$"):
        load_state(tmp_path, {"config": {"kept_heads": (3, 2), "layers": 2}, "seed": 2}, [])
    # A setting that is new since is not another one where it is not used.
    load_state(tmp_path, {"config": {"kept_heads": (2, 2), "layers": 2, "new": None}, "seed": 1}, [])
