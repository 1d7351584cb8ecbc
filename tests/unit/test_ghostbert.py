"""GhostBERT: the forward pass against an oracle in NumPy, its start, padding, config and training.

There is no reference code of the paper, so what is held here is the definition in `models_tf/ghostbert`. Its rewrites
are in test_ghostbert_rewrites.py.
"""

import dataclasses
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from models_tf.compress.ghosts import add_ghosts, ghosts_for
from models_tf.encoder import ghosts
from models_tf.encoder.config import GHOST_FORMS
from models_tf.encoder.model import Encoder
from models_tf.encoder.rewrites.ghosts import fold_ghosts
from support.ghost_oracle import oracle, oracle_logits
from support.network_runs import answers, error_of_tokens, of_tokens, relative_error, rows
from support.tiny_models import GHOSTS, HEADS, PRUNED, TIME, config, ghost_config, network

# Sums of some hundred products, each rounded to 6e-8 of it, through three layers.
FLOAT32 = 1e-5
# The same in float64: here nothing but a wrong formula can reach this.
FLOAT64 = 1e-12
BASE, CLASSIFICATION = HEADS["base"], HEADS["classification"]


# The definition.


@pytest.mark.parametrize("kernel", [3, 5])
@pytest.mark.parametrize("which", GHOSTS)
@pytest.mark.parametrize("form", GHOST_FORMS)
def test_the_forward_pass_computes_the_definition(form: str, which: str, kernel: int) -> None:
    made = network(ghost_config(which, ghost_on=form, ghost_kernel=kernel), BASE, dtype=np.float64)
    for padded in (False, True):
        given = rows(padded=padded)
        found = of_tokens(answers(made, given), given)["hidden"]
        expected = oracle(made, given)[given["mask"] > 0]
        assert np.abs(found - expected).max() / np.abs(expected).max() < FLOAT64


@pytest.mark.parametrize("form", GHOST_FORMS)
def test_in_float32_the_keras_model_gives_the_oracles_logits(form: str) -> None:
    made = network(ghost_config(ghost_on=form))
    given = rows()
    encoder = Encoder(made.config, made.head, made.tensors)
    found = encoder(**{name: tf.constant(value) for name, value in given.items()})["logits"].numpy()
    expected = oracle_logits(made, given)
    assert np.abs(found - expected).max() / np.abs(expected).max() < FLOAT32


@pytest.mark.parametrize("form", GHOST_FORMS)
@pytest.mark.parametrize("part", ["ghost_heads", "ghost_folds"])
def test_every_ghost_has_a_part_in_the_answer(form: str, part: str) -> None:
    """So that an oracle that leaves out what the forward pass leaves out does not pass for proof."""
    made = network(ghost_config(ghost_on=form))
    given = rows()
    before = answers(made, given)["logits"]
    for layer in range(made.config.num_layers):
        name = f"layers.{layer}.{part}.kernel"
        for ghost in range(made.tensors[name].shape[-1]):
            changed = made.tensors[name].copy()
            changed[0, ..., ghost] += 2.0
            assert np.abs(answers(made.change({name: changed}), given)["logits"] - before).max() > 1e-4


@pytest.mark.parametrize("size", [1, 3, 5])
def test_the_taps_of_every_kernel_are_positive_and_add_up_to_one(size: int) -> None:
    folded = fold_ghosts(network(ghost_config(ghost_kernel=size), dtype=np.float64))
    taps = {name: value for name, value in folded.tensors.items() if name.endswith(".taps")}
    assert len(taps) == 6
    for value in taps.values():
        assert value.shape[1] == size
        assert value.min() > 0
        np.testing.assert_allclose(value.sum(1), 1.0, rtol=0, atol=1e-15)


# No ghosts, and ghosts at their start.


@pytest.mark.parametrize("form", GHOST_FORMS)
def test_without_ghosts_it_is_the_pruned_bert_exactly(form: str) -> None:
    pruned = network(config("bert", **PRUNED), CLASSIFICATION)
    zeros = dataclasses.replace(
        pruned.config, ghost_on=form, ghost_kernel=5, ghost_heads=(0, 0, 0), ghost_folds=(0, 0, 0)
    )
    assert zeros.shapes(CLASSIFICATION) == pruned.config.shapes(CLASSIFICATION)
    given = rows()
    same = dataclasses.replace(pruned, config=zeros)
    np.testing.assert_array_equal(answers(same, given)["logits"], answers(pruned, given)["logits"])


