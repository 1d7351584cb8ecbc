"""Static int8 .tflite files of encoders with layer norms and outlier channels: numbers, structure, audit, runtimes."""

import functools
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

from exporters.formats.base import get
from models_tf.encoder.graph import NetworkGraph
from quantize.ranges import CalibrationRanges
from quantize.recipe import RECIPES
from quantize.tflite import static as tflite_static
from quantize.tflite.calibrate import calibrate
from quantize.tflite.flatbuffer import read_model, write_model
from quantize.tflite.graph import Model, looks_up_positions, op_name, schema, tensor_name
from quantize.tflite.passes.level_dense import level_dense
from quantize.tflite.regions import float_region
from quantize.tflite.static import quantize_static
from quantize.tflite.weights import to_int8_dynamic
from support import tiny_files
from support.tiny_models import CONVERTED

ROW = "outliers"  # of the table of tiny models: outlier channels, as trained encoders have them
CONFIG = CONVERTED[ROW].config
VALUES = tiny_files.inputs(40, seed=9)
FLOAT32, INT8 = schema.TensorType.FLOAT32, schema.TensorType.INT8


def graph(head: str) -> NetworkGraph:
    return tiny_files.graph(ROW, head)


def float_tflite(head: str = "classification") -> bytes:
    return tiny_files.files(ROW, head).float_tflite


def ranges(head: str = "classification") -> CalibrationRanges:
    return tiny_files.files(ROW, head).tflite_ranges


@functools.cache
def int8(head: str = "classification") -> bytes:
    return quantize_static(float_tflite(head), ranges(head))


def error(content: bytes, head: str = "classification", resolver: str = "AUTO") -> float:
    """Root mean square over that of the float answers around their mean, the largest of all outputs."""
    found, expected = tiny_files.run_tflite(content, VALUES, resolver=resolver), graph(head).predict(VALUES)
    assert set(found) == set(expected)
    return max(
        float(np.std(of_tokens(found[name]) - of_tokens(values)) / np.std(of_tokens(values)))
        for name, values in expected.items()
    )


def of_tokens(values: np.ndarray) -> np.ndarray:
    """Answers for padding are nobody's: those for tokens, or those for the whole row."""
    mask = VALUES["mask"]
    return values[mask > 0] if values.shape[:2] == mask.shape else values


# Error allowed. 8 bits round each of about ten dense layers in a row by 1/400 of their values: 0.008 in all, and three
# times that is allowed. Start and end logits differ between tokens by a tenth of their size: there it counts tenfold.
MOST = {"classification": 0.024, "question-answering": 0.24, "base": 0.024}


@pytest.mark.slow
@pytest.mark.parametrize("head", tiny_files.HEADS)
@pytest.mark.parametrize("resolver", ["AUTO", "BUILTIN_REF"])
def test_int8_follows_float_in_spite_of_outlier_channels(head, resolver):
    assert error(int8(head), head, resolver) <= MOST[head]


@pytest.mark.parametrize("head", tiny_files.HEADS)
def test_the_plain_way_loses_several_times_as_much(head, monkeypatch):
    good = error(int8(head), head)
    monkeypatch.setattr(tflite_static, "level_dense", lambda _, found: found)
    # Norms in float are not enough: the layers around them need channels that are alike.
    assert error(quantize_static(float_tflite(head), ranges(head)), head) >= 1.5 * good
    monkeypatch.setattr(tflite_static, "float_region", lambda *_: set())
    assert error(quantize_static(float_tflite(head), ranges(head)), head) >= 2.5 * good


@pytest.mark.parametrize("head", tiny_files.HEADS)
def test_leveled_dense_layers_compute_the_same_in_float(head):
    model = read_model(float_tflite(head))
    before = len(model.subgraphs[0].operators)
    leveled = level_dense(model, ranges(head))
    assert len(model.subgraphs[0].operators) > before
    assert len(leveled.ranges) > len(ranges(head).ranges)
    found = tiny_files.run_tflite(write_model(model), VALUES)
    for name, values in graph(head).predict(VALUES).items():
        # The same sums with other factors: float32 rounding, as between two converters.
        assert np.abs(found[name] - values).max() <= 1e-4 * np.abs(values).max()


def test_the_ranges_of_leveled_tensors_are_those_that_calibration_finds():
    model = read_model(float_tflite())
    leveled = level_dense(model, ranges())
    rows = tiny_files.calibration()
    measured = calibrate(write_model(model), rows)
    added = set(leveled.ranges) - set(ranges().ranges)
    assert added
    for name in added:
        assert np.allclose(leveled.ranges[name], measured.ranges[name], rtol=1e-4, atol=1e-4), name


