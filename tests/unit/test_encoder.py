"""The encoder's config, names and shapes, parameter counts, Keras model and graph."""

import dataclasses
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from models_tf.encoder import forward
from models_tf.encoder.config import EncoderConfig
from models_tf.encoder.graph import NetworkGraph
from models_tf.encoder.heads import Head
from models_tf.encoder.model import Encoder
from models_tf.encoder.network import Form, Network
from models_tf.mobilebert.config import CONFIG, IB_BERT, OPT, TINY
from support.network_runs import answers, rows
from support.tiny_models import HEADS, SHAPES, TIME, config, network


@pytest.mark.parametrize(
    ("document", "count"),
    [(OPT, 24_581_888), (TINY, 15_485_696), (IB_BERT, 294_205_184)],
    ids=["opt", "tiny", "ib-bert"],
)
def test_published_settings_have_the_published_number_of_weights(document: dict[str, Any], count: int) -> None:
    settings = CONFIG.from_document(document)
    assert settings.parameters() == count
    encoder = {name: shape for name, shape in settings.shapes().items() if not name.startswith("pooler.")}
    assert sum(int(np.prod(shape)) for shape in encoder.values()) == count


@pytest.mark.parametrize("variant", SHAPES)
def test_the_count_is_the_sum_of_the_shapes(variant: str) -> None:
    settings = config(variant)
    shapes = {name: shape for name, shape in settings.shapes().items() if not name.startswith("pooler.")}
    assert settings.parameters() == sum(int(np.prod(shape)) for shape in shapes.values())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"hidden_size": 0}, "`hidden_size` must be a whole number from 1"),
        ({"num_layers": 257}, "`num_layers` must be a whole number from 1 to 256"),
        ({"num_heads": True}, "`num_heads` must be a whole number"),
        ({"num_heads": 3}, "must be a multiple of `num_heads`, 3. Received: 16"),
        ({"activation": "swoosh"}, "`activation` must be one of relu, "),
        ({"norm": "batch"}, "`norm` must be one of no_norm, layer_norm. Received: 'batch'"),
        ({"trigram": 1}, "`trigram` must be true or false. Received: 1"),
        ({"hidden_dropout": 1.0}, "`hidden_dropout` must be 0.0 to 0.99"),
        ({"norm_epsilon": float("nan")}, "`norm_epsilon` must be"),
        ({"pad_id": 61}, "`pad_id` must be below `vocab_size`"),
        ({"use_bottleneck": False}, "`bottleneck_size` must be `hidden_size`, 32"),
        ({"hidden_size": 65536, "intermediate_size": 65536, "bottleneck_size": 65536}, "at most 1,073,741,824 weights"),
    ],
)
def test_a_bad_setting_is_one_line_that_names_it(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match="Received: ") as caught:
        config(**change)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "labels"),
    [("base", 1), ("question-answering", 3), ("classification", 0), ("token-classification", 0), ("ranking", 2)],
)
def test_a_head_with_the_wrong_number_of_labels_is_refused(kind: str, labels: int) -> None:
    with pytest.raises(ValueError, match="Received: "):
        Head(kind=kind, num_labels=labels)


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("variant", SHAPES)
def test_the_graph_gives_what_its_spec_names(variant: str, head: str) -> None:
    one_layer = {"num_layers": 1, "shared_layers": config(variant).shared_layers[:1]}
    graph = NetworkGraph(network(config(variant, **one_layer), HEADS[head]), TIME)
    given = rows(2)
    assert [spec.name for spec in graph.inputs] == ["ids", "mask", "segments"]
    assert all(spec.shape == (TIME,) and spec.dtype == "int32" for spec in graph.inputs)
    found = graph.predict(given)
    assert {name: value.shape for name, value in found.items()} == {
        spec.name: (2, *spec.shape) for spec in graph.outputs
    }
    assert all(np.isfinite(value).all() for value in found.values())


