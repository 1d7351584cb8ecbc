"""Weights that layers share are in an .onnx file once, in every recipe, and the answers are those of the network."""

from collections import Counter
from typing import Any

import numpy as np
import onnx
import pytest

from exporters.formats.base import get
from quantize.onnx import static as onnx_static
from quantize.onnx.calibrate import calibrate as calibrate_onnx
from quantize.onnx.passes.compact import compact
from quantize.onnx.passes.level_dense import level_dense as level_dense_onnx
from quantize.onnx.passes.split_dense import split_dense as split_dense_onnx
from quantize.onnx.static import quantize_static as quantize_static_onnx
from quantize.recipe import RECIPES
from support import tiny_files
from support.shared_weights import ALLOWED, BYTES, VALUES, error, layers, matrices, uses
from support.tiny_files import files, graph
from support.tiny_models import SHARED

both = pytest.mark.parametrize("name", SHARED)
every_recipe = pytest.mark.parametrize("recipe", BYTES)


def stored(model: Any) -> int:
    """Elements of the matrices that a file holds."""
    return sum(int(np.prod(item.dims)) for item in model.graph.initializer if len(item.dims) == 2)


def copied(model: Any) -> Any:
    made = onnx.ModelProto()
    made.CopyFrom(model)
    return made


@both
@every_recipe
def test_a_file_holds_exactly_the_matrices_of_the_network(name, recipe):
    assert stored(files(name).onnx(recipe)) == matrices(name)


@both
@every_recipe
def test_each_layer_multiplies_by_them_all_the_same(name, recipe):
    inner = files(name).onnx(recipe).graph
    large = {item.name for item in inner.initializer if len(item.dims) == 2}
    # A constant in 8 or 16 bits is read through a node of its own.
    wide = {n.output[0]: n.input[0] for n in inner.node if n.op_type in ("Cast", "DequantizeLinear")}
    found: Counter = Counter()
    for node in inner.node:
        if node.op_type in ("Gemm", "MatMul", "MatMulInteger"):
            source = wide.get(node.input[1], node.input[1])
            found[source] += source in large
    often = [count for count in found.values() if count > 1]
    assert often == [uses(name)] * len(often)
    # Four matrices in each layer: one for query, key and value, or, in static int8, three.
    kept = len(graph(name).network.config.first_uses)
    assert len(often) == kept * (6 if recipe == "int8" else 4)


@both
@every_recipe
def test_a_shared_file_is_smaller_by_the_layers_that_it_does_not_hold(name, recipe):
    gone = graph("own").network.config.num_layers - len(graph(name).network.config.first_uses)
    own, shared = files("own").onnx(recipe).ByteSize(), files(name).onnx(recipe).ByteSize()
    assert own - shared >= 0.95 * gone * layers(name) * BYTES[recipe]


@both
@every_recipe
def test_answers_follow_the_float_network(name, recipe):
    assert error(tiny_files.run_onnx(files(name).onnx(recipe), VALUES), name) <= ALLOWED[recipe]


@both
@every_recipe
def test_the_audit_finds_nothing_and_counts_shared_weights_once(name, recipe):
    content = files(name).onnx(recipe).SerializeToString()
    found = get("onnx").open(content)
    assert found.audit(RECIPES[recipe]) == []
    # The rest is biases, norms and factors; int8 biases depend on the input's scale, so each layer has its own.
    assert matrices(name) < found.parameters < 1.5 * matrices(name)
    assert found.weight_bytes <= len(content)
    assert get("onnx").open(content).zero_share() < 0.15


@both
def test_onnx_runtime_computes_shared_products_in_integers(name, tmp_path):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "optimized.onnx")
    options.log_severity_level = 4
    content = files(name).onnx("int8").SerializeToString()
    onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    kinds = Counter(node.op_type for node in onnx.load(tmp_path / "optimized.onnx").graph.node)
    assert not {"MatMul", "Gemm", "FusedGemm", "FusedMatMul"} & set(kinds)