@pytest.mark.parametrize("form", GHOST_FORMS)
@pytest.mark.parametrize("pruned", [False, True], ids=["unpruned", "pruned"])
def test_added_ghosts_leave_the_function_as_it_was(form: str, pruned: bool) -> None:
    changes: dict[str, Any] = PRUNED if pruned else {"num_heads": 4}
    before = network(config("bert", **changes), CLASSIFICATION)
    heads, folds = ghosts_for(before.config)
    after = add_ghosts(before, heads=heads, folds=folds, ghost_on=form)
    assert after.config.ghost_heads == ((1, 2, 1) if pruned else (1, 1, 1))
    assert after.config.ghost_folds == ((2, 1, 3) if pruned else (1, 1, 1))
    # Products with zero are added in another order: 1e-6.
    assert error_of_tokens(after, before, rows()) < 1e-6
    kernels = [value for name, value in after.tensors.items() if ".ghost_" in name and name.endswith(".kernel")]
    assert len(kernels) == 6
    assert all(0.5 < value.std() < 1.2 for value in kernels)


def test_ghosts_are_added_once() -> None:
    made = network(ghost_config())
    with pytest.raises(ValueError, match="added to a network without"):
        add_ghosts(made, heads=(1, 1, 1), folds=(1, 1, 1))


def test_a_given_number_of_ghosts_is_that_of_every_layer() -> None:
    assert ghosts_for(config("bert", **PRUNED), 2) == ([2, 2, 2], [2, 2, 2])


# Padding.


@pytest.mark.parametrize("form", GHOST_FORMS)
@pytest.mark.parametrize("head", ["classification", "token-classification"])
def test_what_stands_in_padding_does_not_matter(form: str, head: str) -> None:
    made = network(ghost_config(ghost_on=form, ghost_kernel=5), HEADS[head])
    given, padding = rows(), 1 - rows()["mask"]
    other = {**given, "ids": given["ids"] + 7 * padding, "segments": (given["segments"] + padding) % 2}
    assert padding.any()
    found, expected = (of_tokens(answers(made, v), given)["logits"] for v in (other, given))
    np.testing.assert_allclose(found, expected, rtol=0, atol=FLOAT32 * np.abs(expected).max())


@pytest.mark.parametrize("form", GHOST_FORMS)
@pytest.mark.parametrize("which", ["both", "attention alone", "ffn alone"])
def test_the_length_that_a_row_is_padded_to_does_not_matter(form: str, which: str) -> None:
    made = network(ghost_config(which, ghost_on=form, ghost_kernel=5))
    short = rows(padded=False, time=6)
    long = {name: np.pad(value, ((0, 0), (0, TIME - 6))) for name, value in short.items()}
    found, expected = answers(made, long), answers(made, short)
    assert relative_error(found, expected) < FLOAT32


