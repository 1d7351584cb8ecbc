"""Files in processes of their own: right inputs, turns that are fair, and any end of a process as one line."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from exporters import BenchRequest, bench
from exporters.benchmarking import workers
from exporters.benchmarking.worker import Job, Loaded
from exporters.commands import main as cli
from models_tf.errors import InputError
from models_tf.ops.projection.config import ProjectionConfig
from models_tf.ops.projection.tflite_model import projection_model
from support.bench_files import crashes_litert, onnx_lookup, tflite_lookup
from support.export_command import command, environment

QUICK = {"rounds": 5, "seconds": 0.01}


@pytest.fixture
def lookups(tmp_path) -> tuple[Path, Path]:
    found = tmp_path / "a.tflite", tmp_path / "b.onnx"
    found[0].write_bytes(tflite_lookup({"ids": 200, "mask": 2}, signature="serving_default"))
    found[1].write_bytes(onnx_lookup({"ids": 200, "mask": 2}))
    return found


def test_files_of_both_formats_are_measured_side_by_side(lookups):
    result = bench(BenchRequest(files=lookups, **QUICK), command="export-mobile bench")
    assert [file.runtime for file in result.files] == ["LiteRT", "ONNX Runtime"]
    assert (result.rounds, result.clock, result.sample) == (5, "cpu", "call")
    for file, path in zip(result.files, lookups, strict=True):
        assert file.path == str(path)
        assert file.size_bytes == path.stat().st_size
        assert len(file.wall_rounds_ms) == len(file.cpu_rounds_ms) == result.rounds
        assert file.wall.count == file.cpu.count == len(file.calls_us)
        assert file.wall.count % result.rounds == 0
        assert 0 < file.wall.min_ms <= file.wall.median_ms <= file.wall.p95_ms <= file.wall.max_ms
        assert file.load_ms > 0
        assert file.load_cpu_ms > 0
        assert file.first_answer("wall") == file.load_ms + file.first_ms
        assert file.first_answer("cpu") == file.load_cpu_ms + file.first_cpu_ms
        assert file.warm_up.count >= 3
        assert file.peak_bytes >= 0
    first, second = result.files
    assert (first.cpu_ratio.median, first.wall_ratio.q1, first.wall_ratio.q3) == (1, 1, 1)
    assert second.cpu_ratio.q1 <= second.cpu_ratio.median <= second.cpu_ratio.q3
    assert [(each["name"], each["shape"], each["was_open"]) for each in second.inputs] == [
        ("ids", [1, 128], True),
        ("mask", [1, 128], True),
    ]
    assert [(each["name"], each["shape"], each["was_open"]) for each in first.inputs] == [
        ("ids", [1, 8], False),
        ("mask", [1, 8], False),
    ]


def test_the_result_as_table_json_and_lines(lookups):
    result = bench(BenchRequest(files=lookups, **QUICK))
    text = result.summary()
    assert "5 rounds in turn, 1 thread, processor time" in text
    assert "b.onnx leaves sizes open; measured with ids [1, 128], mask [1, 128]" in text
    row = next(line for line in text.splitlines() if line.startswith("b.onnx  "))
    assert f"{result.files[1].cpu.median_ms:.3f}" in row
    document = json.loads(result.to_json())
    assert document["bench_version"] == 1
    assert document["files"][1]["cpu"]["median_ms"] == result.files[1].cpu.median_ms
    assert document["files"][1]["cpu"]["spread_ms"] == result.files[1].cpu.spread_ms
    assert "calls_us" not in document["files"][0]
    assert result.benchmark_model().count("Inference timings in us: Init: ") == 2


def test_shapes_resize_the_inputs_of_both_formats(lookups):
    wanted = BenchRequest(files=lookups, shape=("ids=2,33", "mask=2,33"), **QUICK)
    assert [each["shape"] for file in bench(wanted).files for each in file.inputs] == [[2, 33]] * 4


def test_a_shape_of_no_input_is_refused_with_the_names(lookups):
    with pytest.raises(InputError, match=r"`shape` must name an input: ids, mask\. Received: idz\."):
        bench(BenchRequest(files=lookups, shape="idz=1,8", **QUICK))


def test_a_shape_that_the_runtime_refuses_is_one_line_with_that_of_the_file(tmp_path):
    path = tmp_path / "fixed.onnx"
    path.write_bytes(onnx_lookup({"ids": 200}, shape=(1, 8)))
    for shape, takes in (("ids=1,7", "ids=1,8"), ("ids=1,9", "at most ids=1,8")):
        with pytest.raises(InputError) as caught:
            bench(BenchRequest(files=(path,), shape=shape, **QUICK))
        assert str(caught.value) == f"{path}: `shape` must fit the file, which takes {takes}. Received: {shape}."


@pytest.mark.parametrize("shape", ["ids=1", "ids=1,8,3"])
@pytest.mark.parametrize("number", [0, 1])
def test_a_shape_of_another_rank_is_one_line_that_names_the_flag(lookups, shape, number, capsys):
    assert cli.main(["bench", str(lookups[number]), "--shape", shape]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert f"{lookups[number]}: --shape must give ids as many sizes as the file, ids=" in line
    assert line.endswith(f". Received: {shape}.")


def test_each_length_is_a_row_and_a_process(lookups, tmp_path):
    result = bench(BenchRequest(files=lookups[1:], lengths="16,33", **QUICK))
    assert [(file.length, [each["shape"] for each in file.inputs]) for file in result.files] == [
        (16, [[1, 16]] * 2),
        (33, [[1, 33]] * 2),
    ]
    header, *rows = (line.split() for line in result.summary().splitlines() if line.startswith(("file ", "b.onnx")))
    assert header[2] == "tokens"
    assert [row[3] for row in rows] == ["16", "33"]  # "ONNX Runtime" are two words
    assert "leaves sizes open" not in result.summary()
    assert [file["length"] for file in json.loads(result.to_json())["files"]] == [16, 33]
    fixed = tmp_path / "fixed.onnx"
    fixed.write_bytes(onnx_lookup({"ids": 200}, shape=(1, 8)))
    with pytest.raises(InputError, match=r"any number of tokens\. Received: .*fixed\.onnx with ids \[1, 8\]\."):
        bench(BenchRequest(files=(fixed,), lengths=(4, 8), **QUICK))


@pytest.mark.parametrize("name", ["x.tflite", "x.onnx"])
def test_ids_beyond_a_small_table_become_ones(tmp_path, name):
    tables = {"first": 200, "second": 2}  # nothing in the name says that it has two rows
    (tmp_path / name).write_bytes(tflite_lookup(tables) if name.endswith("tflite") else onnx_lookup(tables))
    assert bench(BenchRequest(files=(tmp_path / name,), **QUICK)).files[0].wall.count >= 5


def test_a_signature_runs_by_its_name_and_an_unknown_one_is_refused(tmp_path):
    path = tmp_path / "two.tflite"
    path.write_bytes(tflite_lookup({"ids": 200}, signature="take", graphs=2))
    found = bench(BenchRequest(files=(path,), signature="take_1", **QUICK)).files[0]
    assert found.signature == "take_1"
    with pytest.raises(InputError, match=r"must have the signature take\. Received: take_0, take_1\."):
        bench(BenchRequest(files=(path,), signature="take", **QUICK))


def test_names_of_other_converters_are_read_as_their_author_wrote_them(tmp_path):
    path = tmp_path / "x.tflite"
    path.write_bytes(tflite_lookup({"serving_default_mask:0": 2}))
    assert [each["name"] for each in bench(BenchRequest(files=(path,), **QUICK)).files[0].inputs] == ["mask"]


def test_the_projection_op_gets_a_text(tmp_path):
    path = tmp_path / "text.tflite"
    path.write_bytes(projection_model(ProjectionConfig(feature_size=64, pad_to=12)))
    (found,) = bench(BenchRequest(files=(path,), **QUICK)).files
    assert [each["dtype"] for each in found.inputs] == ["string"]


@pytest.mark.parametrize(
    ("name", "content"),
    [("x.tflite", b""), ("x.tflite", b"\x1c\0\0\0TFL3" + bytes(99)), ("x.onnx", b"PK\x03\x04"), ("x.onnx", bytes(64))],
)
def test_what_is_no_model_is_one_line_and_exit_code_2(name, content, tmp_path, capsys):
    (tmp_path / name).write_bytes(content)
    assert cli.main(["bench", str(tmp_path / name)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert len(captured.err.splitlines()) == 1
    assert f"{name} must be a .{name[2:]} file that is whole" in captured.err


def test_an_operator_that_the_runtime_does_not_know_is_one_line_and_exit_code_2(tmp_path, capsys):
    path = tmp_path / "strange.onnx"
    path.write_bytes(onnx_lookup({"ids": 9}).replace(b"Gather", b"Gathor"))
    assert cli.main(["bench", str(path)]) == 2
    captured = capsys.readouterr()
    assert len(captured.err.splitlines()) == 1
    assert f"{path} must be a file that ONNX Runtime can run. Received: " in captured.err
    assert "Gathor" in captured.err


def test_a_file_that_crashes_the_runtime_is_one_line_and_exit_code_2(lookups, tmp_path, capsys):
    path = tmp_path / "crash.tflite"
    path.write_bytes(crashes_litert())
    assert cli.main(["bench", str(lookups[0]), str(path)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    (line,) = captured.err.splitlines()
    assert line == (
        f"export-mobile: {path} must be a file that LiteRT can run. "
        "Received: a process that crashed with signal 11 while it loaded and first ran the file."
    )


def job(path: Path) -> Job:
    return Job(
        path=str(path),
        format="onnx",
        runtime="onnxruntime",
        projection=False,
        threads=1,
        signature=None,
        shapes={},
        text="",
        seed=0,
    )


def test_a_process_that_is_killed_between_rounds_is_one_line(lookups):
    with workers.started([(job(lookups[1]), "b.onnx", "ONNX Runtime")]) as (worker,):
        worker.load()
        os.kill(worker.pid, signal.SIGKILL)
        with pytest.raises(InputError) as caught:
            worker.calls(3)
    assert str(caught.value) == (
        "b.onnx must be a file that ONNX Runtime can run. "
        "Received: a process that crashed with signal 9 while it ran the file."
    )


# A worker that runs as the real one and does something else than answer.
STAND_IN = (sys.executable, "-c")


def test_a_runtime_that_aborts_is_one_line_and_exit_code_2(lookups, monkeypatch, capsys):
    abort = (
        "import os, sys; sys.stdin.readline(); print('tensor 7 is broken.', file=sys.stderr, flush=True); os.abort()"
    )
    monkeypatch.setattr(workers, "COMMAND", (*STAND_IN, abort))
    assert cli.main(["bench", str(lookups[0])]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    (line,) = captured.err.splitlines()
    assert line == (
        f"export-mobile: {lookups[0]} must be a file that LiteRT can run. Received: a process that crashed with "
        "signal 6 (tensor 7 is broken) while it loaded and first ran the file."
    )


def test_a_process_that_never_answers_is_given_up(lookups, monkeypatch):
    monkeypatch.setattr(workers, "COMMAND", (*STAND_IN, "import time; time.sleep(60)"))
    monkeypatch.setattr(workers, "ANSWER_SECONDS", 0.2)
    with pytest.raises(InputError, match=r"no answer in 0\.2 seconds"):
        bench(BenchRequest(files=lookups[:1], **QUICK))


def test_all_processes_end_with_the_block(lookups):
    with workers.started([(job(lookups[1]), "b.onnx", "ONNX Runtime")] * 2) as found:
        pids = [worker.pid for worker in found]
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="finds processes in Linux's /proc")
def test_a_command_that_is_ended_takes_its_processes_with_it(lookups):
    typed = [*map(str, lookups), "--rounds", "10000", "--seconds", "600"]
    with subprocess.Popen(
        command("bench", *typed), env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        end = time.monotonic() + 60
        while len(found := workers_of(process.pid)) < 2 and time.monotonic() < end:
            time.sleep(0.1)
        process.terminate()
        _, said = process.communicate(timeout=60)
    assert len(found) == 2
    assert process.returncode == 128 + signal.SIGTERM
    assert said == "export-mobile: terminated. Nothing was written.\n"
    while any(map(is_running, found)) and time.monotonic() < end + 60:
        time.sleep(0.1)
    assert not any(map(is_running, found))


def workers_of(parent: int) -> list[int]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            is_child = f"\nPPid:\t{parent}\n" in (folder / "status").read_text()
            if is_child and b"exporters.benchmarking.worker" in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
    return found


def is_running(pid: int) -> bool:
    """Nobody may be there to bury it: a zombie has ended."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


