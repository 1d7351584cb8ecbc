"""`bench` on a real export, in every runtime that is installed."""

import json
import re
from pathlib import Path

import pytest

from exporters.formats.base import get
from exporters.formats.tflite.runner import TfliteRuntimeRunner
from support.export_command import run

FILES = ("text_int8.tflite", "features_int8.tflite", "text_int8.onnx", "features_int8.onnx")
BYTES = ("bytes_int8.tflite", "bytes_int8.onnx")


@pytest.fixture(scope="module")
def exported(tmp_path_factory) -> Path:
    """The bundled PRADO."""
    folder = tmp_path_factory.mktemp("bench") / "out"
    done = run("--model", "prado", "--quantize", "int8", "--output", folder, cwd=folder.parent)
    assert done.returncode == 0, done.stderr
    return folder


def bench(exported: Path, *arguments: object):
    done = run("bench", *arguments, "--rounds", 5, "--seconds", 0.1, cwd=exported)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_all_files_run_in_all_runtimes(exported):
    document = json.loads(bench(exported, *FILES, "--runtime", "all", "--json"))
    lite = ["LiteRT", "tflite-runtime"] if TfliteRuntimeRunner.installed() else ["LiteRT"]
    assert [(file["path"], file["runtime"]) for file in document["files"]] == [
        *((name, runtime) for name in FILES[:2] for runtime in lite),
        *((name, "ONNX Runtime") for name in FILES[2:]),
    ]
    for file in document["files"]:
        (given,) = file["inputs"]
        assert (given["name"], given["dtype"]) == (
            ("text", "string") if "text" in file["path"] else ("features", "int8")
        )
        assert file["cpu"]["median_ms"] > 0
        assert file["cpu_ratio"]["median"] > 0
        assert file["size_bytes"] == (exported / file["path"]).stat().st_size
    assert document["command"].startswith("export-mobile bench text_int8.tflite")


def test_files_that_take_bytes_get_those_of_the_text(exported):
    document = json.loads(bench(exported, *BYTES, "--text", "café", "--runtime", "all", "--json"))
    lite = 2 if TfliteRuntimeRunner.installed() else 1
    given = [file["inputs"][0] for file in document["files"]]
    assert [(one["name"], one["dtype"]) for one in given] == [("text", "uint8")] * (lite + 1)
    size = json.loads((exported / "projection.json").read_text())["config"]["max_bytes"]
    assert [one["shape"] for one in given] == [*([[1, size]] * lite), [1, 5]]
    done = run("bench", BYTES[1], "--lengths", "8", cwd=exported)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].endswith("Received: bytes_int8.onnx with text [1, 'length'].")


@pytest.mark.parametrize(
    ("file", "shape", "words"),
    [
        (BYTES[0], "text=1", "--shape must give text as many sizes as the file, text=1,SIZE. Received: text=1."),
        (BYTES[0], "text=1,2,3", "as many sizes as the file, text=1,SIZE. Received: text=1,2,3."),
        (BYTES[0], "text=1,5", "--shape must fit the file, which takes text=1,SIZE. Received: text=1,5."),
        (BYTES[1], "text=1", "--shape must give text as many sizes as the file, text=1,length. Received: text=1."),
        (BYTES[1], "ids=1,64", "--shape must name an input: text. Received: ids."),
    ],
)
def test_a_shape_that_is_not_the_files_is_one_line_about_the_shape(exported, file, shape, words):
    size = json.loads((exported / "projection.json").read_text())["config"]["max_bytes"]
    done = run("bench", file, "--shape", shape, "--rounds", 5, "--seconds", 0.1, cwd=exported)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.endswith(words.replace("SIZE", str(size)))


def test_the_table_has_a_line_for_each_file_and_ratios_to_the_first(exported):
    lines = bench(exported, *FILES[1::2]).splitlines()
    assert re.match(r"5 rounds in turn, 1 thread, processor time, ", lines[0])
    first, second = (next(line for line in lines if line.startswith(name)) for name in FILES[1::2])
    assert re.search(r" LiteRT +[\d.]+ +[\d.]+ +[\d.]+ +1 ", first)
    assert re.search(r" ONNX Runtime +[\d.]+ +[\d.]+ +[\d.]+ +[\d.]+ \([\d.]+-[\d.]+\) ", second)


def test_files_of_any_length_at_several_lengths(exported):
    document = json.loads(bench(exported, *FILES[1::2], "--lengths", "8,32", "--json"))
    assert [(file["path"], file["length"], file["inputs"][0]["shape"][1]) for file in document["files"]] == [
        (name, length, length) for name in FILES[1::2] for length in (8, 32)
    ]
    done = run("bench", "text_int8.tflite", "--lengths", "8", cwd=exported)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].endswith("Received: text_int8.tflite with text [1].")


def test_the_lines_of_benchmark_model(exported):
    out = bench(exported, "features_int8.tflite", "--format", "benchmark_model")
    assert re.search(r"^INFO: Inference timings in us: Init: \d+, First inference: \d+, Warmup \(avg\): [\d.e+]+, "
                     r"Inference \(avg\): [\d.e+]+$", out, re.MULTILINE)  # fmt: skip
    assert "INFO: Graph: [features_int8.tflite]" in out


def test_the_batch_signature_of_a_features_in_file_takes_its_rows(exported):
    signatures = get("tflite").open(exported / "features_int8.tflite").signatures
    name = [*signatures][-1]
    assert len(signatures) > 1
    document = json.loads(bench(exported, "features_int8.tflite", "--signature", name, "--json"))
    (given,) = document["files"][0]["inputs"]
    rows, time, size = signatures[name].inputs[0].shape
    assert time == -1  # any, and the file's longest by default
    assert given["shape"] == [rows, json.loads((exported / "report.json").read_text())["model"]["max_seq_len"], size]


def test_two_threads_are_compared_by_wall_clock_time(exported):
    assert "2 threads, wall-clock time" in bench(exported, "features_int8.onnx", "--threads", 2)
