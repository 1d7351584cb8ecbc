import numpy as np
import pytest

import tiny_models
from quantize.calibration import CalibrationRanges, calibrate, collect


def test_ranges_hold_the_values_keras_computes():
    values = tiny_models.features(20)
    ranges = calibrate(tiny_models.float_tflite(), tiny_models.rows(values))
    logits = tiny_models.logits(values)
    # Float parity of the converter is 1e-4 at most; these are single numbers of the same computation.
    assert np.allclose(ranges.ranges["logits"], (logits.min(), logits.max()), atol=1e-4)
    assert ranges.row_count == 20


def test_every_float_activation_is_calibrated_and_no_constant():
    names = set(tiny_models.tflite_ranges().ranges)
    assert "logits" in names
    assert "features" not in names  # int8, not float
    # cast, reshape, slice, 2 bottlenecks, 2 products, 14 convolutions, 2 concatenations, product, 2 transposes, softmax,
    # matmul, reshape, logits
    assert len(names) == 30


def test_ranges_of_relu_outputs_start_at_zero():
    lows = [low for name, (low, _) in tiny_models.tflite_ranges().ranges.items() if "Relu" in name]
    assert len(lows) == 2
    assert all(low >= 0 for low in lows)


def test_ranges_are_the_extremes_of_all_rows():
    rows = [{"t": np.array([-1.0, 1.0])}, {"t": np.array([-5.0, 0.5])}, {"t": np.array([0.0, 9.0])}]
    ranges = collect(rows)
    assert ranges.ranges == {"t": (-5.0, 9.0)}
    assert ranges.row_count == 3


@pytest.mark.parametrize("order", [1, -1])
def test_a_row_that_gives_nan_is_refused_wherever_it_stands(order):
    rows = [{"t": np.array([1.0])}, {"t": np.array([np.nan])}][::order]
    with pytest.raises(ValueError, match="finite"):
        collect(rows)


def test_a_single_tensor_can_be_overridden():
    ranges = CalibrationRanges(ranges={"a": (0.0, 1.0), "b": (0.0, 2.0)}, row_count=3)
    changed = ranges.override({"a": (-30.0, 5.0)})
    assert changed.ranges == {"a": (-30.0, 5.0), "b": (0.0, 2.0)}
    assert ranges.ranges["a"] == (0.0, 1.0)


def test_overriding_a_tensor_that_was_not_calibrated_is_refused():
    with pytest.raises(ValueError, match="Received: mask"):
        CalibrationRanges(ranges={"a": (0.0, 1.0)}, row_count=1).override({"mask": (-30.0, 0.0)})


@pytest.mark.parametrize("bad", [(0.0, float("nan")), (float("-inf"), 0.0), (1.0, 0.0)])
def test_ranges_that_cannot_be_quantized_are_refused(bad):
    with pytest.raises(ValueError, match="finite and ordered"):
        CalibrationRanges(ranges={"a": bad}, row_count=1)


def test_calibration_without_rows_is_refused():
    with pytest.raises(ValueError, match="at least one row"):
        calibrate(tiny_models.float_tflite(), [])


def test_a_row_with_other_names_than_the_signature_is_refused():
    with pytest.raises(ValueError, match=r"holds features\. Received: tokens"):
        calibrate(tiny_models.float_tflite(), [{"tokens": tiny_models.features(1)}])


def test_a_row_of_another_type_is_refused():
    with pytest.raises(ValueError, match=r"must be int8\. Received: float32"):
        calibrate(tiny_models.float_tflite(), [{"features": tiny_models.features(1).astype(np.float32)}])