# Passes.


def forked(model: Any) -> Any:
    """The same model with weights and biases of its own for each dense layer."""
    made = copied(model)
    constants = {item.name: item for item in made.graph.initializer}
    for number, node in enumerate(made.graph.node):
        if node.op_type == "Gemm":
            for position in range(1, len(node.input)):
                own = onnx.TensorProto()
                own.CopyFrom(constants[node.input[position]])
                own.name = f"copy {number} {position}"
                made.graph.initializer.append(own)
                node.input[position] = own.name
    return made


@both
def test_one_set_of_factors_for_all_uses_loses_little_against_one_for_each(name):
    joint = error(tiny_files.run_onnx(files(name).onnx("int8"), VALUES), name)
    model = quantize_static_onnx(forked(files(name).float_onnx), files(name).onnx_ranges)
    assert stored(model) > matrices(name)
    assert joint <= 1.5 * error(tiny_files.run_onnx(model, VALUES), name)


@both
def test_weights_that_a_converter_duplicated_become_one_again(name):
    model = forked(files(name).float_onnx)
    compact(model)
    assert stored(model) == matrices(name)


def test_without_factors_shared_weights_lose_more(monkeypatch):
    name = "wild"
    good = error(tiny_files.run_onnx(files(name).onnx("int8"), VALUES), name)
    monkeypatch.setattr(onnx_static, "level_dense", lambda _, found: found)
    plain = quantize_static_onnx(files(name).float_onnx, files(name).onnx_ranges)
    assert error(tiny_files.run_onnx(plain, VALUES), name) >= 1.3 * good


def leveled(name: str) -> tuple[Any, Any]:
    model = copied(files(name).float_onnx)
    split_dense_onnx(model, files(name).onnx_ranges)
    found = level_dense_onnx(model, files(name).onnx_ranges)
    return model, found


@both
def test_split_and_leveled_layers_compute_the_same_in_float_with_the_weights_once(name):
    model, _ = leveled(name)
    compact(model)
    onnx.checker.check_model(model, full_check=True)
    assert stored(model) == matrices(name)
    assert error(tiny_files.run_onnx(model, VALUES), name) <= ALLOWED["float32"]


@both
def test_ranges_of_leveled_tensors_are_those_that_calibration_finds(name):
    model, found = leveled(name)
    measured = calibrate_onnx(model, tiny_files.calibration())
    added = set(found.ranges) - set(files(name).onnx_ranges.ranges)
    assert added
    for tensor in added:
        assert np.allclose(found.ranges[tensor], measured.ranges[tensor], rtol=1e-4, atol=1e-4), tensor


def test_layers_are_split_together_when_one_of_them_asks_for_it():
    ranges, model = files("albert").onnx_ranges, copied(files("albert").float_onnx)
    splits = [node for node in model.graph.node if node.op_type == "Split"]
    wide = splits[2].output[1]
    same = ranges.override(dict.fromkeys(ranges.ranges, (-1.0, 1.0)))
    assert split_dense_onnx(model, same) == 0
    assert split_dense_onnx(model, same.override({wide: (-8.0, 8.0)})) == len(splits) == 3
    compact(model)
    assert stored(model) == matrices("albert")


def test_a_channel_without_weights_and_with_a_bias_does_not_come_apart():
    """Its scale must be wide enough for the bias, in steps that depend on each layer's input: one scale for all."""
    model = copied(files("albert").float_onnx)
    uses = Counter(node.input[1] for node in model.graph.node if node.op_type == "Gemm")
    shared = {name for name, count in uses.items() if count > 1}
    for item in model.graph.initializer:
        if item.name in shared:
            values = onnx.numpy_helper.to_array(item).copy()
            values[:, 0] = 1e-12
            item.CopyFrom(onnx.numpy_helper.from_array(values, item.name))
    found = quantize_static_onnx(model, calibrate_onnx(model, tiny_files.calibration()[:8]))
    assert stored(found) == matrices("albert")
