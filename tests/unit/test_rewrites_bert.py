"""The exact rewrites of BERT: each alone, every pair and all together, on three and on twelve layers.

test_rewrites.py proves them on MobileBERT and its variants. BERT is another case for each: LayerNorm stays, query, key
and value all read the layer's input, and the pooler is between the last layer and the classifier.
"""

import dataclasses
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from models_tf.bert.config import BERT_BASE, CONFIG
from models_tf.encoder.config import EncoderConfig
from models_tf.encoder.network import Network
from models_tf.encoder.rewrites import apply
from models_tf.encoder.rewrites.attention import drop_key_bias, move_value_bias, scale_query
from models_tf.encoder.rewrites.embedding import bake_segment, cut_positions
from models_tf.encoder.rewrites.fold_norms import fold_norms
from models_tf.encoder.rewrites.layers import drop_unread, first_token_only, fuse_input
from support.network_runs import answers, relative_error, rows
from support.tiny_models import HEADS, TIME, WORD_COUNT, network

# A rewrite rounds each weight once more, 6e-8 of it; twelve layers of six matrices add that up to a few 1e-7, and
# LayerNorm divides by the deviation, which is near 1 here.
FLOAT32 = 1e-5
# The same in float64: here nothing but a wrong formula can reach this.
FLOAT64 = 1e-11
SMALL = {
    "vocab_size": WORD_COUNT,
    "hidden_size": 24,
    "num_hidden_layers": 3,
    "num_attention_heads": 3,
    "intermediate_size": 40,
    "max_position_embeddings": 20,
}
# BERT-base with an eighth of its width: twelve layers, twelve heads, a middle of four times the width.
PROPORTIONS = {**BERT_BASE, "vocab_size": WORD_COUNT, "hidden_size": 96, "intermediate_size": 384}
# In an order in which they can be made.
REWRITES: dict[str, Callable[[Network], Network]] = {
    "cut_positions": lambda source: cut_positions(source, TIME),
    "bake_segment": bake_segment,
    "drop_unread": drop_unread,
    "first_token_only": first_token_only,
    "scale_query": scale_query,
    "drop_key_bias": drop_key_bias,
    "move_value_bias": move_value_bias,
    "fuse_input": fuse_input,
}
# What each one must leave behind, so that a rewrite that does nothing does not pass.
CHANGED: dict[str, Callable[[Network], bool]] = {
    "cut_positions": lambda after: len(after.tensors["position_embedding"]) == TIME,
    "bake_segment": lambda after: not after.takes_segments,
    "first_token_only": lambda after: after.form.first_token_only,
    "scale_query": lambda after: after.form.scaled_query,
    "drop_key_bias": lambda after: not [name for name in after.tensors if name.endswith(".key.bias")],
    "move_value_bias": lambda after: not [name for name in after.tensors if name.endswith(".value.bias")],
    "fuse_input": lambda after: not [name for name in after.tensors if name.endswith((".key.kernel", ".value.kernel"))],
}


def bert(document: dict[str, Any], **changes: Any) -> EncoderConfig:
    return dataclasses.replace(CONFIG.from_document({"model_type": "bert", **document}), **changes)


def in_float64(source: Network) -> Network:
    return dataclasses.replace(source, tensors={name: v.astype(np.float64) for name, v in source.tensors.items()})


def check(source: Network, rewrite: Callable[[Network], Network], *, one_segment: bool) -> Network:
    """In float32 and in float64, padded and unpadded; returns the rewritten network."""
    for before, tolerance in ((in_float64(source), FLOAT64), (source, FLOAT32)):
        after = rewrite(before)
        assert {value.dtype for value in after.tensors.values()} == {value.dtype for value in before.tensors.values()}
        for padded in (False, True):
            given = rows(padded=padded)
            if one_segment:
                given["segments"] = np.zeros_like(given["segments"])
            assert relative_error(answers(after, given), answers(before, given)) < tolerance
    return after


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("rewrite", REWRITES)
def test_a_rewrite_alone_computes_the_same(rewrite: str, head: str) -> None:
    source = network(bert(SMALL), HEADS[head])
    after = check(source, REWRITES[rewrite], one_segment=rewrite == "bake_segment")
    for_all = rewrite != "first_token_only" or head in ("classification", "regression")
    if rewrite in CHANGED and for_all:
        assert CHANGED[rewrite](after)
    else:
        assert after is source  # nothing of BERT is unread, and other heads read every token


