"""The profile of a network whose layers share weights: counted and stored once, multiplied by in every layer."""

import pytest

from exporters.profiling import parts as profile_parts
from exporters.profiling.parts import AFTER, ATTENTION, BEFORE, EMBEDDING, FFN, GRAPH, HEAD, PARTS, Plan, part_of_weight
from support.profiled_networks import feed, files, measure, op_graph, original, rewritten
from support.tiny_models import TIME

NAME = "albert"
TARGETS = ("tflite", "onnx")


def matrices() -> dict[str, int]:
    """Elements of all matrices by part, each once."""
    found = dict.fromkeys(PARTS, 0)
    for name, value in rewritten(NAME).tensors.items():
        found[part_of_weight(name)] += value.size if value.ndim == 2 else 0
    return found


def test_the_plan_has_the_dense_layers_of_every_layer() -> None:
    plan = Plan.of(rewritten(NAME))
    assert plan.chains == ((AFTER, FFN, FFN),) * original(NAME).config.num_layers
    assert plan.embedding == 1


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("recipe", ["float32", "fp16", "int8-dynamic", "int8"])
def test_bytes_of_the_parts_add_up_to_the_file_and_hold_shared_weights_once(recipe: str, target: str) -> None:
    content = files(NAME, recipe=recipe)[target]
    graph = op_graph(content, target)
    parts = profile_parts.assign(graph, Plan.of(rewritten(NAME)))
    sizes = profile_parts.bytes_of_parts(graph, parts, len(content))
    assert sum(sizes.values()) == len(content)
    assert sizes[GRAPH] > 0
    each = {"float32": 4, "fp16": 2}.get(recipe, 1)
    for part, elements in matrices().items():
        assert sizes[part] >= each * elements
    for part in (BEFORE, FFN):
        # A second copy would double that. Norms, biases and scales are a large part of such small layers.
        assert sizes[part] < 2 * each * matrices()[part] + 4 * 3 * 3 * 5 * 32 * (each == 1)


@pytest.mark.parametrize("target", TARGETS)
def test_multiply_adds_are_those_of_all_layers(target: str) -> None:
    _, found = measure(files(NAME, "off")[target], target, Plan.of(rewritten(NAME, "off")), feed(NAME, "off"))
    config = original(NAME).config
    layers, hidden = config.num_layers, config.hidden_size
    assert found[EMBEDDING] == TIME * config.embedding_size * hidden
    assert found[BEFORE] == layers * TIME * 3 * hidden * hidden
    assert found[ATTENTION] == layers * 2 * TIME * TIME * hidden
    assert found[AFTER] == layers * TIME * hidden * hidden
    assert found[FFN] == layers * TIME * 2 * hidden * config.intermediate_size
    assert found[HEAD] == hidden * hidden + hidden * original(NAME).head.num_labels


@pytest.mark.parametrize("target", TARGETS)
def test_every_part_of_static_int8_is_timed(target: str) -> None:
    timing, _ = measure(files(NAME, recipe="int8")[target], target, Plan.of(rewritten(NAME)), feed(NAME))
    assert list(timing.parts) == [part for part in PARTS if part != "ghosts"]
