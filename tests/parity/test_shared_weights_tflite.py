"""Weights that layers share are in a .tflite file once, in every recipe, and the answers are those of the network."""

import copy
import subprocess
import sys
from collections import Counter
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

from exporters.formats.base import get
from exporters.formats.graph import trace
from exporters.formats.tflite.convert import shares_weights
from quantize.recipe import RECIPES
from quantize.tflite import static as tflite_static
from quantize.tflite.calibrate import calibrate
from quantize.tflite.flatbuffer import read_model, write_model
from quantize.tflite.graph import Model, is_constant, op_name, tensor_name
from quantize.tflite.passes.compact import compact
from quantize.tflite.passes.level_dense import level_dense
from quantize.tflite.passes.share_weights import share_weights
from quantize.tflite.passes.split_dense import split_dense
from quantize.tflite.static import quantize_static
from support import tiny_files
from support.shared_weights import ALLOWED, BYTES, VALUES, error, layers, matrices, uses
from support.tiny_files import files, graph
from support.tiny_models import SHARED

both = pytest.mark.parametrize("name", SHARED)
every_recipe = pytest.mark.parametrize("recipe", BYTES)


def stored(content: bytes) -> int:
    """Elements of the matrices that a file holds, each buffer once."""
    model = read_model(content)
    found = {}
    for tensor in model.subgraphs[0].tensors:
        if is_constant(model, tensor) and tensor.shape is not None and len(tensor.shape) == 2:
            found[tensor.buffer] = int(np.prod(tensor.shape))
    return sum(found.values())


def dense_weights(model: Model) -> list[int]:
    """Buffers that dense layers read, in their order, float16 ones through a DEQUANTIZE."""
    inner = model.subgraphs[0]
    wide = {int(o.outputs[0]): int(o.inputs[0]) for o in inner.operators if op_name(model, o) == "DEQUANTIZE"}
    dense = [int(o.inputs[1]) for o in inner.operators if op_name(model, o) == "FULLY_CONNECTED"]
    return [inner.tensors[wide.get(index, index)].buffer for index in dense]


@both
@every_recipe
def test_a_file_holds_exactly_the_matrices_of_the_network(name, recipe):
    assert stored(files(name).tflite(recipe)) == matrices(name)


@both
@every_recipe
def test_each_layer_multiplies_by_them_all_the_same(name, recipe):
    found = Counter(dense_weights(read_model(files(name).tflite(recipe))))
    often = [count for count in found.values() if count > 1]
    assert often == [uses(name)] * len(often)
    # Four matrices in each layer: one for query, key and value, or, in static int8, three.
    kept = len(graph(name).network.config.first_uses)
    assert len(often) == kept * (6 if recipe == "int8" else 4)


@both
@every_recipe
def test_a_shared_file_is_smaller_by_the_layers_that_it_does_not_hold(name, recipe):
    gone = graph("own").network.config.num_layers - len(graph(name).network.config.first_uses)
    own, shared = files("own").tflite(recipe), files(name).tflite(recipe)
    assert len(own) - len(shared) >= 0.95 * gone * layers(name) * BYTES[recipe]


@both
@pytest.mark.parametrize("resolver", ["AUTO", "BUILTIN_REF"])
@every_recipe
def test_answers_follow_the_float_network(name, recipe, resolver):
    assert error(tiny_files.run_tflite(files(name).tflite(recipe), VALUES, resolver=resolver), name) <= ALLOWED[recipe]


RUNTIME_JOB = """
import sys, numpy as np
from tflite_runtime.interpreter import Interpreter
values = np.load(sys.argv[1])
for path in sys.argv[2:]:
    runner = Interpreter(model_path=path, num_threads=1).get_signature_runner()
    scale, zero = runner.get_output_details()["logits"]["quantization"]
    rows = [runner(**{name: values[name][i : i + 1] for name in values})["logits"] for i in range(len(values["ids"]))]
    found = np.concatenate(rows)
    np.save(path + ".npy", (found.astype("f") - zero) * scale if found.dtype == np.int8 else found)
"""


@pytest.mark.skipif(find_spec("tflite_runtime") is None, reason="tflite-runtime is not installed")
@both
def test_tflite_runtime_2_14_runs_the_files(name, tmp_path):
    np.savez(tmp_path / "in.npz", **VALUES)
    paths = [tmp_path / f"{recipe}.tflite" for recipe in BYTES]
    for path in paths:
        path.write_bytes(files(name).tflite(path.stem))
    # A process of its own: after TensorFlow the runtime cannot be imported.
    command = [sys.executable, "-c", RUNTIME_JOB, str(tmp_path / "in.npz"), *map(str, paths)]
    subprocess.run(command, check=True, capture_output=True)
    for path in paths:
        assert error({"logits": np.load(f"{path}.npy")}, name) <= ALLOWED[path.stem], path.stem


@both
@every_recipe
def test_the_audit_finds_nothing_and_counts_shared_weights_once(name, recipe):
    content = files(name).tflite(recipe)
    found = get("tflite").open(content)
    assert found.audit(RECIPES[recipe]) == []
    # The rest is biases, norms and factors; int8 biases depend on the input's scale, so each layer has its own.
    assert matrices(name) < found.parameters < 1.5 * matrices(name)
    assert found.weight_bytes <= len(content)
    assert get("tflite").open(content).zero_share() < 0.15


