"""Movement pruning: masks, schedule and gradient by hand; small trainings that prune, bake, resume and refuse."""

import itertools
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from models_tf.errors import InputError
from models_tf.training.adamw import AdamW
from models_tf.training.movement import SCORE, Movement, keep_above, keep_highest, masked
from models_tf.training.movement_settings import MovementSettings
from support.token_training import BERT_SIZES, FAST, KilledAt, KilledError, train, weights_of, write_task

KERNELS = 6 * BERT_SIZES["num_hidden_layers"]
PRUNE: dict[str, Any] = {
    "movement": "topk", "movement_keep": 0.25, "learning_rate": 1e-3, "movement_overrides": ("every=2",)
}  # fmt: skip


def test_scores_get_the_gradient_of_the_masked_weight_times_the_weight() -> None:
    generator = np.random.default_rng(0)
    weight, score = (tf.Variable(generator.standard_normal((5, 7)), dtype=tf.float32) for _ in range(2))
    x, factor = (tf.constant(generator.standard_normal(shape), tf.float32) for shape in ((3, 5), (3, 7)))
    mask = generator.random((5, 7)) < 0.4
    with tf.GradientTape() as tape:
        used = masked(tf.convert_to_tensor(weight), tf.convert_to_tensor(score), tf.constant(mask))
        loss = tf.reduce_sum(tf.matmul(x, used) * factor)
    of_weight, of_score = tape.gradient(loss, (weight, score))
    upstream = tf.matmul(x, factor, transpose_a=True).numpy()  # dL/dW'
    np.testing.assert_array_equal(used, np.where(mask, weight.numpy(), 0))
    np.testing.assert_array_equal(of_score, upstream * weight.numpy())
    np.testing.assert_array_equal(of_weight, upstream * mask)


def test_the_schedule_is_flat_then_a_cube_then_flat() -> None:
    settings = MovementSettings(kind="topk", keep=0.1, initial_keep=0.9, warmup=0.1, cooldown=0.3)
    shares = {step: settings.share_at(step, 1000) for step in (0, 100, 400, 700, 999, 1000)}
    middle = 0.1 + 0.8 * 0.5**3
    wanted = {0: 0.9, 100: 0.9, 400: middle, 700: 0.1, 999: 0.1, 1000: 0.1}
    assert shares == pytest.approx(wanted)
    assert (shares[0], shares[1000]) == (0.9, 0.1)  # to the last bit: they are compared with
    steps = [settings.share_at(step, 1000) for step in range(1001)]
    assert all(later <= earlier for earlier, later in itertools.pairwise(steps))


def test_threshold_and_penalty_of_soft_rise_together() -> None:
    settings = MovementSettings(kind="soft", threshold=0.2, penalty=50.0, warmup=0.0, cooldown=0.5)
    assert settings.threshold_at(0, 100) == settings.penalty_at(0, 100) == 0.0
    assert settings.threshold_at(25, 100) == pytest.approx(0.2 * (1 - 0.5**3))
    assert settings.penalty_at(25, 100) == pytest.approx(50.0 * (1 - 0.5**3))
    assert (settings.threshold_at(50, 100), settings.penalty_at(50, 100)) == (0.2, 50.0)
    assert MovementSettings(kind="topk").penalty_at(100, 100) == 0.0


@pytest.mark.parametrize("share", [0.003, 0.15, 0.5, 0.999, 1.0])
def test_topk_keeps_exactly_the_whole_part_of_the_share(share: float) -> None:
    generator = np.random.default_rng(1)
    weights = generator.standard_normal((37, 53)).astype(np.float32)
    for scores in (generator.standard_normal((37, 53)), generator.integers(0, 3, (37, 53)), np.zeros((37, 53))):
        count = int(share * scores.size)
        mask = keep_highest(scores.astype(np.float32), weights, count)
        assert np.count_nonzero(mask) == count
        if count < scores.size:
            assert scores[mask].min() >= scores[~mask].max()


def test_equal_scores_go_by_magnitude_and_equal_magnitudes_by_place() -> None:
    scores = np.array([0.0, 1.0, 0.0, 0.0, -1.0, 0.0], np.float32)
    weights = np.array([0.1, 0.0, -0.3, 0.2, 9.0, 0.2], np.float32)
    assert keep_highest(scores, weights, 3).tolist() == [False, True, True, True, False, False]
    assert keep_highest(np.zeros(4, np.float32), np.ones(4, np.float32), 2).tolist() == [True, True, False, False]


