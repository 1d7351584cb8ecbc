"""The mask value: bounded, and padding has no weight with it."""

import numpy as np
import pytest

from exporters.sources.mask import MARGIN, attention_peak, choose_mask
from models_tf.encoder.graph import NetworkGraph
from support.network_runs import rows
from support.tiny_models import HEADS, TIME, config
from support.tiny_models import network as random_network

ROWS = rows(40)


@pytest.fixture(scope="module")
def network():
    return random_network(config(), HEADS["classification"])


def test_the_mask_outweighs_the_scores_by_the_margin_and_is_a_whole_number(network):
    peak = attention_peak(network, ROWS, batch=16)
    value = choose_mask(network, ROWS, batch=16)
    assert value == int(value)
    assert 0 <= -value - (2 * peak + MARGIN) < 1


def test_the_peak_does_not_depend_on_the_batch(network):
    peaks = [attention_peak(network, ROWS, batch=batch) for batch in (1, 7, 64)]
    assert peaks == pytest.approx([peaks[0]] * 3, rel=1e-5)


def test_the_bounded_mask_answers_like_pytorchs(network):
    bounded = NetworkGraph(network, TIME, choose_mask(network, ROWS, batch=16)).predict(ROWS)
    exact = NetworkGraph(network, TIME).predict(ROWS)
    for name, expected in exact.items():
        # exp(-20) for each padded position: 2e-9 of what is summed, below float32's rounding.
        np.testing.assert_allclose(bounded[name], expected, atol=1e-5 * np.abs(expected).max())


def test_ids_in_padding_do_not_change_the_answer(network):
    graph = NetworkGraph(network, TIME, choose_mask(network, ROWS, batch=16))
    noise = np.random.default_rng(1).integers(0, network.config.vocab_size, ROWS["ids"].shape).astype(np.int32)
    changed = {**ROWS, "ids": np.where(ROWS["mask"] > 0, ROWS["ids"], noise).astype(np.int32)}
    for name, expected in graph.predict(ROWS).items():
        np.testing.assert_array_equal(graph.predict(changed)[name], expected)
