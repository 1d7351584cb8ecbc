"""Rewrites of GhostBERT: kernels folded into constants, the first token alone, and biases change no answer."""

import numpy as np
import pytest
import tensorflow as tf

from models_tf.encoder import forward
from models_tf.encoder.config import GHOST_FORMS
from models_tf.encoder.rewrites import apply
from models_tf.encoder.rewrites.attention import move_value_bias
from models_tf.encoder.rewrites.ghosts import fold_ghosts
from models_tf.encoder.rewrites.layers import first_token_only
from support.ghost_oracle import oracle
from support.network_runs import answers, error_of_tokens, of_tokens, rows
from support.tiny_models import GHOSTS, HEADS, PRUNED, TIME, config, ghost_config, network

# Sums of some hundred products, each rounded to 6e-8 of it, through three layers.
FLOAT32 = 1e-5
# The same in float64: here nothing but a wrong formula can reach this.
FLOAT64 = 1e-12
BASE, CLASSIFICATION = HEADS["base"], HEADS["classification"]


@pytest.mark.parametrize("form", GHOST_FORMS)
@pytest.mark.parametrize("which", GHOSTS)
def test_kernels_as_constants_change_nothing(form: str, which: str) -> None:
    made = network(ghost_config(which, ghost_on=form), BASE, dtype=np.float64)
    folded = fold_ghosts(made)
    assert not [name for name in folded.tensors if ".ghost_" in name and name.endswith(".kernel")]
    assert error_of_tokens(folded, made, rows()) < FLOAT64


@pytest.mark.parametrize("form", GHOST_FORMS)
def test_folding_stays_within_rounding_in_float32(form: str) -> None:
    made = network(ghost_config(ghost_on=form))
    assert error_of_tokens(fold_ghosts(made), made, rows()) < FLOAT32


def test_large_logits_of_a_kernel_are_folded_without_overflow() -> None:
    made = network(ghost_config(), dtype=np.float64)
    name = "layers.0.ghost_heads.kernel"
    folded = fold_ghosts(made.change({name: made.tensors[name] + 1000.0}))
    assert error_of_tokens(folded, made, rows()) < FLOAT64


@pytest.mark.parametrize("form", GHOST_FORMS)
def test_rows_that_read_ghosts_get_a_kernel_of_their_own(form: str) -> None:
    # In int8 a kernel has one scale for all rows of a column: rows that are far smaller would be rounded to zero.
    made = network(ghost_config(ghost_on=form))
    folded = fold_ghosts(made)
    split = [name for name in folded.tensors if name.endswith(".ghost_kernel")]
    counted = [count for layer in range(made.config.num_layers) for count in made.config.ghosts_of(layer) if count]
    assert len(split) == (len(counted) if form == "heads" else 0)
    for name in split:
        output = name.removesuffix(".ghost_kernel")
        kept, rows_of = folded.tensors[f"{output}.kernel"], folded.tensors[name]
        np.testing.assert_array_equal(kept, made.tensors[f"{output}.kernel"][: len(kept)])
        # In a checkpoint channel by channel, here ghost by ghost.
        layer = output.split(".")[1]
        part = "ghost_heads" if "attention" in output else "ghost_folds"
        count = folded.tensors[f"layers.{layer}.{part}.taps"].shape[3]
        old = made.tensors[f"{output}.kernel"][len(kept) :]
        for ghost, found in enumerate(np.split(rows_of, count)):
            np.testing.assert_array_equal(found, old[ghost::count])


@pytest.mark.parametrize("signs", [(1, 1), (-1, -1), (1, -1), (0, 1), (0, -1), (0, 0)])
def test_gains_of_either_sign_and_zero_go_into_the_taps(signs: tuple[int, int]) -> None:
    made = network(ghost_config(ghost_on="outputs"), BASE, dtype=np.float64)
    gains = {name: value for name, value in made.tensors.items() if name.endswith(".gain")}
    changed = made.change({name: np.resize(signs, len(v)) * np.abs(v) for name, v in gains.items()})
    folded = fold_ghosts(changed)
    assert not [name for name in folded.tensors if name.endswith(".gain")]
    for name, value in gains.items():
        wanted = {"taps": np.resize(signs, len(value)) > 0, "taps_less": np.resize(signs, len(value)) < 0}
        for part, kept in wanted.items():
            taps = folded.tensors.get(name.replace(".gain", f".{part}"))
            assert (0 if taps is None else taps.shape[3]) == kept.sum()
    given = rows()
    assert error_of_tokens(folded, changed, given) < FLOAT64
    found = of_tokens(answers(folded, given), given)["hidden"]
    expected = oracle(changed, given)[given["mask"] > 0]
    assert np.abs(found - expected).max() / np.abs(expected).max() < FLOAT64