def test_soft_keeps_what_is_above_the_threshold_and_never_less_than_half_a_percent() -> None:
    generator = np.random.default_rng(2)
    scores, weights = (generator.standard_normal((40, 30)).astype(np.float32) for _ in range(2))
    sigmoid = 1 / (1 + np.exp(-scores.astype(np.float64)))
    np.testing.assert_array_equal(keep_above(scores, weights, 0.3), sigmoid > 0.3)
    assert keep_above(scores, weights, 0.0).all()
    few = keep_above(scores - 50.0, weights, 0.3)
    assert np.count_nonzero(few) == 6  # 0.5 % of 1200
    assert scores[few].min() > scores[~few].max()


def test_only_dense_kernels_of_layers_have_scores_and_their_rate_is_their_own() -> None:
    generator = np.random.default_rng(3)
    shapes = {"word_embedding": (9, 4), "layers.0.query.kernel": (4, 4), "layers.0.query.bias": (4,),
              "layers.0.ghost_heads.kernel": (3, 2, 2, 1), "pooler.kernel": (4, 4),
              "classifier.kernel": (4, 2)}  # fmt: skip
    table = {name: tf.Variable(generator.standard_normal(shape), dtype=tf.float32) for name, shape in shapes.items()}
    movement = Movement(table, MovementSettings(kind="topk", keep=0.5, warmup=0.0, cooldown=0.5), steps=10)
    name = "layers.0.query.kernel"
    assert list(movement.scores) == [name + SCORE]
    adam = AdamW(movement.scores, 1e-3, weight_decay=0.5, clip_norm=0.0,
                 paces=lambda step: {name + SCORE: (10.0, step)})  # fmt: skip
    movement.scores[name + SCORE].assign(tf.ones((4, 4)))
    adam.apply_gradients([(tf.fill((4, 4), 1e-5), movement.scores[name + SCORE])])
    # Adam's first step is the rate, 10 * 1e-3; decay would take 5e-3 more, the weights' epsilon three quarters of it.
    np.testing.assert_allclose(movement.scores[name + SCORE], 0.99, atol=1e-3)
    movement.refresh(5)
    baked = movement.bake({key: value.numpy() for key, value in table.items()})
    assert np.count_nonzero(baked[name]) == 8
    assert np.count_nonzero(baked["pooler.kernel"]) == 16
    assert movement.kept() == {"share": 0.5, "weights": 8, "of": 16, "matrices": {name: 0.5}}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_task(tmp_path_factory.mktemp("movement_data"), random.Random(4))


