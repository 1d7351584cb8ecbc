"""Which heads stay: by importance in each layer or in all, with a floor; at random; all but those listed."""

import numpy as np
import pytest

from models_tf.compress.heads import choose_heads, kept_count, random_importance, without
from models_tf.errors import InputError

IMPORTANCE = [np.array([0.1, 0.4, 0.3, 0.2]), np.array([8.0, 7.0, 5.0, 6.0]), np.array([0.5, 0.05, 0.6, 0.7])]


def test_in_each_layer_the_best_stay_the_best_of_all_first():
    assert choose_heads(IMPORTANCE, share=0.5) == [[1, 2], [0, 1], [3, 2]]


def test_in_all_layers_the_best_stay_and_each_layer_keeps_one():
    assert choose_heads(IMPORTANCE, share=0.5, scope="global") == [[1], [0, 1, 3, 2], [3]]
    assert choose_heads(IMPORTANCE, share=0.4, scope="global") == [[1], [0, 1, 3, 2], [3, 2]]


def test_the_floor_of_heads_is_kept_whatever_their_importance():
    assert choose_heads(IMPORTANCE, share=0.5, scope="global", minimum=2) == [[1, 2], [0, 1], [3, 2]]
    assert choose_heads(IMPORTANCE, share=0.9, scope="global", minimum=2) == [[1, 2], [0, 1], [3, 2]]
    assert [len(kept) for kept in choose_heads(IMPORTANCE, share=0.9, minimum=3)] == [3, 3, 3]
    assert [len(kept) for kept in choose_heads(IMPORTANCE, share=0.99)] == [1, 1, 1]


def test_normalized_layers_are_compared_by_shape_and_not_by_scale():
    scaled = [np.array([1.0, 2.0]), np.array([2000.0, 1000.0])]
    assert choose_heads(scaled, share=0.25, scope="global") == [[1], [0, 1]]
    # Equal shapes: of equal scores the lower layer's stays.
    assert choose_heads(scaled, share=0.25, scope="global", normalize=True) == [[1, 0], [0]]
    zeros = [np.zeros(2), np.ones(2)]
    assert choose_heads(zeros, share=0.25, scope="global", normalize=True) == [[0], [0, 1]]


def test_of_equal_heads_the_lower_number_stays():
    assert choose_heads([np.ones(4)] * 2, share=0.5) == [[0, 1], [0, 1]]


@pytest.mark.parametrize(
    ("total", "share", "kept"), [(12, 0.5, 6), (12, 0.25, 9), (12, 0.75, 3), (72, 0.4, 43), (5, 0.5, 3), (10, 0.7, 3)]
)
def test_a_share_is_rounded_with_halves_kept(total, share, kept):
    assert kept_count(total, share) == kept


def test_the_global_share_is_exact():
    importance = random_importance([12] * 6, 3)
    for share in (0.1, 0.4, 0.77):
        kept = choose_heads(importance, share=share, scope="global")
        assert sum(map(len, kept)) == kept_count(72, share)
        gone = [importance[layer][head] for layer in range(6) for head in range(12) if head not in kept[layer]]
        worst = min(importance[layer][head] for layer in range(6) for head in kept[layer] if len(kept[layer]) > 1)
        assert max(gone) < worst


def test_random_heads_follow_the_seed():
    one, same, other = (choose_heads(random_importance([12] * 6, seed), share=0.4) for seed in (1, 1, 2))
    assert one == same != other


def test_all_but_the_listed_heads_stay_in_their_order():
    assert without([4, 4, 2], {0: [3, 1], 2: [0]}) == [[0, 2], [0, 1, 2, 3], [1]]


@pytest.mark.parametrize(
    ("removed", "words"),
    [
        ({3: [0]}, "layers from 0 to 2. Received: 3"),
        ({0: [4]}, "heads from 0 to 3 of layer 0. Received: 4"),
        ({2: [1, 0]}, "must leave at least 1 of the 2 heads of layer 2"),
    ],
)
def test_a_listed_head_that_does_not_exist_or_is_the_last_is_refused(removed, words):
    with pytest.raises(InputError, match=words):
        without([4, 4, 2], removed)


def test_a_floor_above_the_heads_of_a_layer_is_refused():
    with pytest.raises(InputError, match="--min-heads must be 1 to 4"):
        choose_heads(IMPORTANCE, share=0.5, minimum=5)