def test_channels_of_a_leveled_tensor_are_alike():
    model = read_model(float_tflite())
    level_dense(model, ranges())
    rows = tiny_files.calibration()
    measured = calibrate(write_model(model), rows)

    def unevenness(found: CalibrationRanges, names: Any) -> float:
        widths = [np.maximum(found.channels[name][1], 0) - np.minimum(found.channels[name][0], 0) for name in names]
        return max(float(width.max() / np.median(width)) for width in widths)

    leveled = [name for name in measured.channels if name.startswith("level:")]
    assert unevenness(ranges(), ranges().channels) > 10
    assert unevenness(measured, leveled) < 5


def test_calibration_finds_the_channels_of_what_dense_layers_read_and_make():
    content = float_tflite()
    model = read_model(content)
    dense = [o for o in model.subgraphs[0].operators if op_name(model, o) == "FULLY_CONNECTED"]
    parts = [o for o in model.subgraphs[0].operators if op_name(model, o) == "SPLIT"]
    indices = [i for o in dense for i in (o.inputs[0], o.outputs[0])] + [i for o in parts for i in o.outputs]
    assert parts
    names = {tensor_name(model.subgraphs[0].tensors[int(i)]) for i in indices}
    found = ranges()
    assert set(found.channels) == names
    for name, values in found.channels.items():
        assert (values[0].min(), values[1].max()) == found.ranges[name]
    logits = graph("classification").predict(tiny_files.inputs(tiny_files.CALIBRATION_ROWS))["logits"]
    assert np.allclose(found.channels["logits"], (logits.min(0), logits.max(0)), atol=1e-4)


def test_a_range_that_is_overridden_has_no_channels_and_odd_channels_are_refused():
    changed = ranges().override({"logits": (-1.0, 1.0)})
    assert set(ranges().channels) - set(changed.channels) == {"logits"}
    for odd in (np.zeros(3), np.zeros((3, 2)), np.array([[1.0], [0.0]]), np.array([[0.0], [np.inf]])):
        with pytest.raises(ValueError, match="channels of tensor 'a' must have finite, ordered ranges"):
            CalibrationRanges(ranges={"a": (0.0, 1.0)}, row_count=1, channels={"a": odd})


def operators(model: Model) -> list[tuple[str, Any]]:
    return [(op_name(model, operator), operator) for operator in model.subgraphs[0].operators]


@pytest.mark.parametrize("head", tiny_files.HEADS)
def test_products_and_tables_are_int8_and_only_norms_gelus_and_softmaxes_are_float(head):
    model = read_model(int8(head))
    subgraph, tensors = model.subgraphs[0], model.subgraphs[0].tensors
    norms = 2 * CONFIG.num_layers + 1
    names = [name for name, _ in operators(model)]
    assert names.count("RSQRT") == norms
    assert names.count("GELU") == CONFIG.num_layers
    positions = [o for _, o in operators(model) if looks_up_positions(model, subgraph, o)]
    assert len(positions) == 1  # a small table, added in float in front of a norm
    for name, operator in operators(model):
        kinds = {tensors[int(i)].type for i in (*operator.inputs, *operator.outputs) if i >= 0}
        if operator in positions:
            continue
        if name in ("FULLY_CONNECTED", "BATCH_MATMUL", "GATHER", "TRANSPOSE"):
            assert FLOAT32 not in kinds, name
        if name in ("RSQRT", "GELU", "SQUARED_DIFFERENCE", "SOFTMAX"):
            assert kinds == {FLOAT32}, name


@pytest.mark.parametrize("head", tiny_files.HEADS)
def test_the_float_region_of_an_encoder_without_layer_norms_is_its_masked_softmaxes(head):
    model = read_model(tiny_files.files(head=head).float_tflite)
    operators = model.subgraphs[0].operators
    found = Counter(op_name(model, operators[place]) for place in float_region(model, model.subgraphs[0]))
    layers = CONVERTED["mobilebert"].config.num_layers
    # The mask is one row of scores, made once; its RESHAPE leaves the length open.
    assert found == {"SOFTMAX": layers, "ADD": layers, "SUB": 1, "MUL": 1, "CAST": 1, "RESHAPE": 1}
    before = [op_name(model, operator) for operator in model.subgraphs[0].operators]
    found = tiny_files.files(head=head).tflite_ranges
    assert level_dense(model, found).ranges == found.ranges
    assert [op_name(model, operator) for operator in model.subgraphs[0].operators] == before


