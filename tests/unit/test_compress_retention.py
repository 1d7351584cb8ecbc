"""A retention given by hand: the network is the same but for the tokens that go, and what cannot be kept is refused."""

import numpy as np
import pytest
import tensorflow as tf

from models_tf.checkpoints import encoder as checkpoint
from models_tf.compress import layers
from models_tf.compress.apply import compress
from models_tf.compress.importance import measure
from models_tf.compress.retention import keep_tokens
from models_tf.compress.settings import Compression, parse_retention
from models_tf.encoder import forward
from models_tf.errors import InputError, naming_flags
from support.network_runs import outputs, relative_error, rows
from support.tiny_models import LABELS, TIME, bert, stored


def test_as_many_tokens_as_there_are_change_nothing():
    whole = bert()
    for by in ("significance", "first", "random"):
        kept = keep_tokens(whole, [TIME] * 3, by=by, seed=3)
        assert relative_error(outputs(kept, rows(5)), outputs(whole, rows(5))) == 0.0
    fewer = keep_tokens(whole, [8, 4, 1])
    assert relative_error(outputs(fewer, rows(5)), outputs(whole, rows(5))) > 1e-3
    assert keep_tokens(fewer, []).config == whole.config


def test_the_seed_is_kept_where_it_decides():
    whole = bert()
    assert keep_tokens(whole, [3, 2, 1], by="random", seed=7).config.retention_seed == 7
    assert keep_tokens(whole, [3, 2, 1], by="first", seed=7).config.retention_seed == 0


@pytest.mark.parametrize("head", ["token-classification", "question-answering"])
def test_heads_on_every_token_keep_every_token(head):
    with pytest.raises(ValueError, match="where the head reads the first one"):
        keep_tokens(bert(head), [3, 2, 1])
    with pytest.raises(InputError, match="--retention is for classification and regression"):
        compress(stored(bert(head)), Compression(retention=(3, 2, 1)))


def test_a_layer_that_goes_takes_its_number_along():
    left = layers.drop_layers(keep_tokens(bert(num_layers=4), [9, 6, 3, 1]), [1])
    assert left.config.retention == (9, 3, 1)
    assert left.config.num_layers == 3


def test_the_numbers_are_for_the_layers_that_are_left(tmp_path):
    made = compress(
        stored(bert(num_layers=4)), Compression(drop_layers="top:1", retention="9,6,3", retention_by="first")
    )
    assert made.checkpoint.model_name == "powerbert"
    assert made.record["retention"] == {"kept": [9, 6, 3], "by": "first"}
    assert made.record["layers"]["dropped"] == [3]
    checkpoint.save(tmp_path / "m", made.checkpoint)
    assert checkpoint.load(tmp_path / "m").config == made.checkpoint.config
    # A powerbert stays one, with another retention or without a new one.
    again = compress(checkpoint.load(tmp_path / "m"), Compression(drop_layers="0"))
    assert (again.checkpoint.model_name, again.checkpoint.config.retention) == ("powerbert", (6, 3))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("9,6", "--retention must be 3 whole numbers from 1, the tokens that each layer keeps. Received: 2 numbers"),
        ("9,6,3,1", "Received: 4 numbers"),
        ("6,9,3", "--retention must not grow: a token that is gone does not come back. Received: 9 in layer 1 after 6"),
        ("9,6,0", "--retention must be 3 whole numbers from 1"),
        ("9;6;3", "--retention must be whole numbers from 1, one a layer, such as 64,48,40. Received: '9;6;3'"),
        ("9,,3", "Received: '9,,3'"),
        ("-1,2,3", "Received: '-1,2,3'"),
        ("9,6,999999", "one a layer"),
        ("", "one a layer"),
    ],
)
def test_a_wrong_list_is_one_line_that_names_the_flag(text, words):
    with pytest.raises(InputError) as caught, naming_flags():
        compress(stored(bert()), Compression(retention=parse_retention(text)))
    assert words in str(caught.value)
    assert "`" not in str(caught.value)


def test_the_count_that_is_asked_for_is_that_of_the_layers_left():
    with pytest.raises(
        InputError, match="must be 2 whole numbers from 1, the tokens that each layer left by --drop-layers"
    ):
        compress(stored(bert()), Compression(retention=(9, 6, 3), drop_layers="1"))


def test_ghosts_and_contribution_are_refused_beside_a_retention():
    with pytest.raises(InputError, match="Received: `ghosts` and `retention`"):
        Compression(retention=(3, 2, 1), ghosts=1)
    kept = compress(stored(bert()), Compression(retention=(9, 6, 3))).checkpoint
    with pytest.raises(InputError, match="compares the tokens before and behind a layer"):
        compress(kept, Compression(drop_layers="contribution:1"))
    with pytest.raises(InputError, match="--ghosts makes a ghostbert of a bert"):
        compress(kept, Compression(ghosts=1))
    with pytest.raises(InputError, match="--retention is for layers without ghosts"):
        compress(compress(stored(bert()), Compression(ghosts=1)).checkpoint, Compression(retention=(3, 2, 1)))


def test_an_albert_stays_an_albert():
    from support.tiny_models import HEADS, config, network

    of = network(config("albert", num_heads=4), HEADS["classification"])
    start = checkpoint.EncoderCheckpoint(
        model_name="albert", config=of.config, head=of.head, labels=LABELS["classification"], tensors=dict(of.tensors)
    )
    made = compress(start, Compression(retention=(9, 6, 3))).checkpoint
    assert (made.model_name, made.config.retention, made.config.shared_layers) == ("albert", (9, 6, 3), (0, 0, 0))


def test_importance_is_the_slope_of_a_mask_where_tokens_are_dropped():
    # float64 and central differences; 1e-6 is far above their error, h^2 = 1e-8 of the third derivative.
    network = keep_tokens(bert(dtype=np.float64), [8, 5, 1], by="first")
    given = rows(6)
    targets = tf.constant([0, 1, 2, 0, 1, 2])

    def loss(found, _batch):
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(targets, found["logits"]))

    batch = {name: tf.constant(value) for name, value in given.items()}
    found = measure(network, [batch], loss)
    table = {name: tf.constant(value) for name, value in network.tensors.items()}

    def at(layer, head, change):
        def mask(name, context):
            factor = np.ones(4)
            factor[head] += change * (name == f"layers.{layer}")
            return context * np.repeat(factor, network.config.head_size)

        run = forward.run(network.config, network.head, table, **batch, options=forward.Options(alter_context=mask))
        return float(loss(run.outputs, None))

    for layer in range(3):
        slopes = [abs(at(layer, head, 1e-4) - at(layer, head, -1e-4)) / 2e-4 for head in range(4)]
        np.testing.assert_allclose(found.heads[layer], slopes, atol=1e-6)