def test_a_model_starts_with_random_kernels_that_differ_and_neutral_norms() -> None:
    model = Encoder(config(), HEADS["classification"])
    tensors = model.tensors()
    assert list(tensors) == list(config().shapes(HEADS["classification"]))
    assert np.abs(tensors["layers.0.query.kernel"] - tensors["layers.0.key.kernel"]).max() > 0
    assert (tensors["layers.0.attention_norm.gamma"] == 1).all()
    assert (tensors["layers.0.query.bias"] == 0).all()
    assert 0.01 < tensors["word_embedding"].std() < 0.03


def test_a_model_is_its_network() -> None:
    given = rows()
    source = network(config(), HEADS["classification"])
    model = Encoder(source.config, source.head, source.tensors)
    assert len(model.trainable_variables) == len(source.tensors)
    direct = model(*(tf.constant(given[name]) for name in ("ids", "mask", "segments")))["logits"]
    np.testing.assert_allclose(direct, answers(model.network(), given)["logits"], rtol=1e-6)


def test_a_model_refuses_weights_of_another_config() -> None:
    source = network(config(num_ffn=3), HEADS["classification"])
    with pytest.raises(ValueError, match=r"Received: layers\.0\.ffn\.3"):
        Encoder(config(), HEADS["classification"], source.tensors)


@pytest.mark.parametrize("variant", SHAPES)
@pytest.mark.parametrize("pad_id", [0, 5])
def test_ids_in_padding_change_nothing(variant: str, pad_id: int) -> None:
    source, given = network(config(variant, pad_id=pad_id), HEADS["question-answering"]), rows()
    other = {**given, "ids": np.where(given["mask"], given["ids"], 9).astype(np.int32)}
    first, second = answers(source, given), answers(source, other)
    for name, value in first.items():
        np.testing.assert_array_equal(value, second[name])


def test_rows_do_not_see_each_other() -> None:
    source, given = network(config(), HEADS["token-classification"]), rows(4)
    together = answers(source, given)["logits"]
    alone = [answers(source, {name: values[i : i + 1] for name, values in given.items()})["logits"] for i in range(4)]
    np.testing.assert_allclose(together, np.concatenate(alone), rtol=1e-5, atol=1e-5)


def test_a_bounded_mask_approaches_the_exact_one() -> None:
    source, given = network(config(), HEADS["classification"]), rows()
    exact = answers(source, given)["logits"]
    errors = [np.abs(NetworkGraph(source, TIME, value).predict(given)["logits"] - exact).max() for value in (-3, -30)]
    assert errors[0] > 1e-3
    assert errors[1] < 1e-5


@pytest.mark.parametrize(("length", "mask_value"), [(0, -1.0), (21, -1.0), (8, 0.0), (8, float("nan"))])
def test_a_graph_refuses_a_length_or_mask_that_cannot_work(length: int, mask_value: float) -> None:
    with pytest.raises(ValueError, match="Received: "):
        NetworkGraph(network(config(), HEADS["base"]), length, mask_value)


def test_a_network_changes_by_copy() -> None:
    source = network(config(), HEADS["classification"])
    changed = source.change({"new": np.zeros(1)}, remove=["segment_embedding"], scaled_query=True)
    assert source.takes_segments
    assert source.form == Form()
    assert not changed.takes_segments
    assert changed.form.scaled_query
    assert "new" in changed.tensors
    assert "new" not in source.tensors
    with pytest.raises(dataclasses.FrozenInstanceError):
        source.form = Form(scaled_query=True)  # type: ignore[misc]


def test_attention_scores_and_hidden_states_of_every_layer_are_given() -> None:
    source, given = network(config(), HEADS["base"]), rows()
    table = {name: tf.constant(value) for name, value in source.tensors.items()}
    found = forward.run(source.config, source.head, table, **{name: tf.constant(v) for name, v in given.items()})
    assert [state.shape for state in found.hidden_states] == [(4, TIME, 32)] * 4
    assert [scores.shape for scores in found.scores] == [(4, 2, TIME, TIME)] * 3
    np.testing.assert_array_equal(found.hidden_states[-1], found.outputs["hidden"])
    assert isinstance(source, Network)
    assert isinstance(source.config, EncoderConfig)