def test_without_channels_nothing_is_leveled():
    model = read_model(float_tflite())
    before = len(model.subgraphs[0].operators)
    level_dense(model, CalibrationRanges(ranges=ranges().ranges, row_count=1, row_peaks=ranges().row_peaks))
    assert len(model.subgraphs[0].operators) == before


# Audit.


def problems(content: bytes) -> list[str]:
    return get("tflite").open(content).audit(RECIPES["int8"])


@pytest.mark.parametrize("head", tiny_files.HEADS)
def test_the_audit_accepts_layer_norms_and_gelus_in_float(head):
    assert problems(int8(head)) == []


def test_a_file_that_is_silently_float_or_dynamic_is_found():
    assert "FULLY_CONNECTED computes in float" in problems(float_tflite())
    assert "a table of GATHER is float32, not int8" in problems(float_tflite())
    dynamic = problems(to_int8_dynamic(float_tflite()))
    assert {"FULLY_CONNECTED computes in float", "BATCH_MATMUL computes in float"} <= set(dynamic)


def test_a_quantizer_that_leaves_products_in_float_is_found(monkeypatch):
    def all_but_tables(model: Model, made: Any) -> set[int]:
        return {i for i, operator in enumerate(made.operators) if op_name(model, operator) != "GATHER"}

    monkeypatch.setattr(tflite_static, "float_region", all_but_tables)
    found = problems(quantize_static(float_tflite(), ranges()))
    assert {"FULLY_CONNECTED computes in float", "BATCH_MATMUL computes in float"} <= set(found)


def first(model: Model, wanted: str) -> Any:
    return next(operator for name, operator in operators(model) if name == wanted)


def read_in_float(wanted: str) -> Callable[[Model], None]:
    """An operator outside of the regions reads what a DEQUANTIZE made."""

    def edit(model: Model) -> None:
        first(model, wanted).inputs[0] = first(model, "DEQUANTIZE").outputs[0]

    return edit


def written_in_float(wanted: str) -> Callable[[Model], None]:
    def edit(model: Model) -> None:
        model.subgraphs[0].tensors[int(first(model, wanted).outputs[0])].type = FLOAT32

    return edit


def dequantized_constant(model: Model) -> None:
    """Weights that are int8 in the file and float in the product."""
    first(model, "DEQUANTIZE").inputs[0] = first(model, "FULLY_CONNECTED").inputs[1]


@pytest.mark.parametrize(
    ("edit", "problem"),
    [
        (read_in_float("FULLY_CONNECTED"), "FULLY_CONNECTED computes in float"),
        (read_in_float("BATCH_MATMUL"), "BATCH_MATMUL computes in float"),
        (read_in_float("BATCH_MATMUL"), "DEQUANTIZE computes in float"),
        (written_in_float("FULLY_CONNECTED"), "FULLY_CONNECTED computes in float"),
        (written_in_float("BATCH_MATMUL"), "BATCH_MATMUL computes in float"),
        (written_in_float("QUANTIZE"), "QUANTIZE computes in float"),
        (dequantized_constant, "DEQUANTIZE computes in float"),
    ],
)
def test_one_step_into_float_outside_of_the_regions_is_found(edit, problem):
    model = read_model(int8())
    for _, operator in operators(model):
        operator.inputs = [int(i) for i in operator.inputs]
    edit(model)
    assert problem in problems(write_model(model))


# Runtimes.

RUNTIME_JOB = """
import sys, numpy as np
from tflite_runtime.interpreter import Interpreter
runner = Interpreter(model_path=sys.argv[1], num_threads=1).get_signature_runner()
scale, zero = runner.get_output_details()["logits"]["quantization"]
values = np.load(sys.argv[2])
rows = [runner(**{name: values[name][i : i + 1] for name in values})["logits"] for i in range(len(values["ids"]))]
np.save(sys.argv[3], (np.concatenate(rows).astype("f") - zero) * scale)
"""


@pytest.mark.skipif(find_spec("tflite_runtime") is None, reason="tflite-runtime is not installed")
def test_tflite_runtime_2_14_runs_the_file(tmp_path):
    (tmp_path / "model.tflite").write_bytes(int8())
    np.savez(tmp_path / "in.npz", **VALUES)
    # A process of its own: after TensorFlow the runtime cannot be imported.
    paths = [str(tmp_path / name) for name in ("model.tflite", "in.npz", "out.npy")]
    subprocess.run([sys.executable, "-c", RUNTIME_JOB, *paths], check=True, capture_output=True)
    expected = graph("classification").predict(VALUES)["logits"]
    assert np.std(np.load(tmp_path / "out.npy") - expected) <= MOST["classification"] * np.std(expected)
