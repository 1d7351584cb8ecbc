"""Static int8 .onnx of encoders with layer norms and outlier channels: numbers, structure, audit, real weights."""

import functools
from collections import Counter
from pathlib import Path

import numpy as np
import onnx
import pytest

from exporters import ExportRequest, export
from exporters.formats.base import get
from models_tf.encoder.graph import NetworkGraph
from quantize.onnx import static as onnx_static
from quantize.onnx.calibrate import calibrate as calibrate_onnx
from quantize.onnx.dynamic import to_int8_dynamic as to_int8_dynamic_onnx
from quantize.onnx.passes.level_dense import level_dense as level_dense_onnx
from quantize.onnx.regions import float_region
from quantize.onnx.static import quantize_static as quantize_static_onnx
from quantize.ranges import CalibrationRanges
from quantize.recipe import RECIPES
from support import tiny_files
from support.real_checkpoints import data_folder, minilm_sst2
from support.tiny_models import CONVERTED

ROW = "wild outliers"  # of the table of tiny models: outlier channels, as trained encoders have them
CONFIG = CONVERTED[ROW].config
VALUES = tiny_files.inputs(40, seed=9)


def graph(head: str) -> NetworkGraph:
    return tiny_files.graph(ROW, head)


def float_onnx(head: str = "classification") -> onnx.ModelProto:
    return tiny_files.files(ROW, head).float_onnx


def calibrated(model: onnx.ModelProto) -> CalibrationRanges:
    return calibrate_onnx(model, tiny_files.calibration())


def ranges(head: str = "classification") -> CalibrationRanges:
    return tiny_files.files(ROW, head).onnx_ranges


@functools.cache
def int8(head: str = "classification") -> onnx.ModelProto:
    return quantize_static_onnx(float_onnx(head), ranges(head))


def leveled(head: str = "classification") -> tuple[onnx.ModelProto, CalibrationRanges]:
    model = onnx.ModelProto()
    model.CopyFrom(float_onnx(head))
    return model, level_dense_onnx(model, ranges(head))


def error(model: onnx.ModelProto, head: str = "classification") -> float:
    """Root mean square over that of the float answers, each around its mean of all rows; the largest of all outputs."""
    found, expected = tiny_files.run_onnx(model, VALUES), graph(head).predict(VALUES)
    assert set(found) == set(expected)
    shares = []
    for name, values in expected.items():
        exact = of_tokens(values)
        shares.append(size(of_tokens(found[name]) - exact) / size(exact - exact.mean(axis=0)))
    return max(shares)


def size(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(np.square(values))))


def of_tokens(values: np.ndarray) -> np.ndarray:
    """Answers for padding are nobody's: those for tokens, or those for the whole row."""
    mask = VALUES["mask"]
    return values[mask > 0] if values.shape[:2] == mask.shape else values


@pytest.mark.parametrize("head", tiny_files.HEADS)
def test_answers_depend_on_the_row(head):
    """Else the error below would be that of a constant."""
    for values in graph(head).predict(VALUES).values():
        exact = of_tokens(values)
        assert size(exact - exact.mean(axis=0)) >= 0.2 * size(exact)


@pytest.mark.slow
@pytest.mark.parametrize("head", tiny_files.HEADS)
def test_int8_follows_float_in_spite_of_outlier_channels(head):
    # Queries and keys are rounded by about 1/60 (7 bits of weights, 8 of inputs) and give scores of about 6 units: 0.1
    # in a score is a tenth of an attention weight, in every layer. Twice that is allowed, for every head.
    assert error(int8(head), head) <= 0.2


@pytest.mark.parametrize("head", tiny_files.HEADS)
def test_unequal_channels_lose_half_as_much_again(head, monkeypatch):
    good = error(int8(head), head)
    monkeypatch.setattr(onnx_static, "level_dense", lambda _, found: found)
    assert error(quantize_static_onnx(float_onnx(head), ranges(head)), head) >= 1.5 * good


@pytest.mark.parametrize("head", tiny_files.HEADS)
def test_leveled_dense_layers_compute_the_same_in_float(head):
    model, found = leveled(head)
    # Inputs: of each layer, attention has its own; behind each norm and GELU; the head's.
    assert len(found.ranges) - len(ranges(head).ranges) >= 3 * CONFIG.num_layers
    onnx.checker.check_model(model, full_check=True)
    answers = tiny_files.run_onnx(model, VALUES)
    for name, values in graph(head).predict(VALUES).items():
        # The same sums with other factors: float32 rounding.
        assert np.abs(answers[name] - values).max() <= 1e-4 * np.abs(values).max()


def test_ranges_of_leveled_tensors_are_those_that_calibration_finds():
    model, found = leveled()
    measured = calibrated(model)
    added = set(found.ranges) - set(ranges().ranges)
    assert added
    for name in added:
        assert np.allclose(found.ranges[name], measured.ranges[name], rtol=1e-4, atol=1e-4), name