class Counted:
    """A worker that keeps the order of the calls."""

    def __init__(self, name: str, order: list[str]) -> None:
        self.name, self.order = name, order

    def calls(self, count: int) -> dict[str, list[int]]:
        self.order.append(self.name)
        return {"wall": [1] * count, "cpu": [1] * count}


def loaded(*warm_up_ns: int) -> Loaded:
    return Loaded(load_ns={}, first_ns={}, warm_up_ns=warm_up_ns, fed=())


def test_every_round_starts_with_another_file():
    order: list[str] = []
    group = [Counted(name, order) for name in "abc"]
    found = workers.take_turns(group, [loaded(10**9)] * 3, rounds=6, seconds=60)
    assert "".join(order) == "abcbcacab" * 2
    assert [len(rounds) for rounds in found] == [6, 6, 6]


def test_time_ends_the_rounds_but_five_are_always_made():
    group = [Counted("a", [])]
    assert len(workers.take_turns(group, [loaded(1)], rounds=1000, seconds=1e-9)[0]) == 5


@pytest.mark.parametrize(("warm_up", "calls"), [([40_000, 50_000], 125), ([10**9], 1), ([1, 5], 200), ([0, 5], 200)])
def test_a_burst_is_about_five_milliseconds(warm_up, calls):
    assert workers.burst(warm_up) == calls
