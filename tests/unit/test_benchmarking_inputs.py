"""Made-up inputs: legal for the graph, the same every time."""

import numpy as np
import pytest

from exporters.benchmarking import inputs
from exporters.formats.model_file import TensorInfo
from models_tf.errors import InputError


def info(name: str, dtype: str = "int32", shape=(1, 16)) -> TensorInfo:
    return TensorInfo(name=name, dtype=dtype, shape=shape)


def made(*infos: TensorInfo, requested=None, **options):
    return inputs.make(infos, requested=requested or {}, text="a text", seed=options.pop("seed", 0), **options)


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_ids_are_small_and_positive(dtype):
    ids = made(info("input_ids", dtype, (4, 512)))["input_ids"]
    assert ids.dtype == dtype
    assert (ids.min(), ids.max()) == (1, inputs.HIGHEST_ID)


def test_masks_keep_everything_segments_are_the_first_and_positions_count():
    feed = made(
        info("attention_mask"), info("mask", "float32"), info("token_type_ids"), info("segments"), info("position_ids")
    )
    assert (feed["attention_mask"] == 1).all()
    assert (feed["mask"] == 1).all()
    assert feed["mask"].dtype == np.float32
    assert (feed["token_type_ids"] == 0).all()
    assert (feed["segments"] == 0).all()
    assert feed["position_ids"].tolist() == [list(range(16))]


def test_eight_bits_use_their_whole_range_and_floats_are_normal():
    feed = made(
        info("features", "int8", (1, 64, 512)), info("pixels", "uint8", (1, 64, 512)), info("x", "float32", (64, 512))
    )
    assert (feed["features"].min(), feed["features"].max()) == (-128, 127)
    assert (feed["pixels"].min(), feed["pixels"].max()) == (0, 255)
    assert abs(feed["x"].mean()) < 0.02
    assert abs(feed["x"].std() - 1) < 0.02


def test_the_same_seed_gives_the_same_inputs_and_another_seed_others():
    first, again, other = (made(info("ids"), info("x", "float32"), seed=seed) for seed in (3, 3, 4))
    for name in first:
        np.testing.assert_array_equal(first[name], again[name])
        assert not np.array_equal(first[name], other[name])


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        (("batch", "sequence"), (1, 128)),
        (("?", "?"), (1, 128)),
        (("N", 32), (1, 32)),
        ((0, 0, 7), (1, 128, 7)),
        (("sequence_length", "batch_size"), (1, 1)),
        ((), ()),
        ((3, 5), (3, 5)),
    ],
)
def test_an_open_batch_is_1_and_any_other_open_size_128(shape, expected):
    assert inputs.size_of(info("x", shape=shape), {}) == expected


def test_a_requested_shape_wins():
    assert made(info("ids", shape=("b", "s")), requested={"ids": (2, 7)})["ids"].shape == (2, 7)


@pytest.mark.parametrize(
    ("given", "asked"),
    [(info("text", "uint8", (1, 96)), (1,)), (info("text", "string", (1,)), (1, 8)), (info("x", shape=("b", 4)), (1,))],
)
def test_a_requested_shape_of_another_rank_is_refused(given, asked):
    with pytest.raises(InputError) as caught:
        made(given, requested={given.name: asked})
    shown = [f"{given.name}={','.join(map(str, shape))}" for shape in (given.shape, asked)]
    assert str(caught.value) == (
        f"--shape must give {given.name} as many sizes as the file, {shown[0]}. Received: {shown[1]}."
    )
    assert made(info("ids", shape=()), requested={"ids": (2, 7)})["ids"].shape == (2, 7)


def test_texts_are_one_for_each_row():
    feed = made(info("text", "string", (2,)), info("pairs", "string", ("b", 2)))
    assert feed["text"] == [b"a text", b"a text"]
    assert feed["pairs"].tolist() == [["a text", "a text"]]


def test_the_smallest_ids_are_ones_and_leave_the_rest():
    feed = made(info("ids"), info("mask"), info("segments"), info("x", "float32"), smallest=True)
    assert (feed["ids"] == 1).all()
    assert (feed["segments"] == 0).all()
    assert feed["x"].std() > 0.1


@pytest.mark.parametrize("dtype", ["complex64", "seq(tensor(float))", "bfloat16"])
def test_a_type_that_cannot_be_made_up_is_named(dtype):
    with pytest.raises(InputError, match=r"Inputs must be numbers or texts\. Received: x of the type"):
        made(info("x", dtype))


def test_inputs_beyond_a_gigabyte_are_refused_before_they_are_made():
    with pytest.raises(InputError, match="Inputs must fit in 1 GB"):
        made(info("ids", shape=(1, 16, 16)), requested={"ids": (1000, 1000, 1000)})
