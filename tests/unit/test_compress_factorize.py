"""A factorised word embedding: the nearest product of two tables, exact where the rank allows it."""

import dataclasses

import numpy as np
import pytest

from models_tf.checkpoints import encoder as checkpoint
from models_tf.compress.apply import compress
from models_tf.compress.factorize import discarded, factorize_embedding, factors
from models_tf.compress.settings import Compression
from models_tf.encoder.network import Network
from models_tf.errors import InputError
from support.network_runs import outputs, relative_error, rows
from support.tiny_models import bert, stored


def test_all_columns_give_the_table_back():
    table = np.random.default_rng(0).normal(0, 1, (200, 24)).astype(np.float32)
    words, kernel = factors(table, 24)
    np.testing.assert_allclose(words @ kernel, table, atol=1e-5)


@pytest.mark.parametrize("size", [1, 5, 20])
def test_the_error_is_the_singular_values_that_are_left_out(size):
    table = np.random.default_rng(1).normal(0, 1, (200, 24)) * np.linspace(0.1, 3, 24)
    words, kernel = factors(table, size)
    values = np.linalg.svd(table, compute_uv=False)
    lost = float((values[size:] ** 2).sum())
    np.testing.assert_allclose(((words @ kernel - table) ** 2).sum(), lost, rtol=1e-9)
    np.testing.assert_allclose(discarded(table, size), lost / (table**2).sum(), rtol=1e-9)
    # Both sides carry a square root of each singular value: columns and the rows that they meet are as long.
    np.testing.assert_allclose((words**2).sum(0), (kernel**2).sum(1), rtol=1e-9)
    np.testing.assert_allclose((words**2).sum(0), values[:size], rtol=1e-9)


def test_a_table_of_that_rank_gives_the_same_model():
    whole, random = bert(), np.random.default_rng(2)
    table = random.normal(0, 1, (61, 6)) @ random.normal(0, 0.5, (6, 32))
    low = whole.change({"word_embedding": table.astype(np.float32)})
    for size in (6, 9):  # with columns to spare too, whose singular values are 0
        small = factorize_embedding(low, size)
        assert small.tensors["word_embedding"].shape == (61, size)
        assert all(np.isfinite(value).all() for value in small.tensors.values())
        assert relative_error(outputs(small, rows(5)), outputs(low, rows(5))) <= 1e-5
    assert relative_error(outputs(factorize_embedding(low, 5), rows(5)), outputs(low, rows(5))) > 1e-4


def test_the_checkpoint_is_stored_and_read(tmp_path):
    made = compress(stored(bert()), Compression(embedding_size=8))
    assert made.checkpoint.model_name == "bert"
    assert made.record["embedding"]["before"] == 32
    assert 0 < made.record["embedding"]["discarded"] < 1
    assert made.record["parameters"]["before"] - made.record["parameters"]["after"] == 61 * 24 - 8 * 32 - 32
    checkpoint.save(tmp_path / "m", made.checkpoint)
    again = checkpoint.load(tmp_path / "m")
    assert again.config.embedding_size == 8
    found, expected = (
        outputs(Network(config=one.config, head=one.head, tensors=one.tensors), rows(5))
        for one in (again, made.checkpoint)
    )
    assert relative_error(found, expected) == 0.0


def test_random_weights_are_drawn_anew():
    untrained = dataclasses.replace(stored(bert()), trained=False)
    made = compress(untrained, Compression(embedding_size=8))
    assert "discarded" not in made.record["embedding"]
    assert abs(made.checkpoint.tensors["word_embedding"].std() - 0.02) < 0.005


@pytest.mark.parametrize(
    ("size", "words"), [(32, "--embedding-size must be below the model's width, 32"), (0, "from 1 to"), (64, "below")]
)
def test_a_wrong_width_is_refused(size, words):
    with pytest.raises(InputError, match=words):
        compress(stored(bert()), Compression(embedding_size=size))


def test_a_factorised_embedding_is_not_factorised_again():
    once = compress(stored(bert()), Compression(embedding_size=8)).checkpoint
    with pytest.raises(InputError, match="one of width 8 that is factorised already"):
        compress(once, Compression(embedding_size=4))
    with pytest.raises(ValueError, match="can be factorised once"):
        factorize_embedding(Network(config=once.config, head=once.head, tensors=once.tensors), 4)


def test_a_model_with_ghosts_can_have_a_narrow_embedding(tmp_path):
    ghostly = compress(stored(bert()), Compression(ghosts=1)).checkpoint
    made = compress(ghostly, Compression(embedding_size=8, prune_vocab=True, drop_characters=True), used=range(30))
    checkpoint.save(tmp_path / "m", made.checkpoint)
    again = checkpoint.load(tmp_path / "m")
    assert (again.model_name, again.config.embedding_size, again.config.vocab_size) == ("ghostbert", 8, 30)
