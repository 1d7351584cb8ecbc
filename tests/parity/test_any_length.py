"""One file serves every length up to its longest: the same text gets the same answer, padded or not.

The networks of `tiny_files`, as an export makes them; MiniLM with its weights, where these are at hand, is slow.
"""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exporters.formats import base
from models_tf.encoder.config import EncoderConfig
from support import tiny_files
from support.tiny_models import POWER, converted_network

TEXTS = 200
FAMILIES = ("mobilebert", "outliers", "albert", "ghosts on heads", "ghosts on outputs", "relative")
RECIPES = ("float32", "fp16", "int4", "int8-dynamic", "int8")
FORMATS = ("tflite", "onnx")
# Float sums in another order, relative to the largest answer (the recipe's own limit). LiteRT's dynamic scales are
# those of single tokens, which no other token changes.
FLOAT = 1e-4
EXACT = {*((name, recipe) for name in ("tflite", "onnx") for recipe in ("float32", "fp16"))}
EXACT |= {("tflite", "int4"), ("tflite", "int8-dynamic")}


def content(files: Any, format_name: str, recipe: str) -> bytes:
    if format_name == "tflite":
        return files.tflite(recipe)
    return files.onnx(recipe).SerializeToString()


def runners(made: bytes, format_name: str, inputs: tuple[str, ...]) -> tuple[Any, Any]:
    """On padded rows as they are, and on each row at its own length."""
    found = base.get(format_name)
    file = found.open(made)
    assert file.any_length
    return tuple(found.runner(file, inputs=inputs, padded=padded) for padded in (True, False))


def check(files: Any, format_name: str, recipe: str, feed: dict[str, np.ndarray], run: Any, found: np.ndarray) -> None:
    """`found` are answers of the padded rows that `run` must give too.

    In int8 a sum on the edge between two steps may go either way, and ONNX Runtime's dynamic scale is that of all
    tokens of a row, padding among them. Both answers are a float answer that was rounded, so they differ by at most
    twice the error of rounding, and on average by less than one of the 255 steps of the answers.
    """
    difference = np.abs(run - found)
    if (format_name, recipe) in EXACT:
        assert difference.max() <= FLOAT * np.abs(found).max()
        return
    padded, _ = runners(content(files, format_name, "float32"), format_name, tuple(feed))
    assert difference.max() <= 2 * np.abs(found - padded(feed)["logits"]).max()
    steps = 1 if recipe == "int8" else 3  # a dynamic scale changes with every row: all values move
    assert difference.mean() <= steps * np.ptp(found) / 255


