"""PoWER-BERT's extract in the forward pass: against an independent NumPy version, against BERT, and in corner cases."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from models_tf.encoder import forward
from models_tf.encoder.forward import Activations
from models_tf.encoder.network import Form, Network
from support.network_runs import rows
from support.power_oracle import oracle, oracle_logits
from support.tiny_models import HEADS, TIME, WORD_COUNT, config, network

# float32 against float64 over three layers of weights of order 1; errors seen are below 2e-6.
TOLERANCE = 2e-5
KEPT = (9, 5, 2)


def power(retention: Sequence[int] = KEPT, *, head: str = "classification", seed: int = 0, **changes: Any) -> Network:
    return network(config("bert", retention=tuple(retention), **changes), HEADS[head], seed=seed)


def dense(of: Network) -> Network:
    plain = dataclasses.replace(of.config, retention=(), retention_by="significance", retention_seed=0)
    return dataclasses.replace(of, config=plain)


def run(of: Network, given: dict[str, np.ndarray], **options: Any) -> Activations:
    table = {name: tf.constant(value) for name, value in of.tensors.items()}
    inputs = {name: tf.constant(value) for name, value in given.items()}
    return forward.run(of.config, of.head, table, **inputs, options=forward.Options(**options))


def with_any_length(of: Network, given: dict[str, np.ndarray]) -> tuple[tf.Tensor, list[tf.Tensor]]:
    """Logits and places from a graph that knows neither the batch nor the length, as in training."""

    @tf.function(input_signature=[tf.TensorSpec((None, None), tf.int32)] * 3, autograph=False)
    def graph(ids: tf.Tensor, mask: tf.Tensor, segments: tf.Tensor) -> tuple[tf.Tensor, list[tf.Tensor]]:
        table = {name: tf.constant(value) for name, value in of.tensors.items()}
        found = forward.run(of.config, of.head, table, ids=ids, mask=mask, segments=segments)
        return found.outputs["logits"], found.places

    return graph(*(tf.constant(given[name]) for name in ("ids", "mask", "segments")))


@pytest.mark.parametrize("by", ["significance", "first", "random"])
@pytest.mark.parametrize("retention", [KEPT, (12, 4, 4), (7, 1, 1)])
def test_hard_extract_equals_numpy(by: str, retention: tuple[int, ...]) -> None:
    of, given = power(retention, seed=len(by), retention_by=by, retention_seed=3), rows(6)
    found, expected = run(of, given), oracle(of, given, retention=retention)
    np.testing.assert_allclose(found.outputs["logits"], oracle_logits(of, expected), atol=TOLERANCE)
    for layer, kept in enumerate(retention):
        assert found.places[layer].shape == (6, kept)
        for number, row in enumerate(expected):
            assert sorted(found.places[layer][number].numpy()) == sorted(row.places[layer])
            if by == "significance":
                order = np.argsort(_before(found, layer, number, TIME))
                np.testing.assert_allclose(
                    found.significance[layer][number].numpy()[order],
                    row.significance[layer][np.argsort(_before_row(row.places, layer, TIME))],
                    atol=TOLERANCE,
                )
    for number, row in enumerate(expected):  # the hidden states of all that is left, place by place
        order, wanted = np.argsort(found.places[-1][number]), np.argsort(row.places[-1])
        hidden = found.hidden_states[-1][number].numpy()[order]
        np.testing.assert_allclose(hidden, row.hidden[wanted], atol=TOLERANCE)


def _before(found: Activations, layer: int, row: int, time: int) -> np.ndarray:
    return found.places[layer - 1][row].numpy() if layer else np.arange(time)


def _before_row(places: list[list[int]], layer: int, time: int) -> list[int]:
    return places[layer - 1] if layer else list(range(time))


def test_only_the_first_token_of_the_last_layer_gives_the_same_logits() -> None:
    of, given = power(), rows(6)
    short = run(of, given, form=Form(first_token_only=True))
    np.testing.assert_allclose(short.outputs["logits"], run(of, given).outputs["logits"], atol=TOLERANCE)


def test_of_equally_significant_tokens_the_one_further_left_is_kept() -> None:
    """Queries and keys are zero, so each token attends equally to all. With 8, 4, 2 and 1 tokens the shares are exact
    numbers, and so are all ties.
    """
    of = power((8, 4, 2), seed=5)
    silent = {
        name: np.zeros_like(value) if ".query." in name or ".key." in name else value
        for name, value in of.tensors.items()
    }
    of = dataclasses.replace(of, tensors=silent)
    given = rows(4, padded=False)
    mask = (np.arange(TIME) < np.array([8, 4, 2, 1])[:, None]).astype(np.int32)
    given = {**given, "mask": mask, "ids": given["ids"] * mask}
    found, expected = run(of, given), oracle(of, given, retention=(8, 4, 2))
    for layer, kept in enumerate((8, 4, 2)):
        significance = found.significance[layer].numpy()
        assert all(len(set(row[: int(real)])) == 1 for row, real in zip(significance, mask.sum(1), strict=True))
        np.testing.assert_array_equal(found.places[layer], np.tile(np.arange(kept), (4, 1)))
        assert all(row.places[layer] == list(range(kept)) for row in expected)
    np.testing.assert_allclose(found.outputs["logits"], oracle_logits(of, expected), atol=TOLERANCE)
    np.testing.assert_array_equal(with_any_length(of, given)[1][0], found.places[0])


def test_the_first_token_always_goes_on_and_padding_goes_behind_every_token() -> None:
    last = 0
    for seed in range(5):
        of, given = power((6, 3, 2), seed=seed), rows(8, seed=seed)
        found, real = run(of, given), given["mask"].sum(1)
        for layer, kept in enumerate((6, 3, 2)):
            places = found.places[layer].numpy()
            np.testing.assert_array_equal(places[:, 0], 0)
            np.testing.assert_array_equal((places < real[:, None]).sum(1), np.minimum(real, kept))
            # The test means something: some first tokens would not be among the most significant.
            scores = found.significance[layer].numpy()
            last += int(((scores > scores[:, :1]).sum(1) >= kept).sum())
    assert last > 0


def test_keeping_all_tokens_is_bert_to_the_last_bit() -> None:
    given = rows(6)
    for retention in ((TIME,) * 3, (TIME + 9, TIME + 1, TIME)):
        of = power(retention)
        found, wanted = run(of, given), run(dense(of), given)
        np.testing.assert_array_equal(found.outputs["logits"], wanted.outputs["logits"])
        for one, other in zip(found.hidden_states, wanted.hidden_states, strict=True):
            np.testing.assert_array_equal(one, other)
        # A length that the graph does not know: the tokens stand in another order, the sums are of the same numbers.
        np.testing.assert_allclose(with_any_length(of, given)[0], wanted.outputs["logits"], atol=TOLERANCE)


def test_soft_extract_with_parameters_of_one_is_bert_to_the_last_bit() -> None:
    of, given = dense(power()), rows(6)
    for form in (Form(), Form(first_token_only=True)):
        found = run(of, given, form=form, soft_retention=[tf.ones(20)] * 3)
        wanted = run(of, given, form=form)
        np.testing.assert_array_equal(found.outputs["logits"], wanted.outputs["logits"])
        for one, other in zip(found.hidden_states, wanted.hidden_states, strict=True):
            np.testing.assert_array_equal(one, other)


def test_soft_extract_equals_numpy() -> None:
    of, given = dense(power(seed=4)), rows(6, seed=4)
    factors = np.random.default_rng(1).uniform(0, 1, (3, 20)).astype(np.float32)
    found = run(of, given, soft_retention=[tf.constant(row) for row in factors])
    expected = oracle(of, given, soft=factors)
    np.testing.assert_allclose(found.outputs["logits"], oracle_logits(of, expected), atol=TOLERANCE)
    hidden = np.stack([row.hidden for row in expected if row.hidden is not None])
    np.testing.assert_allclose(found.hidden_states[-1], hidden, atol=TOLERANCE)


@pytest.mark.parametrize("by", ["significance", "first", "random"])
def test_a_graph_of_any_length_answers_like_one_of_fixed_length(by: str) -> None:
    of, given = power(seed=2, retention_by=by), rows(6)
    fixed = run(of, given)
    logits, places = with_any_length(of, given)
    np.testing.assert_allclose(logits, fixed.outputs["logits"], atol=TOLERANCE)
    for one, other in zip(places, fixed.places, strict=True):
        np.testing.assert_array_equal(one, other)
    short = {name: value[:, :4] for name, value in rows(3, padded=False).items()}  # fewer tokens than are kept
    np.testing.assert_allclose(with_any_length(of, short)[0], run(of, short).outputs["logits"], atol=TOLERANCE)


@pytest.mark.parametrize("by", ["significance", "first", "random"])
def test_the_answer_does_not_depend_on_how_long_the_padding_is(by: str) -> None:
    of, given = power((7, 4, 2), seed=6, retention_by=by), rows(6)
    longer = {name: np.pad(value, ((0, 0), (0, 8))) for name, value in given.items()}
    longer["ids"][:, TIME:] = np.random.default_rng(0).integers(1, WORD_COUNT, (6, 8))  # whatever stands there
    np.testing.assert_allclose(run(of, longer).outputs["logits"], run(of, given).outputs["logits"], atol=TOLERANCE)


def test_first_keeps_the_beginning_and_random_the_same_places_of_every_text() -> None:
    given = rows(4, padded=False)
    first = run(power(retention_by="first"), given)
    for layer, kept in enumerate(KEPT):
        np.testing.assert_array_equal(first.places[layer], np.tile(np.arange(kept), (4, 1)))
    chosen = []
    for seed in (0, 0, 1):
        found = run(power(retention_by="random", retention_seed=seed), given)
        for layer in range(3):
            assert (found.places[layer].numpy() == found.places[layer].numpy()[0]).all()
        assert set(found.places[1][0].numpy()) < set(found.places[0][0].numpy())
        chosen.append(found.places[0][0].numpy().tolist())
    assert chosen[0] == chosen[1] != chosen[2]


def test_gradients_of_the_retention_parameters_equal_finite_differences() -> None:
    of = network(config("bert"), HEADS["classification"], seed=7, dtype=np.float64)
    given, direction = rows(4), tf.constant([1.0, -2.0, 3.0], tf.float64)
    start = np.random.default_rng(2).uniform(0.3, 1.0, (3, TIME))

    def loss(parameters: tf.Tensor) -> tf.Tensor:
        return tf.reduce_sum(run(of, given, soft_retention=tf.unstack(parameters)).outputs["logits"] * direction)

    parameters = tf.constant(start)
    with tf.GradientTape() as tape:
        tape.watch(parameters)
        value = loss(parameters)
    gradient = tape.gradient(value, parameters).numpy()
    assert np.abs(gradient[:2]).max() > 1e-2
    for layer, rank in ((0, 0), (0, 3), (0, 11), (1, 0), (1, 5), (2, 0)):
        step = np.zeros_like(start)
        step[layer, rank] = 1e-6
        difference = (loss(tf.constant(start + step)) - loss(tf.constant(start - step))).numpy() / 2e-6
        np.testing.assert_allclose(gradient[layer, rank], difference, rtol=1e-5, atol=1e-7)
    # Of the last layer only the first token is read, which always has rank 0.
    np.testing.assert_array_equal(gradient[2, 1:], 0)
