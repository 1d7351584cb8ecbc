"""DeBERTa's attention: rows of distances as PyTorch has them, scores by hand, and rewrites that change no answer."""

import dataclasses
import itertools

import numpy as np
import pytest
import tensorflow as tf

from models_tf.encoder import forward
from models_tf.encoder.disentangled import shifted
from models_tf.encoder.distances import distances, rows_of
from models_tf.encoder.rewrites import apply
from models_tf.encoder.rewrites.layers import fuse_input
from support.network_runs import rows
from support.tiny_models import HEADS, TIME, config, network

SETTINGS = {"num_heads": 4, "intermediate_size": 32, "relative_span": 20, "has_positions": False, "num_segments": 0}
KINDS = {"both": ("c2p", "p2c"), "c2p": ("c2p",), "p2c": ("p2c",)}


def made(head: str = "classification", **changes):
    both = {"position_attention": KINDS["both"], "position_buckets": 6, "norms_relative": True}
    return network(config("bert", **{**SETTINGS, **both, **changes}), HEADS[head])


def outputs(of, given, shape=None):
    table = {name: tf.constant(value) for name, value in of.tensors.items()}
    names = ("ids", "mask", "segments")

    def run(*inputs):
        options = forward.Options(form=of.form)
        named = dict(zip(names, inputs, strict=True))
        return next(iter(forward.run(of.config, of.head, table, options=options, **named).outputs.values()))

    if shape is not None:
        run = tf.function(run, autograph=False, input_signature=[tf.TensorSpec(shape, tf.int32)] * 3)
    return run(*(tf.constant(given[name]) for name in names)).numpy()


@pytest.mark.parametrize(("buckets", "span"), [(256, 512), (4, 16), (5, 9), (32, 128), (8, 24), (320, 512)])
def test_rows_of_distances_are_those_of_pytorch(buckets, span):
    torch = pytest.importorskip("torch")
    theirs = pytest.importorskip("transformers.models.deberta_v2.modeling_deberta_v2").make_log_bucket_position
    apart = np.arange(-1000, 1001)
    expected = theirs(torch.from_numpy(apart), buckets, span).long().numpy()
    settings = config("bert", **{**SETTINGS, "position_attention": ("c2p",), "position_buckets": buckets,
                                 "relative_span": span})  # fmt: skip
    np.testing.assert_array_equal(rows_of(settings, apart), np.clip(expected + buckets, 0, 2 * buckets - 1))


@pytest.mark.parametrize(("rows_", "columns", "time"), [(4, 4, 4), (1, 4, 4), (4, 1, 4), (1, 1, 1)])
def test_a_row_moves_by_its_place(rows_, columns, time):
    given = np.arange(2 * rows_ * 2 * time, dtype=np.float32).reshape(1, 2, rows_, 2 * time)
    found = shifted(tf.constant(given), rows_, columns, time).numpy()
    for head, i, j in itertools.product(range(2), range(rows_), range(columns)):
        assert found[0, head, i, j] == given[0, head, i, j - i + time - 1]
    assert distances("key", time)[0 - 0 + time - 1] == distances("query", time)[time - 1] == 0


@pytest.mark.parametrize("head", ["classification", "token-classification"])
@pytest.mark.parametrize("shape", [(1, None), (None, None), (2, TIME), (None, TIME)], ids=str)
def test_every_way_of_tracing_gives_the_same_answer(shape, head):
    of = made(head)
    given = {name: value[: shape[0]] for name, value in rows(padded=True).items()}
    np.testing.assert_allclose(outputs(of, given, shape), outputs(of, given), atol=1e-5)


def test_padding_changes_no_answer():
    of, given = made(), rows(padded=True)
    whole = outputs(of, given)
    for row, length in enumerate(given["mask"].sum(1)):
        alone = {name: value[row : row + 1, :length] for name, value in given.items()}
        np.testing.assert_allclose(outputs(of, alone)[0], whole[row], atol=1e-5)


VARIANTS = [
    {"position_attention": KINDS[kinds], "shares_position_kernels": shares, "norms_relative": norms}
    for kinds, shares, norms in itertools.product(KINDS, (True, False), (True, False))
]
VARIANTS += [{"position_buckets": 0}, {"position_buckets": 0, "relative_span": 3}, {"num_layers": 12}]
VARIANTS += [{"has_positions": True, "num_segments": 2}, {"num_segments": 3}, {"shared_layers": (0, 1, 0)}]
VARIANTS += [{"embedding_size": 8, "sum_before_projection": True, "has_positions": both} for both in (True, False)]


@pytest.mark.slow
@pytest.mark.parametrize("fold", ["full", "safe", "off"])
@pytest.mark.parametrize("head", ["classification", "token-classification"])
@pytest.mark.parametrize("changes", VARIANTS, ids=str)
def test_rewrites_change_no_answer(changes, head, fold):
    of, given = made(head, **changes), rows(padded=True)
    given["segments"] *= 0
    rewritten, names = apply(of, fold=fold, max_seq_len=TIME, one_segment=True)
    expected = outputs(of, given)
    found = outputs(rewritten, given)
    real = given["mask"] == 1 if head == "token-classification" else slice(None)
    assert np.abs(found - expected)[real].max() < 1e-5 * np.abs(expected).max()
    if fold != "off":
        assert {"fold_distances", "scale_query", "fuse_input"} <= set(names)
        assert ("drop_key_bias" in names) == ("p2c" not in of.config.position_attention)
        assert not [name for name in rewritten.tensors if name.startswith("relative_") or ".position_" in name]


def test_a_rewritten_network_takes_shorter_texts():
    of, given = made(), {name: value[:, :7] for name, value in rows(padded=False).items()}
    rewritten, _ = apply(of, fold="full", max_seq_len=TIME, one_segment=True)
    np.testing.assert_allclose(outputs(rewritten, given), outputs(of, given), atol=1e-5)


def test_kernels_that_the_table_reads_are_not_fused():
    of = made()
    assert fuse_input(of) is of


@pytest.mark.parametrize(
    "changes",
    [
        {"position_attention": ("p2p",)},
        {"position_attention": ("p2c", "c2p")},
        {"kept_heads": (4, 2, 3)},
        {"retention": (9, 5, 1)},
        {"ghost_heads": (1, 1, 1)},
        {"relative_positions": True, "has_positions": True},
    ],
    ids=str,
)
def test_what_it_cannot_have_is_refused(changes):
    with pytest.raises(ValueError, match="`position_attention`"):
        made(**changes)


def test_a_config_is_written_as_a_whole():
    own = made().config
    assert dataclasses.asdict(type(own)(**own.to_dict())) == dataclasses.asdict(own)
    assert not own.any_length
