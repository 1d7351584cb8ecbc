"""The pieces that a .tflite file is cut into, and the kernels of an .onnx file: nothing is lost or counted twice."""

from collections import Counter

import numpy as np
import pytest

from exporters.formats.tflite import profile as profile_tflite
from exporters.profiling.parts import PARTS, Plan, assign
from quantize.tflite.flatbuffer import read_model, write_model
from support.profiled_networks import feed, files, measure, rewritten

RECIPES = ("float32", "fp16", "int4", "int8-dynamic", "int8")
# Float sums in another order where a part ends: some hundred roundings of 6e-8. Quantized: one step of a tensor.
TOLERANCE = {"float32": 1e-5, "fp16": 1e-5, "int4": 0.05, "int8-dynamic": 0.05, "int8": 0.05}


def interpreter(content: bytes, values: dict):
    from ai_edge_litert.interpreter import Interpreter

    made = Interpreter(model_content=content, num_threads=1)
    made.allocate_tensors()
    for detail in made.get_input_details():
        made.set_tensor(detail["index"], values[detail["name"]])
    made.invoke()
    return made


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "recipe"),
    [*(("bert", recipe) for recipe in RECIPES), *(("ghosts on heads", r) for r in ("float32", "int8"))],
)
def test_the_pieces_compute_what_the_whole_file_computes(name: str, recipe: str) -> None:
    content, plan = files(name, recipe=recipe)["tflite"], Plan.of(rewritten(name))
    model = read_model(content)
    graph = model.subgraphs[0]
    pieces = profile_tflite.cut(model, assign(profile_tflite.read(model), plan))
    between = profile_tflite._values(content, feed(name), set(range(len(graph.tensors))) - constants(model))
    whole = interpreter(content, feed(name))
    (output,) = graph.outputs
    expected = whole.get_tensor(whole.get_output_details()[0]["index"]).astype(np.float64)
    found = {}
    for piece in pieces.values():
        made = interpreter(write_model(piece), {str(index): between[index] for index in piece.subgraphs[0].inputs})
        details = made.get_output_details()
        assert [int(detail["index"]) for detail in details] == list(piece.subgraphs[0].outputs)
        found |= {int(detail["index"]): made.get_tensor(detail["index"]) for detail in details}
    scale = max(1.0, float(np.abs(expected).max()))
    assert np.abs(found[int(output)].astype(np.float64) - expected).max() <= TOLERANCE[recipe] * scale


def constants(model) -> set[int]:
    from quantize.tflite.graph import is_constant

    return {index for index, tensor in enumerate(model.subgraphs[0].tensors) if is_constant(model, tensor)}


@pytest.mark.parametrize("recipe", ["float32", "int8"])
def test_each_operator_of_the_file_is_in_exactly_one_piece(recipe: str) -> None:
    model = read_model(files("bert", recipe=recipe)["tflite"])
    parts = assign(profile_tflite.read(model), Plan.of(rewritten("bert")))
    pieces = profile_tflite.cut(model, parts)
    inside = Counter(id(op) for piece in pieces.values() for op in piece.subgraphs[0].operators)
    assert inside == {id(op): 1 for op in model.subgraphs[0].operators}
    assert list(pieces) == [part for part in PARTS if part in pieces]


def test_the_pieces_together_hold_the_weights_once() -> None:
    content = files("bert")["tflite"]
    model = read_model(content)
    pieces = profile_tflite.cut(model, assign(profile_tflite.read(model), Plan.of(rewritten("bert"))))
    held = sum(len(buffer.data) for piece in pieces.values() for buffer in piece.buffers if buffer.data is not None)
    own = sum(len(buffer.data) for buffer in model.buffers if buffer.data is not None)
    assert own <= held < own + 2000  # small constants, such as shapes, are read by several parts


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("target", ["tflite", "onnx"])
def test_every_part_of_every_recipe_is_timed(target: str, recipe: str) -> None:
    content, given = files("bert", recipe=recipe)[target], feed("bert")
    timing, multiply_adds = measure(content, target, Plan.of(rewritten("bert")), given)
    assert list(timing.parts) == [part for part in PARTS if part != "ghosts"]
    assert sum(part.share for part in timing.parts.values()) == pytest.approx(1.0, abs=1e-6)
    plain, _ = measure(files("bert")[target], target, Plan.of(rewritten("bert")), given)
    assert list(plain.parts) == list(timing.parts)
    assert multiply_adds["attention"] > 0


def test_ghosts_are_a_part_of_their_own_on_both_runtimes() -> None:
    for target in ("tflite", "onnx"):
        for name in ("ghosts on heads", "ghosts on outputs"):
            timing, counted = measure(files(name)[target], target, Plan.of(rewritten(name)), feed(name))
            assert "ghosts" in timing.parts
            assert counted["ghosts"] > 0
