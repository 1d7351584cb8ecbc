"""Heads and neurons: another order changes nothing, removing is masking, and what was kept is stored and read back."""

import numpy as np
import pytest

from models_tf.checkpoints import encoder as checkpoint
from models_tf.compress import width
from models_tf.compress.neurons import choose_neurons, neurons_kept
from support.network_runs import masking, outputs, relative_error, rows
from support.tiny_models import bert, stored

# Sums in another order: each product is rounded by 6e-8 of it, and a few hundred of them in three layers make 1e-6.
SAME = 1e-5


def permutations(seed: int, counts: list[int]) -> list[list[int]]:
    generator = np.random.default_rng(seed)
    return [generator.permutation(count).tolist() for count in counts]


@pytest.mark.parametrize("head", ["classification", "token-classification", "question-answering", "base"])
def test_another_order_of_heads_and_neurons_changes_no_output(head):
    network, given = bert(head), rows(6)
    changed = width.keep_heads(network, [[2, 0, 3, 1], [3, 2, 1, 0], [1, 3, 0, 2]])
    changed = width.keep_neurons(changed, permutations(2, [32, 32, 32]))
    assert changed.config == network.config
    assert not np.array_equal(changed.tensors["layers.0.query.kernel"], network.tensors["layers.0.query.kernel"])
    assert relative_error(outputs(changed, given), outputs(network, given)) <= SAME


def test_heads_removed_are_heads_masked():
    network, given = bert(), rows(6)
    kept = [[3, 1], [0], [2, 0, 3]]
    masks = [[float(head in layer) for head in range(4)] for layer in kept]
    pruned = width.keep_heads(network, kept)
    assert pruned.config.kept_heads == (2, 1, 3)
    assert pruned.tensors["layers.1.query.kernel"].shape == (32, 8)
    expected = outputs(network, given, masking(network, masks))
    assert relative_error(outputs(pruned, given), expected) <= SAME
    assert relative_error(outputs(pruned, given), outputs(network, given)) > 1e-2


def test_neurons_removed_are_neurons_whose_output_is_zero():
    network, given = bert(), rows(6)
    kept = [list(range(0, 32, 2)), [5], list(range(20))]
    tensors = {}
    for layer, numbers in enumerate(kept):
        name = f"layers.{layer}.ffn.0.output.kernel"
        tensors[name] = network.tensors[name].copy()
        tensors[name][[neuron for neuron in range(32) if neuron not in numbers]] = 0.0
    pruned = width.keep_neurons(network, kept)
    assert pruned.config.kept_ffn == (16, 1, 20)
    assert relative_error(outputs(pruned, given), outputs(network.change(tensors), given)) <= SAME


def test_what_is_kept_twice_is_kept_of_what_was_kept():
    network, given = bert(), rows(4)
    twice = width.keep_heads(width.keep_heads(network, [[3, 1, 2]] * 3), [[2, 0]] * 3)
    once = width.keep_heads(network, [[2, 3]] * 3)
    assert twice.config == once.config
    assert relative_error(outputs(twice, given), outputs(once, given)) == 0.0


def test_a_narrow_model_is_stored_and_read_back(tmp_path):
    network = width.keep_neurons(width.keep_heads(bert(), [[3, 1], [0], [2, 0, 3]]), [[1, 2, 3], [0], list(range(32))])
    checkpoint.save(tmp_path / "m", stored(network))
    found = checkpoint.load(tmp_path / "m")
    assert (found.config.kept_heads, found.config.kept_ffn) == ((2, 1, 3), (3, 1, 32))
    assert found.config == network.config
    for name, value in network.tensors.items():
        np.testing.assert_array_equal(found.tensors[name], value)


@pytest.mark.parametrize("kept", [[[0], [1]], [[0], [], [1]], [[0], [1, 1], [2]], [[0], [4], [1]], [[-1], [0], [0]]])
def test_heads_that_do_not_exist_or_none_at_all_are_refused(kept):
    with pytest.raises(ValueError, match="Received"):
        width.keep_heads(bert(), kept)


@pytest.mark.parametrize(
    ("total", "share", "fold", "expected"),
    [
        (1536, 0.5, None, 768),
        (1536, 0.4, None, 928),  # 921.6 is nearest to 58 times 16
        (1536, 0.999, None, 16),
        (1536, 0.0, None, 1536),
        (20, 0.5, None, 10),  # no multiple of 16: any number will do
        (20, 0.99, None, 1),
        (1536, 0.4, 128, 896),
        (1536, 0.99, 128, 128),
        (3072, 0.25, 256, 2304),
    ],
)
def test_neurons_kept_are_a_multiple_of_16_or_of_a_fold_and_at_least_one(total, share, fold, expected):
    assert neurons_kept(total, share, fold=fold) == expected


def test_the_most_important_neurons_are_a_prefix_of_their_order():
    importance = [np.array([3.0, 1.0, 2.0, 9.0, 0.0])]
    assert choose_neurons(importance, share=0.4) == [[3, 0, 2]]
    assert choose_neurons(importance, share=0.0) == [[3, 0, 2, 1, 4]]