def test_padding_would_matter_if_it_were_not_zeroed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The two tests above see the leak that they are for."""
    made = network(ghost_config())
    short = rows(padded=False, time=6)
    long = {name: np.pad(value, ((0, 0), (0, TIME - 6))) for name, value in short.items()}
    expected = answers(made, short)
    monkeypatch.setattr(ghosts, "without_padding", lambda x, tokens: x)
    assert relative_error(answers(made, long), expected) > 1e-3


# Config.


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"ghost_heads": (1, 2)},
            "`ghost_heads` must be 3 whole numbers from 0 to 4, one per layer. Received: [1, 2].",
        ),
        ({"ghost_heads": (1, 2, 5)}, "`ghost_heads` must be 3 whole numbers from 0 to 4"),
        ({"ghost_folds": (-1, 2, 1)}, "`ghost_folds` must be 3 whole numbers from 0 to 4"),
        ({"ghost_folds": (1, 2.0, 1)}, "`ghost_folds` must be 3 whole numbers"),
        ({"ghost_folds": (True, 1, 1)}, "`ghost_folds` must be 3 whole numbers"),
        ({"kept_heads": (4, 0, 4)}, "`kept_heads` must be 3 whole numbers from 1 to 4"),
        ({"kept_ffn": (16, 33, 8)}, "`kept_ffn` must be 3 whole numbers from 1 to 32"),
        ({"ghost_on": "neurons"}, "`ghost_on` must be one of heads, outputs. Received: 'neurons'."),
        ({"ghost_kernel": 2}, "`ghost_kernel` must be an odd number from 1 to 31. Received: 2."),
        ({"ghost_kernel": 33}, "`ghost_kernel` must be an odd number"),
        ({"ghost_kernel": True}, "`ghost_kernel` must be an odd number"),
        ({"ghost_kernel": "3"}, "`ghost_kernel` must be an odd number"),
        ({"kept_ffn": (16, 12, 8)}, "must be a multiple of a fold, `intermediate_size` / `num_heads`"),
        ({"intermediate_size": 34, "kept_ffn": ()}, "must be a multiple of a fold"),
    ],
)
def test_a_bad_setting_is_one_line_that_names_it(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match="Received: ") as caught:
        ghost_config(**change)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_ghosts_beside_bottlenecks_are_refused() -> None:
    with pytest.raises(ValueError, match="`ghost_heads` is for layers without bottlenecks"):
        config("opt", ghost_heads=(1, 1, 1))


@pytest.mark.parametrize("form", GHOST_FORMS)
@pytest.mark.parametrize("which", [*GHOSTS, "pruned", "plain"])
def test_the_count_is_the_sum_of_the_shapes(which: str, form: str) -> None:
    if which in GHOSTS:
        settings = ghost_config(which, ghost_on=form, ghost_kernel=5)
    else:
        settings = config("bert", **(PRUNED if which == "pruned" else {}))
    shapes = {name: shape for name, shape in settings.shapes().items() if not name.startswith("pooler.")}
    assert settings.parameters() == sum(int(np.prod(shape)) for shape in shapes.values())


# Training.


@pytest.mark.parametrize("form", GHOST_FORMS)
def test_training_reaches_kernels_and_what_reads_ghosts_and_ghosts_stay_apart(form: str) -> None:
    before = network(config("bert", **PRUNED), CLASSIFICATION)
    start = add_ghosts(before, heads=(2, 2, 2), folds=(2, 2, 2), ghost_on=form)
    encoder = Encoder(start.config, start.head, start.tensors)
    given = {name: tf.constant(value) for name, value in rows(16).items()}
    labels = tf.constant(np.random.default_rng(4).integers(0, 3, 16))
    moving = {name: v for name, v in encoder.table.items() if ".ghost_" in name or "output.kernel" in name}

    def loss() -> tf.Tensor:
        logits = encoder(**given)["logits"]
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))

    losses = []
    for _ in range(12):
        with tf.GradientTape() as tape:
            losses.append(loss())
        gradients = tape.gradient(losses[-1], moving)
        for name, variable in moving.items():
            variable.assign_sub(gradients[name])
    assert float(losses[-1]) < 0.9 * float(losses[0])
    changed = encoder.tensors()
    for name in moving:
        assert np.abs(changed[name] - start.tensors[name]).max() > 0, name
    for layer in range(3):
        for part, output in (("ghost_heads", "attention_output"), ("ghost_folds", "ffn.0.output")):
            name = f"layers.{layer}.{part}"
            kernel = changed[f"{name}.kernel"]
            assert np.abs(kernel[..., 0] - kernel[..., 1]).max() > 0.1  # as at the start
            learned = changed[f"{name}.gain"] if form == "outputs" else None
            if learned is None:
                size = kernel.shape[2]
                learned = changed[f"layers.{layer}.{output}.kernel"][-2 * size :].reshape(size, 2, -1)
                learned = np.moveaxis(learned, 1, 0)
            assert np.abs(learned[0] - learned[1]).max() > 0


def test_ghosts_that_start_alike_stay_alike() -> None:
    """Why the logits of kernels are drawn at random."""
    start = network(ghost_config("attention alone", ghost_heads=(2, 2, 2), ghost_on="outputs"))
    same = {n: np.zeros_like(v) for n, v in start.tensors.items() if n.endswith("ghost_heads.kernel")}
    same |= {n: np.full_like(v, 0.5) for n, v in start.tensors.items() if n.endswith("ghost_heads.gain")}
    encoder = Encoder(start.config, start.head, {**start.tensors, **same})
    given = {name: tf.constant(value) for name, value in rows().items()}
    with tf.GradientTape() as tape:
        total = tf.reduce_sum(tf.square(encoder(**given)["logits"]))
    kernel = encoder.table["layers.1.ghost_heads.kernel"]
    gradient = tape.gradient(total, kernel).numpy()
    assert np.abs(gradient).max() > 0
    np.testing.assert_allclose(gradient[..., 0], gradient[..., 1], rtol=1e-4, atol=1e-6 * np.abs(gradient).max())