@pytest.fixture(scope="module")
def dense(files: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("movement_models") / "dense"
    train(files, output, **FAST, epochs=6)
    return output


def shares(folder: Path) -> dict[str, float]:
    kernels = {n: v for n, v in weights_of(folder).items() if n.startswith("layers.") and n.endswith(".kernel")}
    return {name: np.count_nonzero(value) / value.size for name, value in kernels.items()}


@pytest.fixture(scope="module")
def pruned(files: Path, dense: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    output = tmp_path_factory.mktemp("movement_models") / "pruned"
    return output, train(files, output, **PRUNE, checkpoint=dense, epochs=6)


@pytest.mark.slow
def test_the_written_folder_holds_zeros_and_no_scores(dense: Path, pruned: tuple[Path, dict[str, Any]]) -> None:
    output, result = pruned
    before, after = weights_of(dense), weights_of(output)
    assert set(after) == set(before)
    found = shares(output)
    assert len(found) == KERNELS
    for name, share in found.items():
        assert share == int(0.25 * after[name].size) / after[name].size, name
    record = json.loads((output / "training.json").read_text())
    assert record["movement_kept"]["matrices"] == found
    assert record["movement_kept"] == result["movement_kept"]
    assert record["movement"]["kind"] == "topk"
    assert record["movement"]["every"] == 2
    for name in ("word_embedding", "position_embedding", "segment_embedding", "embedding_norm.gamma"):
        np.testing.assert_array_equal(after[name], before[name], err_msg=name)
    # 6 epochs with a cool-down of a fifth: the fifth epoch is the first that ends at the final sparsity.
    assert result["best_epoch"] >= 5
    assert result["dev_score"] > 80


def test_the_dev_score_is_that_of_the_written_weights(
    files: Path, pruned: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    again = train(files, tmp_path / "m", checkpoint=pruned[0], epochs=1, learning_rate=1e-9)
    assert again["dev_score"] == pruned[1]["dev_score"]


@pytest.mark.slow
def test_soft_pruning_with_a_teacher_removes_weights(files: Path, dense: Path, tmp_path: Path) -> None:
    soft: dict[str, Any] = {"movement": "soft", "movement_overrides": ["score_rate=0.2", "every=1"], "epochs": 3}
    inside = {"teacher": [dense], "hidden_weight": 0.1, "attention_weight": 0.1}
    result = train(files, tmp_path / "m", **soft, **inside, checkpoint=dense, learning_rate=1e-3)
    found = shares(tmp_path / "m")
    assert max(found.values()) < 0.99
    assert min(found.values()) >= 0.005
    assert result["movement_kept"]["matrices"] == pytest.approx(found)


@pytest.mark.exhaustive
@pytest.mark.parametrize("batch", [6, 14])  # between two masks, while it prunes and at the final sparsity
def test_a_killed_pruning_ends_as_if_it_had_not_been_killed(
    files: Path, dense: Path, tmp_path: Path, batch: int
) -> None:
    fields = {**PRUNE, "movement_overrides": ("every=3", "cooldown=0.4"), "checkpoint": dense, "epochs": 2,
              "batch_size": 24, "save_minutes": 0}  # fmt: skip
    whole = train(files, tmp_path / "whole", **fields)
    with pytest.raises(KilledError):
        train(files, tmp_path / "cut", **fields, progress=KilledAt(batch))
    resumed = train(files, tmp_path / "cut", **fields, resume=True)
    assert resumed["dev_score"] == whole["dev_score"]
    wanted, found = weights_of(tmp_path / "whole"), weights_of(tmp_path / "cut")
    for name, value in wanted.items():
        np.testing.assert_array_equal(found[name] != 0, value != 0, err_msg=name)
        # Threads add in any order: float32 rounding, grown over 16 steps of 1e-3.
        np.testing.assert_allclose(found[name], value, atol=1e-4, err_msg=name)


@pytest.mark.parametrize(
    ("kind", "keep", "change", "expected"),
    [
        ("topk", 0.0, None, "`movement_keep` must be above 0 and at most 1. Received: 0.0."),
        ("topk", 1.5, None, "`movement_keep` must be above 0 and at most 1. Received: 1.5."),
        ("topk", float("nan"), None, "`movement_keep` must be above 0 and at most 1. Received: nan."),
        ("soft", 0.5, None, "`movement_keep` is for `movement` topk"),
        (None, 0.5, None, "`movement_keep` needs `movement`"),
        (None, None, "every=3", "`movement_overrides` needs `movement`"),
        ("topk", None, "evry=3", "Did you mean every?"),
        ("topk", None, "every=0", "`movement_overrides` every must be 1 to"),
        ("topk", None, "every=1.5", "`movement_overrides` every takes a whole number"),
        ("topk", None, "initial_keep=0.1", "initial_keep must be from `movement_keep`, 0.15,"),
        ("soft", None, "warmup=0.9", "must leave a part of the steps between them"),
        ("soft", None, "threshold=1", "`movement_overrides` threshold must be 0.001 to 0.999"),
    ],
)
def test_a_setting_of_movement_pruning_that_cannot_work_is_one_line(
    files: Path, dense: Path, tmp_path: Path, kind: str | None, keep: float | None, change: str | None, expected: str
) -> None:
    fields = {"movement": kind, "movement_keep": keep, "movement_overrides": [change] if change else ()}
    with pytest.raises(InputError) as caught:
        train(files, tmp_path / "deep" / "out", checkpoint=dense, **fields)
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "deep").exists()


def test_movement_pruning_needs_a_trained_token_model(files: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="`movement` needs `checkpoint`, a trained model to prune"):
        train(files, tmp_path / "out", movement="topk")
    with pytest.raises(InputError, match=r"`movement` is for token models .* Received: `movement` with `model` prado"):
        train(files, tmp_path / "out", movement="topk", model="prado")
