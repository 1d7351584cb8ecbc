"""The table of scales that kernels take: both sides of each limit, in the runtime itself."""

import numpy as np
import onnx
import pytest

from quantize.errors import RecipeError
from quantize.onnx import scale_limits as onnx_limits
from quantize.tflite.scale_limits import LIMITS, check_scales, problems, too_fine
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