@pytest.mark.parametrize(("first", "second"), list(itertools.combinations(REWRITES, 2)))
def test_two_rewrites_in_order_compute_the_same(first: str, second: str) -> None:
    source = network(bert(SMALL), HEADS["classification"])
    both = check(
        source, lambda it: REWRITES[second](REWRITES[first](it)), one_segment="bake_segment" in (first, second)
    )
    assert all(CHANGED[name](both) for name in (first, second) if name in CHANGED)


@pytest.mark.parametrize("rewrite", [*REWRITES, "all"])
def test_a_rewrite_of_twelve_layers_in_the_proportions_of_bert_base_computes_the_same(rewrite: str) -> None:
    config = bert(PROPORTIONS)
    assert (config.num_layers, config.num_heads, config.intermediate_size // config.hidden_size) == (12, 12, 4)

    def everything(source: Network) -> Network:
        return apply(source, fold="full", max_seq_len=TIME, one_segment=True)[0]

    found = check(
        network(config, HEADS["classification"]),
        everything if rewrite == "all" else REWRITES[rewrite],
        one_segment=rewrite in ("bake_segment", "all"),
    )
    assert all(changed(found) for name, changed in CHANGED.items() if rewrite in (name, "all"))


@pytest.mark.parametrize("one_segment", [False, True])
@pytest.mark.parametrize(
    ("activation", "head"),
    [*itertools.product(["gelu"], HEADS), *itertools.product(["gelu_tanh", "relu", "silu"], ["classification"])],
)
def test_all_rewrites_together_compute_the_same(activation: str, head: str, one_segment: bool) -> None:
    source = network(bert(SMALL, activation=activation, norm_epsilon=1e-3, outer_norm_epsilon=1e-3), HEADS[head])

    def rewrite(before: Network) -> Network:
        return apply(before, fold="full", max_seq_len=TIME, one_segment=one_segment)[0]

    check(source, rewrite, one_segment=one_segment)


@pytest.mark.parametrize("fold", ["full", "safe"])
def test_an_export_names_the_rewrites_of_bert_and_leaves_its_norms(fold: str) -> None:
    source = network(bert(SMALL), HEADS["classification"])
    after, names = apply(source, fold=fold, max_seq_len=TIME, one_segment=True, rows=rows())
    assert names == tuple(name for name in REWRITES if name != "drop_unread")
    # A norm's output feeds the skip path as well, so no dense layer can take its gamma over.
    norms = [name for name in source.tensors if name.endswith((".gamma", ".beta"))]
    assert len(norms) == 2 * (1 + 2 * 3)
    for name in norms:
        np.testing.assert_array_equal(after.tensors[name], source.tensors[name])
    assert fold_norms(source) == (source, ())
    assert apply(after, fold=fold, max_seq_len=TIME, one_segment=True) == (after, ())


def test_a_head_on_every_token_keeps_all_tokens_of_the_last_layer() -> None:
    for head in ("base", "token-classification", "question-answering"):
        source = network(bert(SMALL), HEADS[head])
        assert "first_token_only" not in apply(source, fold="full", max_seq_len=TIME, one_segment=False)[1]


def test_query_key_and_value_become_one_matrix_of_three_widths() -> None:
    after, _ = apply(network(bert(SMALL), HEADS["classification"]), fold="full", max_seq_len=TIME, one_segment=True)
    for layer in (0, 1):
        assert after.tensors[f"layers.{layer}.fused_input.kernel"].shape == (24, 72)
        bias = after.tensors[f"layers.{layer}.fused_input.bias"]
        assert np.abs(bias[:24]).min() > 0  # the query's; those of key and value are gone
        np.testing.assert_array_equal(bias[24:], 0)
    assert after.tensors["layers.2.fused_input.kernel"].shape == (24, 48)  # the query is asked for [CLS] alone
    assert after.tensors["layers.2.query.kernel"].shape == (24, 24)


def test_a_bias_of_the_values_that_is_not_moved_is_missed() -> None:
    """Without its half in the output layer the answer changes: the proof above can fail."""
    source = network(bert(SMALL), HEADS["classification"])
    half = source.change({}, remove=[name for name in source.tensors if name.endswith(".value.bias")])
    assert relative_error(answers(half, rows()), answers(source, rows())) > 100 * FLOAT32


def test_the_other_segment_can_be_the_constant_one() -> None:
    source, given = network(bert(SMALL), HEADS["classification"]), rows()
    given["segments"] = np.ones_like(given["segments"])
    assert relative_error(answers(bake_segment(source, 1), given), answers(source, given)) < FLOAT32
    assert relative_error(answers(bake_segment(source, 0), given), answers(source, given)) > 100 * FLOAT32
