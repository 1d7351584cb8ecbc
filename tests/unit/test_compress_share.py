"""Layers that share weights: exact where they are equal, and a shared weight's gradient is the sum over its uses.

Also what the other methods of compression do with such a network.
"""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from models_tf.checkpoints import encoder as checkpoint
from models_tf.compress import layers, width
from models_tf.compress.ablation import MaskedPredictor
from models_tf.compress.apply import compress
from models_tf.compress.importance import measure
from models_tf.compress.settings import Compression, parse_heads
from models_tf.compress.share import groups_of, share_layers, unshare
from models_tf.encoder import forward
from models_tf.encoder.model import Encoder
from models_tf.encoder.network import Network
from models_tf.errors import InputError
from support.network_runs import masking, outputs, relative_error, rows
from support.tiny_models import bert, stored


def network_of(found: checkpoint.EncoderCheckpoint) -> Network:
    return Network(config=found.config, head=found.head, tensors=found.tensors)


def loss_of(found, _batch=None):
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits([0, 1, 2, 0, 1, 2], found["logits"]))


def batch():
    return {name: tf.constant(value) for name, value in rows(6).items()}


def test_groups_are_neighbours_of_one_size_where_they_can_be():
    assert groups_of(6, 1) == (0, 0, 0, 0, 0, 0)
    assert groups_of(6, 3) == (0, 0, 1, 1, 2, 2)
    assert groups_of(5, 2) == (0, 0, 0, 1, 1)
    assert groups_of(3, 3) == (0, 1, 2)
    with pytest.raises(ValueError, match="1 to 3 groups"):
        groups_of(3, 4)


@pytest.mark.parametrize("start", ["first", "mean"])
@pytest.mark.parametrize("groups", [1, 2])
def test_sharing_layers_that_are_equal_changes_nothing(groups, start):
    equal = unshare(share_layers(bert(num_layers=4), groups))
    assert len(equal.tensors) > len(share_layers(bert(num_layers=4), groups).tensors)
    shared = share_layers(equal, groups, start=start)
    assert shared.config.shared_layers == groups_of(4, groups)
    # The mean of equal float32 values is taken in float64 and is that value.
    assert relative_error(outputs(shared, rows(5)), outputs(equal, rows(5))) == 0.0


def test_shared_weights_start_as_the_first_layer_or_the_mean():
    whole = bert(num_layers=4)
    first, mean = (share_layers(whole, 2, start=start).tensors for start in ("first", "mean"))
    name = "query.kernel"
    np.testing.assert_array_equal(first[f"layers.1.{name}"], whole.tensors[f"layers.2.{name}"])
    np.testing.assert_allclose(
        mean[f"layers.1.{name}"], (whole.tensors[f"layers.2.{name}"] + whole.tensors[f"layers.3.{name}"]) / 2, atol=1e-7
    )


def test_the_gradient_of_a_shared_weight_is_the_sum_over_its_uses():
    shared = share_layers(bert(num_layers=3, dtype=np.float64), 1)
    copies = unshare(shared)
    slopes = []
    for network in (shared, copies):
        table = {name: tf.Variable(value) for name, value in network.tensors.items()}
        with tf.GradientTape() as tape:
            loss = loss_of(forward.run(network.config, network.head, table, **batch()).outputs)
        slopes.append(dict(zip(table, tape.gradient(loss, list(table.values())), strict=True)))
    for part in ("query.kernel", "ffn.0.output.bias", "attention_norm.gamma"):
        total = sum(slopes[1][f"layers.{layer}.{part}"] for layer in range(3))
        np.testing.assert_allclose(slopes[0][f"layers.0.{part}"], total, rtol=1e-9, atol=1e-12)


def test_layers_of_two_widths_and_ghosts_cannot_share():
    uneven = width.keep_heads(bert(), [[0, 1], [0, 1, 2], [2, 3]])
    with pytest.raises(ValueError, match="as many heads and FFN neurons"):
        share_layers(uneven, 1)
    with pytest.raises(InputError, match="as many heads and FFN neurons"):
        compress(stored(uneven), Compression(share_layers=1))
    with pytest.raises(InputError, match="Received: `ghosts` and `share_layers`"):
        Compression(share_layers=1, ghosts=1)
    ghostly = compress(stored(bert()), Compression(ghosts=1)).checkpoint
    with pytest.raises(InputError, match="--share-layers is for layers without ghosts"):
        compress(ghostly, Compression(share_layers=1))
    with pytest.raises(InputError, match="--share-layers must be 1 to 2 groups, the model's layers that --drop-layers"):
        compress(stored(bert()), Compression(share_layers=3, drop_layers="0"))


