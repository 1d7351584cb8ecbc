"""Random, cut and changed files: an inspection is a value or one line, and the process lives on."""

import functools
import re

import numpy as np
import onnx
import pytest

from exporters.anatomy.run import anatomy
from exporters.anatomy.text import blocks
from exporters.commands import main as cli
from exporters.formats.base import FORMATS, get
from exporters.report.tables import plain
from models_tf.errors import InputError
from support import tiny_files

both_formats = pytest.mark.parametrize("name", list(FORMATS))
RANDOM, CUT, CHANGED = "random", "cut", "changed"


@functools.cache
def sources(name: str) -> tuple[bytes, ...]:
    files = tiny_files.projection_files()
    if name == "tflite":
        return tuple(files.tflite(recipe) for recipe in ("int8", "float32", "int8-dynamic", "fp16"))
    return tuple(files.onnx(recipe).SerializeToString() for recipe in ("int8", "float32", "int8-dynamic", "fp16"))


def broken(name: str, seed: int) -> tuple[str, bytes]:
    """One of the three kinds, by turns."""
    generator = np.random.default_rng(seed)
    content = sources(name)[int(generator.integers(len(sources(name))))]
    how = (RANDOM, CUT, CHANGED, CHANGED)[seed % 4]
    if how == RANDOM:
        noise = generator.bytes(int(generator.integers(0, 2000)))
        return how, (noise[:4] + b"TFL3" + noise[4:]) if generator.random() < 0.5 else noise
    if how == CUT:
        return how, content[: int(generator.integers(0, len(content)))]
    changed = bytearray(content)
    for place in _places(name, content, generator):
        changed[place] ^= int(generator.integers(1, 256))
    return how, bytes(changed)


def _places(name: str, content: bytes, generator: np.random.Generator) -> list[int]:
    """Mostly in the structure: a changed weight is just another weight."""
    count = int(generator.integers(1, 6))
    if generator.random() < 0.3:
        return generator.integers(0, len(content), count).tolist()
    if name == "tflite":
        # The tables are at the front and between the vectors; small numbers are offsets and indices.
        return [int(place) for place in generator.choice(_small_bytes(content), count)]
    texts = [match.start() for match in re.finditer(rb"[A-Za-z]{4,}", content)]
    return [max(0, int(generator.choice(texts)) - int(generator.integers(0, 6))) for _ in range(count)]


@functools.cache
def _small_bytes(content: bytes) -> np.ndarray:
    data = np.frombuffer(content, np.uint8)
    return np.flatnonzero(data[:-1] < 32)


def read(name: str, content: bytes, *, runtime: bool = False) -> bool:
    """Whether the file was a value; everything that is printed of it is made."""
    try:
        found = anatomy(get(name).open(content), runtime=runtime)
    except InputError as error:
        message = str(error)
    else:
        message = ""
    if message:
        assert "\n" not in message
        assert len(message) < 400
        return False
    assert plain(blocks(found))
    assert found.to_json()
    return True


def check(name: str, seeds: range) -> None:
    values = {RANDOM: [], CUT: [], CHANGED: []}
    for seed in seeds:
        how, content = broken(name, seed)
        values[how].append(read(name, content))
    assert not any(values[RANDOM])
    # Both outcomes are seen, so the changes are neither harmless nor all fatal.
    assert 0 < sum(values[CHANGED]) < len(values[CHANGED])


@both_formats
def test_a_hundred_broken_files_are_a_value_or_one_line(name):
    check(name, range(100))


@pytest.mark.exhaustive
@both_formats
def test_two_thousand_broken_files_are_a_value_or_one_line(name):
    check(name, range(1000, 3000))


@both_formats
@pytest.mark.parametrize("count", [6, pytest.param(60, marks=pytest.mark.exhaustive)])
def test_a_runtime_takes_broken_files_in_a_process_of_its_own(name, count):
    loaded, seed = 0, 10_000
    while loaded < count:
        how, content = broken(name, seed)
        seed += 1
        if how == CHANGED and read(name, content):
            assert read(name, content, runtime=True)
            loaded += 1


@both_formats
def test_broken_files_on_the_command_line_are_exit_code_2(name, tmp_path, capsys):
    refused = 0
    for seed in range(40):
        how, content = broken(name, seed)
        path = tmp_path / f"{seed}.{name}"
        path.write_bytes(content)
        code = cli.main(["inspect", str(path), "--no-runtime"])
        captured = capsys.readouterr()
        assert code in (0, 2), captured.err
        assert how == CHANGED or code == 2
        if code == 2:
            refused += 1
            assert captured.out == ""
            assert len(captured.err.splitlines()) == 1
            assert "Traceback" not in captured.err
    assert refused >= 20


def test_a_function_that_calls_itself_and_deep_graphs_are_a_value_or_one_line():
    helper = onnx.helper
    x, y = (helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1]) for name in "xy")
    inner = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "g", [], [y])
    for depth in range(25):  # a parser of ONNX refuses more
        node = (
            helper.make_node("If", ["c"], ["y"], then_branch=inner, else_branch=inner)
            if depth < 4
            else (helper.make_node("Loop", ["m", "c", "x"], ["y"], body=inner))
        )
        inner = helper.make_graph([node], "g", [], [y])
    flag = helper.make_tensor_value_info("c", onnx.TensorProto.BOOL, [])
    times = helper.make_tensor_value_info("m", onnx.TensorProto.INT64, [])
    inner.input.extend([x, flag, times])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    read("onnx", helper.make_model(inner, opset_imports=opsets).SerializeToString())
    function = helper.make_function(
        "own", "F", ["a"], ["b"], [helper.make_node("F", ["a"], ["b"], domain="own")], opsets
    )
    graph = helper.make_graph([helper.make_node("F", ["x"], ["y"], domain="own")], "g", [x], [y])
    assert read("onnx", helper.make_model(graph, opset_imports=opsets, functions=[function]).SerializeToString())


def test_small_files_that_claim_many_bytes_are_refused():
    import flatbuffers

    from quantize.tflite.flatbuffer import read_model
    from quantize.tflite.graph import schema

    model = read_model(sources("tflite")[1])
    for offset in range(50):
        part = schema.BufferT()
        part.offset, part.size = 64 + offset, 4096
        model.buffers.append(part)
        tensor = schema.TensorT()
        tensor.shape, tensor.type, tensor.buffer = [1024], 0, len(model.buffers) - 1
        model.subgraphs[0].tensors.append(tensor)
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    with pytest.raises(InputError, match="buffers that overlap"):
        anatomy(get("tflite").open(bytes(builder.Output())), runtime=False)