@pytest.mark.slow
@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("format_name", FORMATS)
@pytest.mark.parametrize("name", FAMILIES)
def test_the_same_text_gets_the_same_answer_at_every_length(name: str, format_name: str, recipe: str) -> None:
    names = tuple(spec.name for spec in tiny_files.graph(name).inputs)
    feed = {key: values for key, values in tiny_files.inputs(TEXTS, seed=7).items() if key in names}
    files = tiny_files.files(name)
    padded, own = runners(content(files, format_name, recipe), format_name, names)
    expected = padded(feed)["logits"]
    check(files, format_name, recipe, feed, own(feed)["logits"], expected)
    tokens = feed["mask"].sum(1)
    for length in (tiny_files.LENGTH // 2, tiny_files.LENGTH - 3):
        short = tokens <= length
        found = padded({key: values[short][:, :length] for key, values in feed.items()})["logits"]
        held = {key: values[short] for key, values in feed.items()}
        check(files, format_name, recipe, held, found, expected[short])


@pytest.mark.parametrize("format_name", FORMATS)
def test_answers_for_each_token_keep_their_places(format_name: str) -> None:
    feed = tiny_files.inputs(24, seed=3)
    made = content(tiny_files.files("mobilebert", "question-answering"), format_name, "float32")
    padded, own = runners(made, format_name, ("ids", "mask", "segments"))
    expected, found = padded(feed), own(feed)
    assert set(found) == {"start_logits", "end_logits"}
    for name, values in expected.items():
        np.testing.assert_allclose(found[name], values * feed["mask"], rtol=1e-4, atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("recipe", [recipe for recipe in RECIPES if recipe != "int4"])
@pytest.mark.parametrize("format_name", FORMATS)
def test_prado_takes_any_length(format_name: str, recipe: str) -> None:
    feed, files = {"features": tiny_files.features(TEXTS, seed=5)}, tiny_files.projection_files()
    padded, own = runners(content(files, format_name, recipe), format_name, ("features",))
    check(files, format_name, recipe, feed, own(feed)["logits"], padded(feed)["logits"])


def test_a_graph_without_positions_is_not_bounded_by_its_longest() -> None:
    feed = {"features": np.pad(tiny_files.features(8), ((0, 0), (0, 20), (0, 0)))}
    for format_name in FORMATS:
        padded, own = runners(
            content(tiny_files.projection_files(), format_name, "float32"), format_name, ("features",)
        )
        np.testing.assert_allclose(padded(feed)["logits"], own(feed)["logits"], rtol=1e-4, atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("format_name", FORMATS)
def test_models_that_need_the_number_of_tokens_stay_at_one_length(format_name: str) -> None:
    for name in (POWER[0], "disentangled"):
        made = content(tiny_files.files(name), format_name, "float32")
        assert not base.get(format_name).open(made).any_length
    made = content(tiny_files.projection_files("sgnn"), format_name, "float32")
    assert not base.get(format_name).open(made).any_length


@pytest.mark.parametrize("format_name", FORMATS)
def test_more_tokens_than_positions_are_refused(format_name: str) -> None:
    made = content(tiny_files.files(), format_name, "float32")
    padded, _ = runners(made, format_name, ("ids", "mask", "segments"))
    long = {name: np.ones((1, tiny_files.LENGTH + 1), np.int32) for name in ("ids", "mask", "segments")}
    with pytest.raises(Exception, match=r"(?s)index|indices|out of|Broadcast|broadcast|dimension"):
        padded(long)


# TFLite alone.


def test_a_runtime_that_never_resizes_sees_a_static_graph() -> None:
    from ai_edge_litert.interpreter import Interpreter

    for recipe in RECIPES:
        interpreter = Interpreter(model_content=tiny_files.files().tflite(recipe))
        for detail in interpreter.get_input_details():
            assert list(detail["shape"]) == [1, tiny_files.LENGTH]
            assert list(detail["shape_signature"]) == [1, -1]
        interpreter.allocate_tensors()
        for detail in interpreter.get_input_details():
            interpreter.set_tensor(detail["index"], np.ones((1, tiny_files.LENGTH), np.int32))
        interpreter.invoke()
        assert all(0 not in detail["shape"] for detail in interpreter.get_tensor_details())


def test_no_tensor_is_sized_while_the_graph_runs() -> None:
    """XNNPACK takes no operator with such a tensor; then it would take the same parts as of a graph of one length."""
    from ai_edge_litert.interpreter import Interpreter

    graph = tiny_files.graph()
    fixed = tiny_files.fixed_files(graph)
    for recipe in ("float32", "int4", "int8-dynamic", "int8"):
        counts = []
        for made in (tiny_files.files().tflite(recipe), fixed.tflite(recipe)):
            interpreter = Interpreter(model_content=made)
            interpreter.allocate_tensors()
            operators = interpreter._get_ops_details()
            counts.append([operator["op_name"] for operator in operators].count("DELEGATE"))
        assert counts[0] == counts[1]


@pytest.mark.parametrize("format_name", FORMATS)
@pytest.mark.parametrize("recipe", RECIPES)
def test_the_file_is_at_most_5_percent_larger_than_one_of_a_single_length(format_name: str, recipe: str) -> None:
    graph = tiny_files.graph()
    sizes = [len(content(each, format_name, recipe)) for each in (tiny_files.files(), tiny_files.fixed_files(graph))]
    # The smallest network of all: a kilobyte of operators more would already show.
    assert sizes[0] <= 1.05 * sizes[1]


# Memory of a process that loads a file and runs it at the given lengths, in kB.
_MEMORY = """
import sys
import numpy as np
from ai_edge_litert.interpreter import Interpreter

def used():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmRSS"))

before = used()
interpreter = Interpreter(sys.argv[1], num_threads=1)
run = interpreter.get_signature_runner()
for length in map(int, sys.argv[2:]):
    run(**{name: np.ones((1, length), np.int32) for name in run.get_input_details()})
print(used() - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads the memory of a process from /proc")
@pytest.mark.parametrize("recipe", ["float32", "int8-dynamic"])
def test_resizes_take_at_most_10_percent_more_memory(recipe: str, tmp_path: Path) -> None:
    """XNNPACK packs no weights again. The network is large enough that its weights are most of the memory."""
    length = 64
    settings = EncoderConfig(
        vocab_size=2000, hidden_size=256, num_layers=4, num_heads=4, intermediate_size=1024, embedding_size=256,
        bottleneck_size=256, max_positions=length,
    )  # fmt: skip
    graph = tiny_files.graph_of(converted_network(settings), length=length, mask_value=-60.0)
    found = {}
    for name, made in {"any": tiny_files.files_of(graph), "fixed": tiny_files.fixed_files(graph)}.items():
        path = tmp_path / f"{name}.tflite"
        path.write_bytes(made.tflite(recipe))
        lengths = [length, 8, 32, length, 16, length] if name == "any" else [length] * 2
        command = [sys.executable, "-c", _MEMORY, str(path), *map(str, lengths)]
        found[name] = int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert found["any"] <= 1.1 * found["fixed"], found
