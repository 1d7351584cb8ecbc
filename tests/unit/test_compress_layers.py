"""Layers: what each strategy drops, that the rest computes what a network made by hand does, and contribution."""

import itertools

import numpy as np
import pytest

from models_tf.checkpoints import encoder as checkpoint
from models_tf.compress import width
from models_tf.compress.ghosts import add_ghosts
from models_tf.compress.layer_choice import LayerChoice, parse_layers
from models_tf.compress.layers import drop_layers, similarities
from models_tf.encoder.network import Network
from models_tf.errors import InputError
from support.network_runs import outputs, relative_error, rows
from support.tiny_models import bert, config, network, stored

COSINES = [0.2, 0.9, 0.95, 0.9, 0.1, 0.3]


@pytest.mark.parametrize(
    ("text", "six", "twelve"),
    [
        ("top:2", [4, 5], [10, 11]),
        ("bottom:2", [0, 1], [0, 1]),
        ("alternate:odd", [1, 3, 5], [1, 3, 5, 7, 9, 11]),
        ("alternate:even", [0, 2, 4], [0, 2, 4, 6, 8, 10]),
        ("alternate:odd:2", [3, 5], [9, 11]),
        ("alternate:even:2", [2, 4], [8, 10]),
        ("symmetric:2", [2, 3], [5, 6]),
        ("symmetric:3", [2, 3, 4], [5, 6, 7]),
        ("symmetric:4", [1, 2, 3, 4], [4, 5, 6, 7]),
        ("contribution:1", [2], [2]),
        ("contribution:2", [2, 3], [2, 8]),  # of equal ones the higher layer
        ("1,4", [1, 4], [1, 4]),
        (" 4, 1 ", [1, 4], [1, 4]),
    ],
)
def test_each_strategy_drops_these_layers(text, six, twelve):
    choice = parse_layers(text)
    assert choice.resolve(6, COSINES) == six
    assert choice.resolve(12, [0.95 if layer in (2, 8) else 0.5 - layer / 100 for layer in range(12)]) == (
        twelve if text != "contribution:1" else [8]
    )
    assert parse_layers(str(choice)) == choice


@pytest.mark.parametrize(
    "text",
    [
        "",
        "top",
        "top:",
        "top:0",
        "top:-1",
        "top:1.5",
        "top:x",
        "middle:2",
        "alternate",
        "alternate:both",
        "1;2",
        "1,1",
        "top:2:3",
        "alternate:odd:",
        "-1",
        "1,",
        "symmetric:odd:1",
    ],
)
def test_a_text_that_names_no_layers_is_refused_in_one_line(text):
    with pytest.raises(InputError, match="Received") as caught:
        parse_layers(text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "layers", "words"),
    [
        ("top:6", 6, "at least 1 of the model's 6 layers. Received: 6 to drop"),
        ("bottom:7", 6, "Received: 7 to drop"),
        ("contribution:6", 6, "at least 1"),
        ("0,1", 2, "at least 1 of the model's 2 layers"),
        ("1,6", 6, "layers from 0 to 5. Received: 6"),
        ("alternate:odd:4", 6, "has 3 layers to drop of 6. Received: 4"),
        ("alternate:even", 1, "at least 1 of the model's 1 layers"),
    ],
)
def test_one_layer_must_stay_and_all_must_exist(text, layers, words):
    with pytest.raises(InputError, match=words):
        parse_layers(text).resolve(layers, COSINES)


def test_a_choice_can_be_made_from_python_and_is_checked():
    assert str(LayerChoice(strategy="alternate", parity="odd", count=2)) == "alternate:odd:2"
    for wrong in ({"strategy": "top"}, {"strategy": "top", "count": 1, "parity": "odd"}, {"strategy": "listed"}):
        with pytest.raises(InputError):
            LayerChoice(**wrong)


def test_a_network_without_layers_is_the_one_made_by_hand():
    whole, given = bert(num_layers=4), rows(6)
    tensors = {name: value for name, value in whole.tensors.items() if not name.startswith("layers.")}
    for new, old in enumerate((0, 3)):
        for name, value in whole.tensors.items():
            if name.startswith(f"layers.{old}."):
                tensors[name.replace(f"layers.{old}.", f"layers.{new}.")] = value
    by_hand = Network(config=bert(num_layers=2).config, head=whole.head, tensors=tensors)
    found = drop_layers(whole, [1, 2])
    assert found.config == by_hand.config
    assert relative_error(outputs(found, given), outputs(by_hand, given)) == 0.0


def test_widths_and_ghosts_go_with_their_layers(tmp_path):
    narrow = width.keep_neurons(
        width.keep_heads(bert(), [[0, 1], [2], [1, 2, 3]]), [list(range(n)) for n in (8, 16, 24)]
    )
    assert drop_layers(narrow, [0]).config.kept_heads == (1, 3)
    assert drop_layers(narrow, [0]).config.kept_ffn == (16, 24)
    ghostly = drop_layers(add_ghosts(narrow, heads=[1, 2, 0], folds=[0, 0, 1]), [0])
    assert (ghostly.config.ghost_heads, ghostly.config.ghost_folds) == ((2, 0), (0, 1))
    assert ghostly.config.shapes(ghostly.head) == {name: value.shape for name, value in ghostly.tensors.items()}
    checkpoint.save(tmp_path / "m", stored(drop_layers(narrow, [1])))
    assert checkpoint.load(tmp_path / "m").config.kept_heads == (2, 3)


def test_layers_that_do_not_exist_or_all_of_them_cannot_be_dropped():
    for wrong in ([3], [-1], [0, 1, 2]):
        with pytest.raises(ValueError, match="Received"):
            drop_layers(bert(), wrong)


def test_mobilebert_can_lose_layers_too():
    whole = network(config("opt"), bert().head)
    found = drop_layers(whole, [1])
    assert found.config.shapes(found.head) == {name: value.shape for name, value in found.tensors.items()}


def test_contribution_is_the_mean_cosine_over_tokens_without_padding():
    whole, given = bert(), rows(7)
    states = _hidden_states(whole, given)
    real = given["mask"].astype(bool)
    expected = []
    for before, after in itertools.pairwise(states):
        products = (before * after).sum(-1) / np.linalg.norm(before, axis=-1) / np.linalg.norm(after, axis=-1)
        expected.append(products[real].mean())
    batches = [{name: value[part] for name, value in given.items()} for part in (slice(0, 3), slice(3, 7))]
    np.testing.assert_allclose(similarities(whole, batches), expected, rtol=1e-5)
    # What stands in padding does not matter.
    other = {**given, "ids": np.where(real, given["ids"], 7).astype(np.int32)}
    np.testing.assert_allclose(similarities(whole, [other]), expected, rtol=1e-5)


def _hidden_states(whole: Network, given: dict[str, np.ndarray]) -> list[np.ndarray]:
    import tensorflow as tf

    from models_tf.encoder import forward

    table = {name: tf.constant(value) for name, value in whole.tensors.items()}
    inputs = {name: tf.constant(value) for name, value in given.items()}
    return [state.numpy() for state in forward.run(whole.config, whole.head, table, **inputs).hidden_states]