def test_channels_of_a_leveled_tensor_are_alike():
    def unevenness(found: CalibrationRanges, names: list[str]) -> float:
        # A quantized tensor always holds zero.
        widths = [np.maximum(high, 0) - np.minimum(low, 0) for low, high in (found.channels[name] for name in names)]
        return max(float(width.max() / np.median(width)) for width in widths)

    model, found = leveled()
    added = [name for name in found.ranges if name not in ranges().ranges]
    assert unevenness(ranges(), list(ranges().channels)) > (CONVERTED[ROW].outliers or ())[1]
    assert unevenness(calibrated(model), added) < 2


def test_without_channels_nothing_is_leveled():
    model = onnx.ModelProto()
    model.CopyFrom(float_onnx())
    level_dense_onnx(model, CalibrationRanges(ranges=ranges().ranges, row_count=1))
    assert len(model.graph.node) == len(float_onnx().graph.node)


@pytest.mark.parametrize("head", tiny_files.HEADS)
def test_an_encoder_without_layer_norms_is_left_as_it_is(head):
    model = onnx.ModelProto()
    model.CopyFrom(tiny_files.files(head=head).float_onnx)
    found = tiny_files.files(head=head).onnx_ranges
    assert level_dense_onnx(model, found).ranges == found.ranges
    assert len(model.graph.node) == len(tiny_files.files(head=head).float_onnx.graph.node)


def test_channels_are_those_of_what_dense_layers_read():
    constants = {item.name for item in float_onnx().graph.initializer}
    dense = [n for n in float_onnx().graph.node if n.op_type in ("Gemm", "MatMul") and n.input[1] in constants]
    assert set(ranges().channels) == {node.input[0] for node in dense}
    for name, found in ranges().channels.items():
        low, high = ranges().ranges[name]
        assert (found[0].min(), found[1].max()) == (pytest.approx(low), pytest.approx(high))


def test_the_sum_of_the_embeddings_is_in_the_region_of_the_norm_behind_it():
    """A Reshape stands between them."""
    nodes = float_onnx().graph.node
    region = float_region(nodes)
    lookups = {name for node in nodes if node.op_type == "Gather" for name in node.output}
    for node in nodes:
        if node.op_type == "Reshape" and node.input[0] in lookups:
            lookups.update(node.output)
    sums = [i for i, node in enumerate(nodes) if node.op_type == "Add" and lookups & set(node.input)]
    assert sums
    assert set(sums) <= region


@pytest.mark.parametrize("head", tiny_files.HEADS)
def test_onnx_runtime_computes_all_products_in_integers(head, tmp_path):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "optimized.onnx")
    options.log_severity_level = 4
    onnxruntime.InferenceSession(int8(head).SerializeToString(), options, providers=["CPUExecutionProvider"])
    kinds = Counter(node.op_type for node in onnx.load(tmp_path / "optimized.onnx").graph.node)
    assert not {"MatMul", "Gemm", "FusedGemm", "FusedMatMul"} & set(kinds)
    assert kinds["Softmax"] == CONFIG.num_layers  # faster in float


# Audit.


def problems(model: onnx.ModelProto) -> list[str]:
    return get("onnx").open(model.SerializeToString()).audit(RECIPES["int8"])


@pytest.mark.parametrize("head", tiny_files.HEADS)
def test_the_audit_accepts_layer_norms_and_gelus_in_float(head):
    assert problems(int8(head)) == []


def test_a_file_that_is_silently_float_or_dynamic_is_found():
    found = problems(float_onnx())
    assert {"Gemm computes in float", "MatMul computes in float"} <= set(found)
    assert "a table of Gather is float32, not 8 bits" in found
    assert "MatMulInteger takes its scales while running: that is int8-dynamic" in problems(
        to_int8_dynamic_onnx(float_onnx())
    )


@pytest.mark.parametrize("op_type", ["Gemm", "MatMul"])
def test_one_operator_that_reads_a_leveled_tensor_in_float_is_found(op_type):
    model = onnx.ModelProto()
    model.CopyFrom(int8())
    producers = {name: node for node in model.graph.node for name in node.output}
    leveled_in_float = next(
        producers[node.input[0]].output[0]
        for node in model.graph.node
        if node.op_type == "QuantizeLinear" and producers[node.input[0]].op_type == "Mul"
    )
    next(node for node in model.graph.node if node.op_type == op_type).input[0] = leveled_in_float
    assert f"{op_type} computes in float" in problems(model)


# Real weights.


@pytest.mark.exhaustive
def test_static_int8_of_a_trained_bert_keeps_774_of_872_rows_in_24_million_bytes(tmp_path: Path):
    request = ExportRequest(
        model="bert",
        checkpoint=minilm_sst2(),
        task="classification",
        eval_data=data_folder("sst2", "dev.tsv"),
        calibration_data=data_folder("sst2", "train.tsv"),
        max_seq_len=64,
        quantize="int8",
        target=("onnx",),
        output=tmp_path / "out",
    )
    report = export(request)
    assert report.passed
    stage = next(stage for stage in report.accuracy if stage.stage.startswith("model_int8.onnx"))
    assert stage.score.n == 872
    assert round(stage.score.value / 100 * stage.score.n) >= 774  # 783 in float
    assert (tmp_path / "out" / "model_int8.onnx").stat().st_size <= 24_000_000
