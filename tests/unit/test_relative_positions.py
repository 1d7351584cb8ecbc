"""Buckets of distances, by hand and as PyTorch has them, and what they add to the scores."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from models_tf.encoder import forward
from models_tf.encoder.config import EncoderConfig
from models_tf.encoder.relative import buckets_of, score_bias
from support.network_runs import rows
from support.tiny_models import HEADS, bert, config, network


@pytest.mark.parametrize(
    ("distance", "bucket"),
    [
        *((0, 0), (-1, 1), (-7, 7), (-8, 8), (-11, 8), (-12, 9), (-16, 10), (-127, 15), (-128, 15), (-500, 15)),
        *((1, 17), (7, 23), (8, 24), (15, 25), (16, 26), (32, 28), (64, 30), (90, 30), (91, 31), (400, 31)),
    ],
)
def test_the_bucket_of_a_distance(distance, bucket):
    assert buckets_of(np.array([distance])).tolist() == [bucket]


def test_all_buckets_are_those_of_pytorch():
    torch = pytest.importorskip("torch")
    encoder = pytest.importorskip("transformers.models.mpnet.modeling_mpnet").MPNetEncoder
    distances = np.arange(-1100, 1100)
    theirs = encoder.relative_position_bucket(torch.from_numpy(distances)).numpy()
    np.testing.assert_array_equal(buckets_of(distances), theirs)


def test_a_head_adds_its_column_at_the_bucket_of_key_less_query():
    table = np.arange(64, dtype=np.float32).reshape(32, 2)
    found = score_bias(tf.constant(table), tf.range(3), 5).numpy()
    assert found.shape == (2, 3, 3)
    assert found[0].tolist() == [[0, 34, 36], [2, 0, 34], [4, 2, 0]]
    np.testing.assert_array_equal(found[1], found[0] + 1)


def with_relative(head: str = "classification"):
    return network(config("bert", num_heads=4, intermediate_size=32, relative_positions=True), HEADS[head])


def outputs(of, given, options=None):
    table = {name: tf.constant(value) for name, value in of.tensors.items()}
    inputs = {name: tf.constant(value) for name, value in given.items()}
    return forward.run(of.config, of.head, table, options=options or forward.Options(form=of.form), **inputs)


def test_a_table_of_zeros_changes_nothing_and_one_of_constants_neither():
    plain, made = bert(), with_relative()
    given = rows(padded=True)
    for value in (0.0, 3.0):
        table = np.full_like(made.tensors["relative_attention_bias"], value)
        same = dataclasses.replace(made, tensors={**plain.tensors, "relative_attention_bias": table})
        np.testing.assert_allclose(
            outputs(same, given).outputs["logits"], outputs(plain, given).outputs["logits"], atol=1e-5
        )
    assert np.abs(outputs(made, given).scores[0] - outputs(plain, given).scores[0]).max() > 0.5


def test_positions_are_of_the_longest_text_and_the_answer_is_that_of_the_text_alone():
    made, given = with_relative(), rows(padded=True)
    whole = outputs(made, given).outputs["logits"].numpy()
    for row in range(len(whole)):
        length = int(given["mask"][row].sum())
        alone = outputs(made, {name: value[row : row + 1, :length] for name, value in given.items()})
        np.testing.assert_allclose(alone.outputs["logits"].numpy()[0], whole[row], atol=1e-5)


@pytest.mark.parametrize("head", ["classification", "token-classification"])
@pytest.mark.parametrize("shape", [(1, None), (None, None), (2, 12), (None, 12)], ids=str)
def test_every_way_of_tracing_gives_the_same_answer(shape, head):
    made = with_relative(head)
    given = {name: value[: shape[0]] for name, value in rows(padded=True).items()}
    table = {name: tf.constant(value) for name, value in made.tensors.items()}

    @tf.function(autograph=False, input_signature=[tf.TensorSpec(shape, tf.int32)] * 3)
    def traced(ids, mask, segments):
        return forward.run(made.config, made.head, table, ids=ids, mask=mask, segments=segments).outputs["logits"]

    expected = outputs(made, given).outputs["logits"].numpy()
    found = traced(*(tf.constant(given[name]) for name in ("ids", "mask", "segments"))).numpy()
    np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize(
    "changes",
    [
        {"kept_heads": (2, 2, 2)},
        {"retention": (5, 3, 1)},
        {"ghost_heads": (1, 1, 1)},
        {"relative_positions": 1},
    ],
    ids=str,
)
def test_what_relative_positions_cannot_have_is_refused(changes):
    with pytest.raises(ValueError, match="`relative_positions`"):
        config("bert", **{"num_heads": 4, "intermediate_size": 32, "relative_positions": True, **changes})


def test_a_config_is_written_as_a_whole():
    made = with_relative().config
    assert EncoderConfig(**made.to_dict()) == made
