"""Layers that share weights, ALBERT's embedding, and what a config refuses of both and of retention."""

import dataclasses
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from models_tf.encoder import forward
from models_tf.encoder.network import Network
from models_tf.encoder.rewrites.layers import first_token_only, fuse_input
from support.network_runs import answers, relative_error, rows
from support.tiny_models import HEADS, config, network


def unrolled(shared: Network) -> Network:
    """The same network with a copy of the weights for each layer."""
    settings = shared.config
    tensors = {name: value for name, value in shared.tensors.items() if not name.startswith("layers.")}
    for layer in range(settings.num_layers):
        stored = settings.weights_of(layer) + "."
        tensors |= {
            f"layers.{layer}." + name.removeprefix(stored): value
            for name, value in shared.tensors.items()
            if name.startswith(stored)
        }
    return Network(config=dataclasses.replace(settings, shared_layers=()), head=shared.head, tensors=tensors)


@pytest.mark.parametrize("shared", [(0, 0, 0, 0), (0, 0, 1, 1), (0, 1, 0, 1), (0, 1, 2, 3)])
@pytest.mark.parametrize("head", ["base", "classification"])
def test_shared_layers_equal_copies_of_them(shared: tuple[int, ...], head: str) -> None:
    one = network(config("bert", num_layers=4, shared_layers=shared), HEADS[head])
    copies = unrolled(one)
    assert set(copies.tensors) == set(copies.config.shapes(one.head))
    given = rows()
    for name, value in answers(copies, given).items():
        np.testing.assert_array_equal(answers(one, given)[name], value)


def test_the_gradient_of_a_shared_weight_is_the_sum_over_its_uses() -> None:
    one = network(config("bert", num_layers=4, shared_layers=(0, 0, 1, 0)), HEADS["classification"])
    given = {name: tf.constant(value) for name, value in rows().items()}

    def gradients(of: Network) -> dict[str, np.ndarray]:
        table = {name: tf.Variable(value) for name, value in of.tensors.items()}
        with tf.GradientTape() as tape:
            logits = forward.run(of.config, of.head, table, **given).outputs["logits"]
            loss = tf.reduce_sum(logits * tf.constant([1.0, -2.0, 3.0]))
        found = tape.gradient(loss, table)
        return {name: value.numpy() for name, value in found.items() if name.startswith("layers.")}

    shared, copies = gradients(one), gradients(unrolled(one))
    for name, value in shared.items():
        _, stored, part = name.split(".", 2)
        uses = [layer for layer, used in enumerate(one.config.shared_layers) if used == int(stored)]
        expected = np.sum([copies[f"layers.{layer}.{part}"] for layer in uses], 0)
        np.testing.assert_allclose(value, expected, atol=2e-5 * np.abs(expected).max() + 1e-6, err_msg=name)


def test_albert_norms_the_narrow_embedding_and_projects_it_last() -> None:
    one = network(config("albert"), HEADS["base"])
    given, table = rows(), {name: value.astype(np.float64) for name, value in one.tensors.items()}
    x = table["word_embedding"][given["ids"]] + table["position_embedding"][: given["ids"].shape[1]]
    x += table["segment_embedding"][given["segments"]]
    x = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + one.config.outer_norm_epsilon)
    x = x * table["embedding_norm.gamma"] + table["embedding_norm.beta"]
    x = x @ table["embedding_projection.kernel"] + table["embedding_projection.bias"]
    constants = {name: tf.constant(value) for name, value in one.tensors.items()}
    found = forward.run(one.config, one.head, constants, **{name: tf.constant(value) for name, value in given.items()})
    np.testing.assert_allclose(found.hidden_states[0], x, atol=1e-5)


def test_a_last_layer_that_shares_its_weights_is_fused_with_the_others() -> None:
    one = network(config("bert", num_layers=3, shared_layers=(0, 1, 1)), HEADS["classification"])
    fused = fuse_input(first_token_only(one))
    kernels = sorted(name for name in fused.tensors if name.endswith("fused_input.kernel"))
    assert kernels == ["layers.0.fused_input.kernel", "layers.1.fused_input.kernel"]
    assert fused.tensors["layers.1.fused_input.kernel"].shape == (32, 96)
    assert relative_error(answers(fused, rows()), answers(one, rows())) < 1e-5


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"shared_layers": (0, 0)}, "`shared_layers` must be 3 whole numbers"),
        ({"shared_layers": (0, 2, 1)}, "each new one the next. Received: [0, 2, 1]"),
        ({"shared_layers": (0, 0, True)}, "`shared_layers` must be 3 whole numbers"),
        ({"shared_layers": (0, 0, 1), "kept_heads": (2, 1, 2)}, "must be of one width. Received: layers 0 and 1"),
        ({"retention": (5, 4)}, "`retention` must be 3 whole numbers from 1, the tokens that each layer keeps"),
        ({"retention": (5, 4, 3, 2)}, "Received: 4 numbers, [5, 4, 3, 2]"),
        ({"retention": (5, 4, 0)}, "`retention` must be 3 whole numbers from 1"),
        ({"retention": (5, 6, 4)}, "`retention` must not grow: a token that is gone does not come back. Received: 6"),
        (
            {"retention": (5, 4, 3), "retention_by": "chance"},
            "`retention_by` must be one of significance, first, random",
        ),
        ({"retention": (5, 4, 3), "retention_seed": -1}, "`retention_seed` must be a whole number from 0"),
        ({"norm_before_projection": True, "trigram": True}, "is for embeddings without trigrams"),
    ],
)
def test_a_bad_setting_of_layers_or_tokens_is_one_line_that_names_it(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match="Received: ") as caught:
        config("bert", **change)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("setting", [{"shared_layers": (0, 0, 0)}, {"retention": (3, 2, 1)}])
def test_bottlenecks_neither_share_layers_nor_drop_tokens(setting: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="is for BERT's layers, without bottlenecks or ghosts"):
        config("opt", **setting)