@pytest.mark.parametrize("dropped", [[0], [1, 2], [0, 1], [3], [0, 2]])
def test_a_dropped_layer_takes_weights_along_that_no_other_uses(dropped):
    shared = share_layers(bert(num_layers=4), 2)
    found, expected = layers.drop_layers(shared, dropped), layers.drop_layers(unshare(shared), dropped)
    assert set(found.tensors) == set(found.config.shapes(found.head))
    assert relative_error(outputs(found, rows(5)), outputs(expected, rows(5))) == 0.0


def test_heads_and_neurons_of_shared_weights_go_in_all_layers():
    shared = share_layers(bert(num_layers=4), 2)
    heads, neurons = [[2, 0], [2, 0], [1, 3, 0], [1, 3, 0]], [[5, 1]] * 2 + [[7, 9, 30]] * 2
    found = width.keep_neurons(width.keep_heads(shared, heads), neurons)
    expected = width.keep_neurons(width.keep_heads(unshare(shared), heads), neurons)
    assert relative_error(outputs(found, rows(5)), outputs(expected, rows(5))) == 0.0
    with pytest.raises(ValueError, match="Layers 0 and 1 share weights and must keep the same heads"):
        width.keep_heads(shared, [[2, 0], [0, 2], [0], [0]])


@pytest.mark.parametrize("method", ["mask", "token"])
def test_importance_of_shared_weights_is_over_all_their_uses(method):
    shared = share_layers(bert(num_layers=4, dtype=np.float64), 2)
    found = measure(shared, [batch()], loss_of, method=method)
    copies = measure(unshare(shared), [batch()], loss_of, method=method)
    assert [len(scores) for scores in found.heads] == [4, 4]
    if method == "token":  # nothing cancels
        np.testing.assert_allclose(found.heads[1], copies.heads[2] + copies.heads[3], rtol=1e-9)
        return
    table = {name: tf.constant(value) for name, value in shared.tensors.items()}

    def at(number, head, change):
        masks = np.ones((2, 4))
        masks[number, head] += change
        options = forward.Options(alter_context=masking(shared, masks))
        run = forward.run(shared.config, shared.head, table, **batch(), options=options)
        return float(loss_of(run.outputs))

    for number in range(2):
        slopes = [abs(at(number, head, 1e-4) - at(number, head, -1e-4)) / 2e-4 for head in range(4)]
        np.testing.assert_allclose(found.heads[number], slopes, atol=1e-6)


def test_a_whole_compression_of_a_shared_model_can_be_stored(tmp_path):
    start = compress(stored(bert(num_layers=4)), Compression(share_layers=2)).checkpoint
    assert (start.model_name, start.config.shared_layers) == ("bert", (0, 0, 1, 1))
    made = compress(start, Compression(drop_layers="1", remove_heads=parse_heads("0:3;2:1;3:0")))
    # What is removed of layer 2 and of layer 3 is removed of the weights that they share.
    assert made.record["heads"]["kept"] == [[0, 1, 2], [2, 3], [2, 3]]
    assert made.record["shared_layers"] == [0, 1, 1]
    checkpoint.save(tmp_path / "m", made.checkpoint)
    again = checkpoint.load(tmp_path / "m")
    assert relative_error(outputs(network_of(again), rows(5)), outputs(network_of(made.checkpoint), rows(5))) == 0.0


def test_random_weights_are_shared_as_they_were_drawn():
    untrained = dataclasses.replace(stored(bert()), trained=False)
    made = compress(untrained, Compression(share_layers=1, share_from="mean")).checkpoint
    np.testing.assert_array_equal(made.tensors["layers.0.query.kernel"], untrained.tensors["layers.0.query.kernel"])
    assert not made.trained


def test_a_head_of_shared_weights_is_masked_in_every_layer_that_uses_it():
    shared = share_layers(bert(num_layers=4), 2)
    predictor = MaskedPredictor(Encoder(shared.config, shared.head, dict(shared.tensors)))
    found = predictor.without(1, [2], rows(5))
    masks = np.ones((2, 4))
    masks[1, 2] = 0.0
    expected = outputs(shared, rows(5), masking(shared, masks))
    assert relative_error(found, expected) <= 1e-5
