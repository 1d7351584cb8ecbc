"""F12: an export holds one copy of large weights at a time; and how much that is, is measured with all processes."""

import gc
import json
import subprocess
import sys
import weakref
from pathlib import Path

import numpy as np
import pytest

from exporters import ExportRequest, export
from exporters.formats import artifacts
from exporters.formats.base import get
from exporters.formats.graph import Graph
from exporters.sources import base as sources
from models_tf.bert.config import CONFIG, PRESETS
from models_tf.checkpoints.tensors_on_disk import TensorFile, TensorsOnDisk
from models_tf.encoder.heads import CLASSIFICATION, make_head
from quantize.recipe import RECIPES
from support.tiny_models import write_checkpoint

ROOT = Path(__file__).parents[2]
RESULT = ROOT / "docs" / "results" / "memory.json"
GB = 1e9


def test_weights_on_disk_are_those_that_were_put_there_each_once(tmp_path):
    rng = np.random.default_rng(0)
    shared = rng.normal(size=(64, 32)).astype(np.float32)
    first = {
        "a": shared,
        "b": np.float32(3.5).reshape(()),
        "c": rng.integers(0, 9, (5, 7)).T,
        "empty": np.zeros((0, 4)),
    }
    file = TensorFile(tmp_path / "weights.bin")
    for tensors in (first, {"other name": shared}):
        found = TensorsOnDisk(tensors, file)
        assert list(found) == list(tensors)
        assert "missing" not in found
        for name, value in tensors.items():
            assert found[name].dtype == value.dtype
            np.testing.assert_array_equal(found[name], value)
    assert file.path.stat().st_size == sum(value.nbytes for value in first.values())


def test_F12_a_converted_graph_lets_go_of_its_function_and_the_weights_in_it():
    class Function:
        def __call__(self, **values):
            return values

    function = Function()
    there, graph = weakref.ref(function), Graph(name="model", function=function, inputs=())
    converted = artifacts.convert(graph, type("Format", (), {"convert": staticmethod(lambda _graph: b"")})())
    del function, graph
    gc.collect()
    assert there() is None
    assert converted.graph.name == "model"


def test_F12_a_large_file_is_not_kept_in_memory_and_a_small_one_is(tmp_path, monkeypatch):
    path = tmp_path / "a.onnx"
    path.write_bytes(bytes(100))
    placed = artifacts.Placed(name="a", format=get("onnx"), graph="model", recipe=RECIPES["int8"], path=path)
    for is_large in (False, True):
        placed.__dict__["file"] = "parsed"
        placed._runners["ids",] = "loaded"
        monkeypatch.setattr(artifacts, "_LARGE_BYTES", 100 if is_large else 101)
        placed.forget()
        assert ("file" in placed.__dict__) is not is_large
        assert bool(placed._runners) is not is_large


@pytest.mark.slow
def test_F12_the_weights_as_read_are_not_in_memory_while_files_are_made(tmp_path, monkeypatch):
    read, alive = [], []
    read_source, convert_graph = sources.load, artifacts.convert

    def load(request):
        source = read_source(request)
        read.extend(weakref.ref(value) for value in source.checkpoint.tensors.values())
        return source

    def convert(graph, target):
        gc.collect()
        alive.append(sum(one() is not None for one in read))
        return convert_graph(graph, target)

    monkeypatch.setattr(sources, "load", load)
    monkeypatch.setattr(artifacts, "convert", convert)
    checkpoint = write_checkpoint(tmp_path / "bert", "bert")
    report = export(
        ExportRequest(checkpoint=checkpoint, target=("tflite",), quantize="float32", output=tmp_path / "out")
    )
    assert report.passed
    assert len(read) > 20
    assert alive == [0]


def test_the_measurement_adds_up_all_processes_and_knows_the_stages(tmp_path):
    child = "import sys, time; x = bytearray(b'1') * (300 << 20); time.sleep(0.6)"
    parent = (
        "import subprocess, sys, time; y = bytearray(b'1') * (100 << 20); time.sleep(0.3); "
        "print('small'.ljust(44), '  0.3 s', file=sys.stderr, flush=True); "
        "subprocess.run([sys.executable, '-c', sys.argv[1]]); "
        "print('with a child'.ljust(44), '  0.6 s', file=sys.stderr, flush=True)"
    )
    command = [sys.executable, ROOT / "benchmarks" / "memory.py", "--name", "two", "--result", tmp_path / "memory.json"]
    subprocess.run([*command, "--", sys.executable, "-c", parent, child], check=True, capture_output=True, cwd=ROOT)
    found = json.loads((tmp_path / "memory.json").read_text())["runs"]["two"]
    assert found["peak_bytes"] >= 400 << 20
    assert found["processes"] == 2
    assert found["stages"]["with a child"] == found["peak_bytes"]
    assert 100 << 20 <= found["stages"]["small"] < 200 << 20


def test_the_preset_large_is_bert_large():
    config = CONFIG.from_document(PRESETS["large"])
    assert (config.num_layers, config.hidden_size, config.num_heads, config.intermediate_size) == (24, 1024, 16, 4096)
    shapes = config.shapes(make_head(CLASSIFICATION, ["0", "1"]))
    assert sum(int(np.prod(shape)) for shape in shapes.values()) == 335_143_938  # as `transformers` counts


@pytest.mark.docs
@pytest.mark.parametrize(("name", "most"), [("bert-base-int8", 5 * GB), ("bert-large-float32", 24 * GB)])
def test_F12_what_was_measured_is_within_the_promise(name, most):
    run = json.loads(RESULT.read_text(encoding="utf-8"))["runs"][name]
    assert run["exit_code"] == 0
    assert run["peak_bytes"] <= most
    assert run["peak_bytes"] >= max(run["stages"].values())


@pytest.mark.docs
def test_the_page_shows_what_was_measured():
    page = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
    for run in json.loads(RESULT.read_text(encoding="utf-8"))["runs"].values():
        stage = max(run["stages"], key=run["stages"].get)
        assert f"| {run['peak_bytes'] / GB:.2f} GB | {stage} |" in page
