"""Parity of networks with large activations: what float32 itself rounds is no error, and an error stays one.

Twelve layers of MobileBERT whose random weights enlarge rounding from layer to layer: large logits, which float32 gets
right to some 1e-4 of the largest only.
"""

import dataclasses

import numpy as np
import pytest

from exporters.data.token_rows import TokenRows
from exporters.formats.runners import KerasRunner
from exporters.verification.verify import Check, verify
from models_tf.encoder.graph import NetworkGraph
from models_tf.encoder.model import Encoder
from models_tf.encoder.network import Network
from models_tf.encoder.rewrites.apply import apply
from models_tf.tasks.classification import ClassificationRows
from quantize.recipe import FLOAT_RTOL
from support import network_runs, tiny_models

INPUTS = ("ids", "mask", "segments")
ROWS = 64
HEAD = tiny_models.HEADS["classification"]


class Rewritten:
    """What is exported, run by TensorFlow in place of a file."""

    name, inputs = "file", INPUTS

    def __init__(self, graph):
        self._graph = graph

    def __call__(self, feed):
        return self._graph.predict({name: np.asarray(feed[name]) for name in INPUTS})


@pytest.fixture(scope="module")
def network():
    config = tiny_models.config(num_layers=12)
    generator = np.random.default_rng(1)
    tensors = {}
    for name, shape in config.shapes(HEAD).items():
        values = tiny_models.values(generator, name, shape)
        tensors[name] = (2 * values if name.endswith(".kernel") else values).astype(np.float32)
    return Network(config=config, head=HEAD, tensors=tensors)


def judged(network, exported=None):
    rewritten, _ = apply(exported or network, fold="full", max_seq_len=tiny_models.TIME, one_segment=False)
    graph = NetworkGraph(rewritten, tiny_models.TIME)
    encoder = Encoder(network.config, network.head, network.tensors)
    functions = (encoder, encoder.exact, graph.__call__, graph.exact)
    keras, *others = (KerasRunner(made, inputs=INPUTS, rows=16) for made in functions)
    rows = ClassificationRows(
        inputs=network_runs.rows(ROWS), keys=[str(i) for i in range(ROWS)], source="random", labels=("a", "b", "c")
    )
    checks = [
        Check(runner=keras, against=None, precisions=((keras, others[0]), (others[1], others[2]))),
        Check(runner=Rewritten(graph), against="Keras", limit=FLOAT_RTOL, relative=True),
    ]
    return verify(checks, [], TokenRows.of(rows))


def test_a_network_that_float32_rounds_passes_by_a_limit_of_its_own_and_the_report_says_so(network):
    result = judged(network)
    (parity,) = result.parities
    assert parity.scale > 100
    assert parity.max_abs > FLOAT_RTOL * parity.scale  # what the recipe allows
    assert parity.passed
    assert parity.rounding > FLOAT_RTOL * parity.scale / 4
    assert any("float32 itself differs from float64" in note for note in result.notes)


@pytest.mark.slow
def test_a_wrong_kernel_fails_all_the_same(network):
    name = "layers.6.ffn.0.intermediate.kernel"
    wrong = dataclasses.replace(network, tensors={**network.tensors, name: network.tensors[name][::-1].copy()})
    (parity,) = judged(network, wrong).parities
    assert not parity.passed
    assert "float32 itself" in parity.failure()
