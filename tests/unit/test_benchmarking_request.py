"""A request for a benchmark: what is refused, in one line, and which file runs where."""

from pathlib import Path

import pytest

from exporters import BenchRequest
from exporters.benchmarking import request as module
from exporters.commands import main as cli
from models_tf.errors import InputError


@pytest.fixture
def files(tmp_path) -> tuple[Path, Path]:
    """Present, and nothing more: a request does not open them."""
    found = tmp_path / "a.tflite", tmp_path / "b.onnx"
    for path in found:
        path.write_bytes(b"")
    return found


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"files": ()}, ["bench takes 1 to 64 model files. Received: 0."]),
        ({"files": ("model.pb",)}, ["bench takes .tflite or .onnx files", "model.pb"]),
        ({"files": ("absent.onnx",)}, ["absent.onnx (no such file)"]),
        ({"files": "absent.onnx"}, ["`files` must be a list of paths", "absent.onnx"]),
        ({"threads": 0}, ["`threads` must be 1 to 256. Received: 0."]),
        ({"threads": "two"}, ["`threads` must be a whole number", "two"]),
        ({"rounds": 4}, ["`rounds` must be 5 to"]),
        ({"seconds": 0}, ["`seconds` must be above 0"]),
        ({"seconds": float("nan")}, ["`seconds` must be above 0", "nan"]),
        ({"clock": "sun"}, ["`clock` must be cpu or wall. Received: sun."]),
        ({"runtime": "litrt"}, ["`runtime` must be some of litert, tflite-runtime, onnxruntime, all", "mean litert?"]),
        ({"runtime": "litert"}, ["b.onnx runs in onnxruntime. Received: `runtime` litert."]),
        ({"shape": "ids"}, ["`shape` must be an input and its sizes, such as ids=1,64. Received: 'ids'."]),
        ({"shape": ("ids=1,0",)}, ["`shape` must be", "ids=1,0"]),
        ({"shape": ("ids=1,-1",)}, ["`shape` must be", "ids=1,-1"]),
        ({"shape": ("=1",)}, ["`shape` must be"]),
        ({"shape": ("ids=1,9999999999",)}, ["`shape` must be"]),
        ({"lengths": "64,16"}, ["`lengths` must rise from 1 to at most 4096, as 16,64,128. Received: 64,16."]),
        ({"lengths": (16, 16)}, ["`lengths` must rise", "16,16"]),
        ({"lengths": (0, 16)}, ["`lengths` must rise from 1", "0,16"]),
        ({"lengths": (16, 4097)}, ["at most 4096", "16,4097"]),
        ({"lengths": "short"}, ["`lengths` must be numbers of tokens, such as 16,64,128. Received: 'short'."]),
        ({"lengths": "16", "shape": "ids=1,8"}, ["Give `lengths` or `shape`, not both. Received: `shape` ids=1,8."]),
        ({"lengths": tuple(range(1, 34))}, ["bench takes at most 64 files", "2 files, 33 lengths"]),
        ({"seed": -1}, ["`seed` must be 0"]),
        ({"benchmark_binary": "tool"}, ["`benchmark_binary` is for `adb`"]),
        ({"adb": True}, ["`adb` runs .tflite files", "b.onnx"]),
        ({"adb": True, "runtime": "litert"}, ["`adb` runs its own binary: leave out `runtime`"]),
        ({"adb": True, "clock": "cpu"}, ["`adb` measures wall-clock time"]),
    ],
)
def test_bad_values_are_refused_in_one_line(files, values, words):
    with pytest.raises(InputError) as caught:
        BenchRequest(**{"files": files} | values)
    assert "\n" not in str(caught.value)
    for word in words:
        assert word in str(caught.value)


def test_a_folder_is_no_model_file(tmp_path):
    (tmp_path / "x.onnx").mkdir()
    with pytest.raises(InputError, match=r"x\.onnx \(a folder\)"):
        BenchRequest(files=(tmp_path / "x.onnx",))


def runs(request: BenchRequest) -> list[tuple[str, str]]:
    return [(path.name, runtime.name) for path, runtime in request.jobs]


def test_by_default_each_file_runs_in_the_usual_runtime_of_its_format(files):
    assert runs(BenchRequest(files=files)) == [("a.tflite", "litert"), ("b.onnx", "onnxruntime")]


def test_named_runtimes_run_what_they_can(files, monkeypatch):
    monkeypatch.setattr(module, "_is_installed", lambda runtime: True)
    request = BenchRequest(files=files, runtime="onnxruntime, tflite-runtime,litert")
    assert runs(request) == [("a.tflite", "litert"), ("a.tflite", "tflite-runtime"), ("b.onnx", "onnxruntime")]


def test_all_means_those_that_are_installed(files, monkeypatch):
    monkeypatch.setattr(module, "_is_installed", lambda runtime: runtime.name != "tflite-runtime")
    assert runs(BenchRequest(files=files, runtime=("all",))) == [("a.tflite", "litert"), ("b.onnx", "onnxruntime")]
    with pytest.raises(InputError, match="`runtime` tflite-runtime needs tflite-runtime, which is not installed"):
        BenchRequest(files=files[:1], runtime="tflite-runtime")


def test_one_thread_is_compared_by_processor_time_and_several_by_the_clock_on_the_wall(files):
    assert BenchRequest(files=files).usual_clock == "cpu"
    assert BenchRequest(files=files, threads=2).usual_clock == "wall"
    assert BenchRequest(files=files, threads=2, clock="cpu").usual_clock == "cpu"
    assert BenchRequest(files=files[:1], adb=True).usual_clock == "wall"


def test_shapes_by_name(files):
    request = BenchRequest(files=files, shape=("ids=1,64", "a=b=3"))
    assert request.shapes == {"ids": (1, 64), "a=b": (3,)}


def test_two_forms_of_the_result_are_one_too_many(files, capsys):
    assert cli.main(["bench", str(files[0]), "--json", "--format", "benchmark_model"]) == 2
    assert "Give --json or --format, not both." in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], ["FILE", "See export-mobile bench --help."]),
        (["absent.tflite"], ["absent.tflite (no such file)"]),
        (["a.onnx", "--format", "xml"], ["--format", "xml"]),
        (["a.onnx", "--thread", "2"], ["--thread", "Did you mean --threads?"]),
        (["a.onnx", "--clock", "sun"], ["--clock", "sun"]),
    ],
)
def test_usage_errors_of_the_command_are_one_line(arguments, words, capsys):
    assert cli.main(["bench", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert len(captured.err.splitlines()) == 1
    for word in words:
        assert word in captured.err
