"""How many pieces XNNPACK cuts the .tflite files of every family into, and what keeps it at so few.

LiteRT copies between the pieces, and what lies between them runs in slow kernels.
"""

import numpy as np
import pytest

from exporters.formats.base import get
from exporters.formats.tflite.delegation import runtime_plan
from quantize.recipe import RECIPES
from quantize.tflite.flatbuffer import read_model, write_model
from quantize.tflite.graph import op_name
from quantize.tflite.passes.level_keys import level_keys
from quantize.tflite.passes.split_dense import split_dense
from support import tiny_files
from support.conversions import Files

# Rows of the table of tiny models; "outliers" is a BERT.
FAMILIES = (
    "outliers",
    "mobilebert",
    "albert",
    "relative",
    "disentangled",
    "ghosts on heads",
    "ghosts on outputs",
    "prado",
    "sgnn",
)
TOKENS = ("outliers", "mobilebert", "albert", "relative", "disentangled")
# Before the graph's first product: whole numbers, tables.
IN_FRONT = {"CAST", "GATHER", "MUL", "CUMSUM", "MAXIMUM"}


def files(name: str) -> Files:
    return tiny_files.projection_files(name) if name in tiny_files.KINDS else tiny_files.files(name)


@pytest.mark.slow
@pytest.mark.parametrize("recipe", ["float32", "int8-dynamic", "int8"])
@pytest.mark.parametrize("name", FAMILIES)
def test_xnnpack_takes_a_file_in_at_most_two_pieces(name, recipe):
    plan = runtime_plan(files(name).tflite(recipe))
    assert plan.problem == ""
    assert plan.partitions is not None
    assert 1 <= plan.partitions <= 2, plan.kept


@pytest.mark.parametrize("name", TOKENS)
def test_only_tables_casts_and_the_choice_of_the_first_token_stay_outside(name):
    plan = runtime_plan(files(name).tflite("int8"))
    kept = dict(plan.kept)
    if name == "mobilebert":  # ids * mask + padding * (1 - mask), in whole numbers
        assert (kept.pop("SUB"), kept.pop("ADD")) == (1, 1)
    if name == "relative":  # the distances of all tokens, in whole numbers
        assert (kept.pop("SUB"), kept.pop("ADD"), kept.pop("RESHAPE", 2)) == (1, 1, 2)
    assert set(kept) <= IN_FRONT | {"STRIDED_SLICE"}


def test_a_model_that_drops_tokens_is_cut_where_they_are_dropped():
    """The ranking, and the gathers of what is kept: at most three pieces for each layer that drops some."""
    plan = runtime_plan(files("significance").tflite("int8"))
    layers = sum(count for name, count in plan.kept.items() if name == "TOPK_V2")
    assert layers == 2
    assert plan.partitions <= 2 + 3 * layers, plan.kept
    assert not {"BATCH_MATMUL", "FULLY_CONNECTED", "SOFTMAX"} & set(plan.kept)


@pytest.mark.parametrize("name", [name for name in FAMILIES if name not in tiny_files.KINDS])
def test_xnnpack_takes_4_bits_in_at_most_two_pieces(name):
    plan = runtime_plan(files(name).tflite("int4"))
    assert 1 <= plan.partitions <= 2, plan.kept
    assert not {"BATCH_MATMUL", "FULLY_CONNECTED", "SOFTMAX"} & set(plan.kept)


@pytest.mark.parametrize("name", [*TOKENS, "prado"])
def test_second_operands_of_products_have_zero_point_0(name):
    model = read_model(files(name).tflite("int8"))
    graph = model.subgraphs[0]
    operands = [graph.tensors[o.inputs[1]] for o in graph.operators if op_name(model, o) == "BATCH_MATMUL"]
    assert operands
    assert all(list(tensor.quantization.zeroPoint) == [0] for tensor in operands)


@pytest.mark.parametrize("name", ["outliers", "mobilebert"])
def test_leveled_queries_and_keys_give_the_same_answers_in_float(name):
    made, values = files(name), tiny_files.inputs(8, seed=9)
    model, ranges = read_model(made.float_tflite), made.tflite_ranges
    split_dense(model, ranges)
    before = write_model(model)
    leveled = level_keys(model, ranges)
    after = write_model(model)
    assert before != after
    assert leveled.ranges != ranges.ranges
    for found, expected in zip(
        tiny_files.run_tflite(after, values).values(), tiny_files.run_tflite(before, values).values(), strict=True
    ):
        # The same products with factors that cancel: float32 rounding.
        assert np.abs(found - expected).max() <= 1e-4 * np.abs(expected).max()


def test_leveled_ranges_are_those_that_calibration_finds():
    from quantize.tflite.calibrate import calibrate

    made = files("mobilebert")
    model = read_model(made.float_tflite)
    leveled = level_keys(model, made.tflite_ranges)
    measured = calibrate(write_model(model), tiny_files.calibration())
    changed = [name for name in leveled.ranges if leveled.ranges[name] != made.tflite_ranges.ranges[name]]
    assert changed
    for name in changed:
        assert np.allclose(leveled.ranges[name], measured.ranges[name], rtol=1e-4, atol=1e-4), name


# Correlation of the answers with those of float32 that is the least for a file to be of any use.
USEFUL = 0.9


@pytest.mark.parametrize("name", [*FAMILIES, "significance"])
def test_every_family_runs_without_float(name):
    content, floats = files(name).tflite("int8-full"), files(name).tflite("float32")
    assert get("tflite").open(content).audit(RECIPES["int8-full"]) == []
    values = {"features": tiny_files.features(40)} if name in tiny_files.KINDS else tiny_files.inputs(40, seed=9)
    found, expected = (tiny_files.run_tflite(each, values)["logits"].ravel() for each in (content, floats))
    assert np.corrcoef(found, expected)[0, 1] > USEFUL
