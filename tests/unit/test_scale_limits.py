"""The table of scales that kernels take: both sides of each limit, in the runtime itself."""

import numpy as np
import onnx
import pytest

from quantize.errors import RecipeError
from quantize.int4 import quantize_blocks, quantize_rows
from quantize.onnx import scale_limits as onnx_limits
from quantize.tflite.scale_limits import LIMITS, check_scales, problems, too_fine
from quantize.tflite.weights import symmetric_int8
from support import one_operator

# Operator, scales of the two inputs, what the result's must exceed.
KNOWN = [
    ("ADD", (1.0, 0.5), 2.0**-19),
    ("ADD", (0.25, 8.0), 2.0**-16),
    ("SQUARED_DIFFERENCE", (1.0, 0.5), 2.0**-12),
    ("SQUARED_DIFFERENCE", (0.25, 8.0), 2.0**-6),
    ("FULLY_CONNECTED", (0.5, 4.0), 2.0**-7),
]


@pytest.mark.parametrize(("name", "inputs", "least"), KNOWN)
def test_the_table_knows_the_smallest_scale_of_a_result(name, inputs, least):
    assert LIMITS[name].above(inputs) == least
    assert too_fine(one_operator.model(name, (*inputs, least))) == {"t2": least}
    assert not too_fine(one_operator.model(name, (*inputs, 1.01 * least)))


def test_runtimes_take_what_the_table_allows_and_end_the_process_or_refuse_the_file_below(tmp_path):
    """F1: LiteRT aborts in the Prepare of an int8 ADD, here with files of one operator."""
    inside = [one_operator.model(name, (*inputs, 1.01 * least)) for name, inputs, least in KNOWN]
    outside = [one_operator.model(name, (*inputs, 0.99 * least)) for name, inputs, least in KNOWN]
    found = one_operator.codes(inside + outside, tmp_path)
    assert found[: len(KNOWN)] == [0] * len(KNOWN)
    assert found[len(KNOWN) :] == [1 if name == "FULLY_CONNECTED" else -6 for name, _, _ in KNOWN]
    assert not [line for made in inside for line in problems(made)]
    assert all(list(problems(made)) for made in outside)


def test_a_scale_that_leaves_float32_in_the_kernel_is_refused(tmp_path):
    large = [one_operator.model(name, (1.0, 1.0, 2.0**120)) for name in ("ADD", "SUB", "SQUARED_DIFFERENCE")]
    assert one_operator.codes(large, tmp_path) == [-6, -6, -6]
    for made in large:
        with pytest.raises(RecipeError, match=r"Tensor 't2' must have a scale below .* Received: 1\.32923e\+36"):
            check_scales(made)


@pytest.mark.parametrize("scale", [0.0, 1e-40, np.inf, np.nan])
def test_a_scale_that_is_no_normal_number_is_refused_by_name(scale):
    with pytest.raises(RecipeError, match="tensor 't1' are too extreme for 8 bits"):
        check_scales(one_operator.model("ADD", (1.0, scale, 1.0)))
    nodes = [onnx.helper.make_node("QuantizeLinear", ["x", "scale"], ["y"])]
    kinds = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [2]) for name in ("x", "y")]
    scales = onnx.numpy_helper.from_array(np.array(scale, np.float32), "scale")
    made = onnx.helper.make_model(onnx.helper.make_graph(nodes, "g", kinds[:1], kinds[1:], [scales]))
    with pytest.raises(RecipeError, match="tensor 'x' are too extreme for 8 bits"):
        onnx_limits.check_scales(made)


def weights(size: float) -> np.ndarray:
    return (np.random.default_rng(5).normal(0, 1, (4, 64)) * size).astype(np.float32)


@pytest.mark.parametrize("quantize", [quantize_rows, quantize_blocks])
def test_int4_rounds_weights_of_1e30_as_it_rounds_weights_of_1(quantize):
    """F2: the squares of their errors are infinite, and every scale seemed equally good."""
    usual, extreme = quantize(weights(1)), quantize(weights(2.0**100))
    np.testing.assert_array_equal(extreme[0], usual[0])
    # The scales are products with other roundings: some units in the last place of float32.
    np.testing.assert_allclose(extreme[1], usual[1] * np.float64(2.0**100), rtol=1e-6)


@pytest.mark.parametrize("size", [0.0, 1e-44, 1e-30, 1e30])
@pytest.mark.parametrize("axis", [None, 0])
def test_int8_dynamic_gives_weights_of_any_size_a_scale_that_runtimes_take(size, axis):
    """F2: weights below the smallest normal number had a scale of zero, and a division by it."""
    with np.errstate(divide="raise", invalid="raise", over="raise"):
        integers, scales = symmetric_int8(weights(size), axis)
    assert (scales >= np.finfo(np.float32).tiny).all()
    steps = np.abs(integers * scales.reshape((-1, 1)).astype(np.float64) - weights(size)) / scales.reshape((-1, 1))
    assert steps.max() <= 0.5 + 1e-5  # half a step, and a rounding of float32
