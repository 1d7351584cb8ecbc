"""The forward pass traced without knowing the length gives what it gives where the length is known."""

import numpy as np
import pytest

from exporters.formats.graph import trace
from models_tf.encoder.graph import NetworkGraph
from models_tf.encoder.network import Network
from models_tf.encoder.rewrites.apply import apply
from support.network_runs import rows
from support.tiny_models import HEADS, TIME, config, ghost_config, network

NETWORKS = {
    **{name: config(name) for name in ("opt", "tiny", "bert", "albert", "layer-norm")},
    "ghosts": ghost_config(),
    "ghosts on outputs": ghost_config(ghost_on="outputs"),
}
FOLDS = {"classification": "full", "base": "full", "question-answering": "off"}
# With its two kinds of inputs: one row of any length, as TFLite has it, or any number of rows, as ONNX has it.
BATCHES = (1, None)
# What makes a tensor whose size TFLite learns only while it runs.
COMPUTED = {"Shape", "Range", "Fill", "BroadcastTo", "Where"}


def made(name: str, head: str) -> Network:
    settings = NETWORKS[name]
    found, _ = apply(network(settings, HEADS[head]), fold=FOLDS[head], max_seq_len=TIME, one_segment=False)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("head", FOLDS)
@pytest.mark.parametrize("name", NETWORKS)
def test_an_unknown_length_changes_no_answer(name: str, head: str) -> None:
    graph = NetworkGraph(made(name, head), TIME)
    names = [spec.name for spec in graph.inputs]
    for batch in BATCHES:
        traced = trace(graph, dict.fromkeys(names, ((batch, None), "int32")))
        for length in (1, 2, 5, TIME):
            given = {key: value[: batch or 3, :length] for key, value in rows().items() if key in names}
            found, expected = traced(**given), graph(**given)
            for output, values in expected.items():
                assert found[output].shape == values.shape
                # The same operators on the same values; a product of other blocks may round otherwise.
                np.testing.assert_allclose(found[output], values, rtol=1e-5, atol=1e-5, err_msg=f"{batch}, {length}")


@pytest.mark.parametrize("name", NETWORKS)
def test_with_one_row_no_shape_is_computed(name: str) -> None:
    graph = NetworkGraph(made(name, "classification"), TIME)
    traced = trace(graph, {spec.name: ((1, None), "int32") for spec in graph.inputs})
    assert not {operation.type for operation in traced.graph.get_operations()} & COMPUTED


def test_a_model_that_drops_tokens_runs_at_any_length_in_keras() -> None:
    settings = config("bert", retention=(9, 5, 1))
    graph = NetworkGraph(network(settings), TIME)
    traced = trace(graph, {spec.name: ((None, None), "int32") for spec in graph.inputs})
    for length in (4, TIME):
        given = {name: values[:3, :length] for name, values in rows().items()}
        np.testing.assert_allclose(traced(**given)["logits"], graph(**given)["logits"], rtol=1e-5, atol=1e-5)


def test_trigrams_see_padding_as_the_end_of_the_text() -> None:
    """The answer is the one that the network gives without padding, also where the text holds the padding token."""
    source = network(config("opt"))
    length = 7
    short = {name: values[:, :length].copy() for name, values in rows(padded=False).items()}
    short["ids"][0, 3] = source.config.pad_id
    padded = {name: np.pad(values, ((0, 0), (0, TIME - length))) for name, values in short.items()}
    expected = NetworkGraph(source, TIME).predict(short)["logits"]
    changed, names = apply(source, fold="off", max_seq_len=TIME, one_segment=False, any_length=True)
    assert "end_at_padding" in names
    for given in (short, padded):
        np.testing.assert_allclose(NetworkGraph(changed, TIME).predict(given)["logits"], expected, rtol=1e-5, atol=1e-5)
    # Without it the padding shows.
    assert np.abs(NetworkGraph(source, TIME).predict(padded)["logits"] - expected).max() > 1e-3
