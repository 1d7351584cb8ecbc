import numpy as np
import onnx
import pytest

from quantize.attention_scores import Interval, hides_padding, masked_range
from quantize.errors import RecipeError
from quantize.ranges import CalibrationRanges, collect
from quantize.tflite.calibrate import calibrate
from support import tiny_files
from support.tiny_models import CONVERTED


def test_ranges_hold_the_values_keras_computes():
    values = tiny_files.features(20)
    ranges = calibrate(tiny_files.projection_files().float_tflite, tiny_files.feature_rows(values))
    logits = tiny_files.logits(values)
    # Float parity of the converter is 1e-4 at most; these are single numbers of the same computation.
    assert np.allclose(ranges.ranges["logits"], (logits.min(), logits.max()), atol=1e-4)
    assert ranges.row_count == 20


def test_every_float_activation_is_calibrated_and_no_constant():
    names = set(tiny_files.projection_files().tflite_ranges.ranges)
    assert "logits" in names
    assert "features" not in names  # int8, not float
    # cast, reshape, slice, 2 bottlenecks, 2 products, 14 convolutions, 2 concatenations, product, 2 transposes,
    # softmax, matmul, reshape, logits
    assert len(names) == 30


def test_ranges_of_relu_outputs_start_at_zero():
    lows = [low for name, (low, _) in tiny_files.projection_files().tflite_ranges.ranges.items() if "Relu" in name]
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


@pytest.mark.parametrize("bad", [(0.0, float("nan")), (float("-inf"), 0.0), (1.0, 0.0), (0.0, 1e31)])
def test_ranges_that_cannot_be_quantized_are_refused(bad):
    with pytest.raises(RecipeError, match=r"finite values .* in 'a'"):
        CalibrationRanges(ranges={"a": bad}, row_count=1)


def test_calibration_without_rows_is_refused():
    with pytest.raises(ValueError, match="at least one row"):
        calibrate(tiny_files.projection_files().float_tflite, [])


def test_a_row_with_other_names_than_the_signature_is_refused():
    with pytest.raises(ValueError, match=r"holds features\. Received: tokens"):
        calibrate(tiny_files.projection_files().float_tflite, [{"tokens": tiny_files.features(1)}])


def test_a_row_of_another_type_is_refused():
    with pytest.raises(ValueError, match=r"must be int8\. Received: float32"):
        calibrate(tiny_files.projection_files().float_tflite, [{"features": tiny_files.features(1).astype(np.float32)}])


def test_the_smallest_peak_of_what_a_softmax_reads_is_kept():
    ranges = tiny_files.files().tflite_ranges
    assert len(ranges.row_peaks) == CONVERTED["mobilebert"].config.num_layers
    for name, peak in ranges.row_peaks.items():
        low, high = ranges.ranges[name]
        # Padding is at the mask's value, no row's largest score is.
        assert low < tiny_files.MASK / 2 < peak < high


def test_the_delegate_calibrates_to_the_same_ranges():
    """XNNPACK leaves tensors inside of its stretches unset: they must be outputs, or the ranges are of old memory."""
    content, values = tiny_files.files().float_tflite, tiny_files.single_rows(tiny_files.inputs(20))
    plain, fast = (calibrate(content, values, delegate=delegate) for delegate in (False, True))
    assert set(plain.ranges) == set(fast.ranges)
    for name, (low, high) in plain.ranges.items():
        # The same sums in another order.
        assert np.allclose(fast.ranges[name], (low, high), atol=1e-5 * max(1.0, high - low)), name
    assert fast.row_peaks == pytest.approx(plain.row_peaks, abs=1e-4)


def test_large_files_are_calibrated_with_the_delegate(monkeypatch):
    from quantize.tflite import calibrate as calibration

    asked = []
    run = calibration._run
    monkeypatch.setattr(calibration, "_run", lambda *a, delegate: asked.append(delegate) or run(*a, delegate=delegate))
    calibrate(tiny_files.files().float_tflite, tiny_files.single_rows(tiny_files.inputs(1)))
    monkeypatch.setattr(calibration, "DELEGATE_BYTES", 1000)
    calibrate(tiny_files.files().float_tflite, tiny_files.single_rows(tiny_files.inputs(1)))
    assert asked == [False, True]


def test_a_peak_outside_of_the_range_is_refused():
    with pytest.raises(ValueError, match="row peak"):
        CalibrationRanges(ranges={"a": (0.0, 1.0)}, row_count=1, row_peaks={"a": 2.0})


def test_an_overridden_tensor_loses_its_peak():
    ranges = CalibrationRanges(ranges={"a": (0.0, 1.0)}, row_count=1, row_peaks={"a": 0.5})
    assert ranges.override({"a": (2.0, 3.0)}).row_peaks == {}


def test_onnx_calibration_refuses_a_model_that_gives_nan():
    """The runtime's own minimum and maximum lose a NaN."""
    from quantize.onnx.calibrate import calibrate as calibrate_onnx

    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    graph = helper.make_graph(
        [helper.make_node("Sqrt", ["x"], ["y"]), helper.make_node("Relu", ["y"], ["z"])],
        "g",
        [helper.make_tensor_value_info("x", kind, [1, 70])],
        [helper.make_tensor_value_info("z", kind, [1, 70])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    good = np.linspace(0, 1, 70, dtype=np.float32)[None]
    assert calibrate_onnx(model, [{"x": good}]).ranges["y"] == (0.0, 1.0)
    bad = good.copy()
    bad[0, 33] = -1.0
    with pytest.raises(ValueError, match="finite"):
        calibrate_onnx(model, [{"x": bad}])


@pytest.mark.parametrize(
    ("operation", "first", "expected"),
    [("add", True, (2.0, 3.0)), ("mul", False, (0.0, 2.0)), ("sub", True, (1.0, 2.0)), ("sub", False, (-2.0, -1.0))],
)
def test_what_comes_from_a_mask_follows_from_its_arithmetic(operation, first, expected):
    found = Interval().after(operation, 2.0, constant_first=first)
    assert (found.low, found.high) == expected


def test_scores_that_saw_no_padding_keep_all_of_their_range():
    margin = 6 + np.log(8)
    assert masked_range((-70.0, 5.0), -1.0, 8, -60.0) == pytest.approx((-1.0 - margin, 5.0))
    assert masked_range((-9.0, 5.0), -1.0, 8, -60.0) == pytest.approx((-9.0 - margin, 5.0))
    assert hides_padding(-60.0, (-12.0, 5.0))
    assert not hides_padding(-6.0, (-12.0, 5.0))