# Passes.


def forked(content: bytes) -> bytes:
    """The same model with weights and biases of its own for each dense layer."""
    model = read_model(content)
    inner = model.subgraphs[0]
    for number, operator in enumerate(inner.operators):
        if op_name(model, operator) == "FULLY_CONNECTED":
            inputs = [int(index) for index in operator.inputs]
            for position in range(1, len(inputs)):
                if inputs[position] >= 0:
                    inner.tensors.append(copy.copy(inner.tensors[inputs[position]]))
                    inner.tensors[-1].name = f"copy {number} {position}"
                    model.buffers.append(copy.copy(model.buffers[inner.tensors[-1].buffer]))
                    inner.tensors[-1].buffer = len(model.buffers) - 1
                    inputs[position] = len(inner.tensors) - 1
            operator.inputs = inputs
    return write_model(model)


@both
def test_weights_that_a_converter_duplicated_become_one_again(name):
    model = read_model(forked(files(name).float_tflite))
    before = dense_weights(model)
    assert len(set(before)) == len(before)
    share_weights(model)
    assert len(set(dense_weights(model))) == len(set(dense_weights(read_model(files(name).float_tflite))))
    found = tiny_files.run_tflite(write_model(model), VALUES)
    assert np.array_equal(found["logits"], tiny_files.run_tflite(files(name).float_tflite, VALUES)["logits"])
    assert stored(quantize_static(forked(files(name).float_tflite), files(name).tflite_ranges)) == matrices(name)


@both
def test_one_set_of_factors_for_all_uses_loses_little_against_one_for_each(name, monkeypatch):
    joint = error(tiny_files.run_tflite(files(name).tflite("int8"), VALUES), name)
    monkeypatch.setattr(tflite_static, "share_weights", lambda _: None)
    content = quantize_static(forked(files(name).float_tflite), files(name).tflite_ranges)
    assert stored(content) > matrices(name)
    apart = error(tiny_files.run_tflite(content, VALUES), name)
    assert joint <= 1.5 * apart


def test_without_factors_shared_weights_lose_more(monkeypatch):
    name = "wild"
    good = error(tiny_files.run_tflite(files(name).tflite("int8"), VALUES), name)
    monkeypatch.setattr(tflite_static, "level_dense", lambda _, found: found)
    plain = quantize_static(files(name).float_tflite, files(name).tflite_ranges)
    assert error(tiny_files.run_tflite(plain, VALUES), name) >= 1.5 * good


def leveled(name: str) -> tuple[Model, Any]:
    model = read_model(files(name).float_tflite)
    return model, level_dense(model, files(name).tflite_ranges)


@both
def test_leveled_layers_compute_the_same_in_float_with_the_weights_once(name):
    model, _ = leveled(name)
    compact(model)
    content = write_model(model)
    assert stored(content) == matrices(name)
    assert error(tiny_files.run_tflite(content, VALUES), name) <= ALLOWED["float32"]


@both
def test_ranges_of_leveled_tensors_are_those_that_calibration_finds(name):
    model, found = leveled(name)
    measured = calibrate(write_model(model), tiny_files.calibration())
    added = set(found.ranges) - set(files(name).tflite_ranges.ranges)
    assert added
    for tensor in added:
        assert np.allclose(found.ranges[tensor], measured.ranges[tensor], rtol=1e-4, atol=1e-4), tensor


def test_the_first_layer_of_albert_reads_what_the_projection_of_the_embedding_makes_with_its_factors():
    model, found = leveled("albert")
    inner = model.subgraphs[0]
    dense = [operator for operator in inner.operators if op_name(model, operator) == "FULLY_CONNECTED"]
    projection = int(dense[0].outputs[0])
    assert tensor_name(inner.tensors[projection]) in set(found.ranges) - set(files("albert").tflite_ranges.ranges)
    readers = [operator for operator in inner.operators if projection in map(int, operator.inputs)]
    kinds = Counter(op_name(model, operator) for operator in readers)
    assert kinds == {"FULLY_CONNECTED": 1, "MUL": 1}


def test_layers_are_split_together_when_one_of_them_asks_for_it():
    ranges = files("albert").tflite_ranges
    model = read_model(files("albert").float_tflite)
    inner = model.subgraphs[0]
    splits = [operator for operator in inner.operators if op_name(model, operator) == "SPLIT"]
    same = ranges.override(dict.fromkeys(ranges.ranges, (-1.0, 1.0)))
    assert split_dense(model, same) == 0
    wide = tensor_name(inner.tensors[int(splits[2].outputs[1])])
    assert split_dense(model, same.override({wide: (-8.0, 8.0)})) == len(splits) == 3
    compact(model)
    content = write_model(model)
    assert stored(content) == matrices("albert")
    assert error(tiny_files.run_tflite(content, VALUES), "albert") <= ALLOWED["float32"]


def test_only_a_network_that_shares_weights_is_converted_in_another_way():
    for name, expected in {"albert": True, "in turn": True, "own": False}.items():
        made = graph(name)
        shapes = {spec.name: ((1, *spec.shape), spec.dtype) for spec in made.inputs}
        assert shares_weights(trace(made, shapes)) is expected