def test_folding_leaves_a_network_without_ghosts_as_it_is() -> None:
    plain = network(config("bert", **PRUNED), CLASSIFICATION)
    assert fold_ghosts(plain) is plain


@pytest.mark.parametrize("head", ["classification", "token-classification"])
@pytest.mark.parametrize("which", GHOSTS)
@pytest.mark.parametrize("form", GHOST_FORMS)
def test_all_rewrites_together_change_nothing(form: str, which: str, head: str) -> None:
    given = {**rows(), "segments": np.zeros((4, TIME), np.int32)}
    for dtype, tolerance in ((np.float64, FLOAT64), (np.float32, FLOAT32)):
        made = network(ghost_config(which, ghost_on=form), HEADS[head], dtype=dtype)
        after, names = apply(made, fold="full", max_seq_len=TIME, one_segment=True)
        assert "fold_ghosts" in names
        assert ("first_token_only" in names) == (head == "classification")
        assert error_of_tokens(after, made, given) < tolerance


@pytest.mark.parametrize(("kernel", "time"), [(3, 1), (3, 2), (3, 3), (3, 4), (5, 1), (5, 3), (5, 4), (5, 6)])
@pytest.mark.parametrize("which", ["both", "attention alone", "ffn alone"])
@pytest.mark.parametrize("form", GHOST_FORMS)
def test_the_first_token_alone_gets_the_same_answer_at_any_length(
    form: str, which: str, kernel: int, time: int
) -> None:
    """A ghost reads its neighbors: the last layer answers for 1 + 2 * reach tokens, or for all if there are fewer."""
    made = network(ghost_config(which, ghost_on=form, ghost_kernel=kernel), dtype=np.float64)
    given = rows(padded=time > 1, time=time)
    assert error_of_tokens(first_token_only(made), made, given) < FLOAT64


def last_layers_tokens(which: str, kernel: int, time: int = TIME) -> dict[str, int]:
    """How many tokens the parts of the last layer are computed for."""
    made = first_token_only(network(ghost_config(which, ghost_kernel=kernel)))
    seen = {}

    def observe(name: str, values: tf.Tensor) -> None:
        if name in ("layers.2.query", "layers.2.key", "layers.2.ffn.0.middle", "output"):
            seen[name.removeprefix("layers.2.").removeprefix("ffn.0.")] = values.shape[0]

    given = {name: tf.constant(value) for name, value in rows(1, padded=False, time=time).items()}
    forward.run(made.config, made.head, made.tensors, options=forward.Options(form=made.form, observe=observe), **given)
    return seen


@pytest.mark.parametrize(
    ("which", "kernel", "query", "middle"),
    [
        ("both", 3, 3, 2),
        ("both", 5, 5, 3),
        ("both", 1, 1, 1),
        ("attention alone", 3, 2, 1),
        ("ffn alone", 5, 3, 3),
        ("none in the last layer", 5, 1, 1),
    ],
)
def test_the_last_layer_is_computed_for_no_more_tokens_than_ghosts_reach(
    which: str, kernel: int, query: int, middle: int
) -> None:
    assert last_layers_tokens(which, kernel) == {"query": query, "key": TIME, "middle": middle, "output": 1}


def test_a_row_shorter_than_the_reach_is_computed_whole() -> None:
    assert last_layers_tokens("both", 5, time=4) == {"query": 4, "key": 4, "middle": 3, "output": 1}


@pytest.mark.parametrize("form", GHOST_FORMS)
def test_a_value_bias_is_moved_only_where_no_ghost_is_made_of_it(form: str) -> None:
    made = network(ghost_config("some layers have none", ghost_on=form), dtype=np.float64)
    after = move_value_bias(made)
    assert [f"layers.{layer}.value.bias" in after.tensors for layer in range(3)] == [False, True, True]
    assert error_of_tokens(after, made, rows()) < FLOAT64


@pytest.mark.parametrize("form", GHOST_FORMS)
def test_a_value_bias_moved_past_ghosts_would_change_the_answer(form: str) -> None:
    made = network(ghost_config("attention alone", ghost_on=form), dtype=np.float64)
    changes: dict[str, np.ndarray] = {}
    for layer in range(3):
        value, output = (f"layers.{layer}.{part}" for part in ("value", "attention_output"))
        bias = made.tensors[f"{value}.bias"]
        rows_of = made.tensors[f"{output}.kernel"][: len(bias)]
        changes[f"{output}.bias"] = made.tensors[f"{output}.bias"] + bias @ rows_of
        changes[f"{value}.bias"] = np.zeros_like(bias)
    assert error_of_tokens(made.change(changes), made, rows()) > 1e-3
