"""The official binary on a phone, with an `adb` that is a script: what is called, what is read, what is cleaned up."""

import json
import shlex
import stat
import sys
from pathlib import Path

import pytest

from exporters import BenchRequest, bench
from exporters.benchmarking import phone
from exporters.bytes_in.settings import BytesIn
from exporters.commands import main as cli
from exporters.formats.model_file import TensorInfo
from exporters.formats.tflite.bytes_in import bytes_in_model
from models_tf.errors import InputError
from models_tf.ops.projection.config import ProjectionConfig
from models_tf.ops.projection.tflite_model import projection_model
from quantize.tflite.flatbuffer import write_model
from support.bench_files import tflite_lookup

# Answers as a phone does: `a.tflite` takes 100, 101, ... microseconds, `b.tflite` half of that.
ADB = """#!{python}
import json, os, sys
calls = os.environ["ADB_CALLS"]
with open(calls, "a") as file:
    file.write(json.dumps(sys.argv[1:]) + "\\n")
count = sum(1 for line in open(calls) if "--graph" in line)
words = sys.argv[1:]
state = os.environ.get("ADB_STATE", "device")
if words == ["get-state"]:
    print(state)
    sys.exit(state != "device")
elif words[:2] == ["shell", "getprop"]:
    print({{"ro.product.model": "Test Phone 9", "ro.build.version.release": "15"}}[words[2]] + "\\r")
elif words[0] == "shell" and "--graph" in words[2]:
    if os.environ.get("ADB_FAILS"):
        print("INFO: STARTING!\\nERROR: Encountered unresolved custom op: Foo.\\nERROR: Benchmarking failed.")
        sys.exit(1)
    us = (100 + count // 2) // (1 + words[2].endswith("1.tflite"))
    print(f'''INFO: STARTING!
INFO: Loaded model
INFO: Initialized session in 2.5ms.
INFO: count=3 first=300 curr=150 min=150 max=300 avg=200 std=70 p5=150 median=150 p95=300

INFO: count=50 first={{us}} curr={{us}} min={{us}} max=999 avg={{us}}.5 std=3 p5={{us}} median={{us}} p95=120

INFO: Inference timings in us: Init: 2500, First inference: 300, Warmup (avg): 200, Inference (avg): {{us}}.5
INFO: Memory footprint delta from the start of the tool (MB): init=1 overall=4.5''')
"""


class Phone:
    """The script on PATH, and what it was called with."""

    def __init__(self, folder: Path) -> None:
        self.log = folder / "calls"
        self.binary = folder / "my benchmark_model"
        self.binary.write_bytes(b"\x7fELF")
        self.files = folder / "a.tflite", folder / "b; rm -rf .tflite"
        for path in self.files:
            path.write_bytes(tflite_lookup({"ids": 200, "segments": 2, "mask": 2}))

    @property
    def calls(self) -> list[list[str]]:
        return [json.loads(line) for line in self.log.read_text().splitlines()]

    def request(self, **values) -> BenchRequest:
        return BenchRequest(**{"files": self.files, "adb": True, "benchmark_binary": self.binary, "rounds": 5} | values)


@pytest.fixture
def fake(tmp_path, monkeypatch) -> Phone:
    program = tmp_path / "bin" / "adb"
    program.parent.mkdir()
    program.write_text(ADB.format(python=sys.executable))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(program.parent))
    found = Phone(tmp_path)
    monkeypatch.setenv("ADB_CALLS", str(found.log))
    return found


def test_files_are_pushed_run_in_turns_and_removed(fake):
    result = bench(fake.request(threads=2))
    calls = fake.calls
    assert calls[0] == ["get-state"]
    (folder,) = (words[2] for words in calls if words[:2] == ["shell", "mkdir"])
    assert folder.startswith("/data/local/tmp/export-mobile-")
    assert [words[1:] for words in calls if words[0] == "push"] == [
        [str(fake.binary), f"{folder}/benchmark_model"],
        [str(fake.files[0]), f"{folder}/0.tflite"],
        [str(fake.files[1]), f"{folder}/1.tflite"],
    ]
    assert ["shell", "chmod", "755", f"{folder}/benchmark_model"] in calls
    runs = [words for words in calls if words[0] == "shell" and words[1].endswith("benchmark_model")]
    assert [words[2][-8] for words in runs] == list("0110011001")
    assert runs[0][3:] == [
        "--num_threads=2",
        "--num_runs=50",
        "--input_layer=ids,segments,mask",
        "--input_layer_shape=1,8:1,8:1,8",
        "--input_layer_value_range=ids,1,99:segments,0,0:mask,1,1",
    ]
    assert calls[-1] == ["shell", "rm", "-rf", folder]
    assert (result.device, result.sample, result.clock) == (
        "Test Phone 9, Android 15",
        "run of benchmark_model",
        "wall",
    )


def test_times_are_the_medians_of_the_runs(fake):
    first, second = bench(fake.request()).files
    # The files take turns in starting a round; of the runs that the script counts, 1, 4, 5, 8 and 9 are the first's.
    assert first.wall_rounds_ms == pytest.approx((0.100, 0.102, 0.102, 0.104, 0.104))
    assert first.wall.median_ms == pytest.approx(0.102)
    assert second.wall.median_ms == pytest.approx(0.051)
    assert second.wall_ratio.median == pytest.approx(0.5, abs=0.01)
    assert (first.load_ms, first.first_ms, first.first_answer("cpu")) == pytest.approx((2.5, 0.3, 2.8))
    assert first.peak_bytes == 4.5 * (1 << 20)
    assert first.cpu is None


def test_the_command_prints_a_table_or_the_lines_of_the_phone(fake, capsys):
    command = ["bench", str(fake.files[0]), "--adb", "--benchmark-binary", str(fake.binary), "--rounds", "5"]
    assert cli.main(command) == 0
    out = capsys.readouterr().out
    assert "5 rounds in turn, 1 thread, wall-clock time, Test Phone 9, Android 15" in out
    assert "Each time is the median of one run of benchmark_model." in out
    assert cli.main([*command, "--format", "benchmark_model"]) == 0
    assert capsys.readouterr().out.count("Inference timings in us: Init: 2500") == 5
    assert cli.main([*command, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["files"][0]["cpu"] is None


def test_a_file_with_two_signatures_names_the_one_that_runs(fake):
    fake.files[0].write_bytes(tflite_lookup({"ids": 200}, signature="take", graphs=2))
    bench(fake.request(files=fake.files[:1]))
    assert "--signature_to_run_for=take_0" in fake.calls[-2]
    bench(fake.request(files=fake.files[:1], signature="take_1"))
    assert "--signature_to_run_for=take_1" in fake.calls[-2]


def test_what_the_binary_refuses_is_its_error_and_the_phone_is_cleaned(fake, monkeypatch):
    monkeypatch.setenv("ADB_FAILS", "1")
    with pytest.raises(InputError) as caught:
        bench(fake.request())
    assert str(caught.value) == (
        f"{fake.files[0]} must be a file that the phone's benchmark_model can run. "
        "Received: Encountered unresolved custom op: Foo."
    )
    assert fake.calls[-1][:3] == ["shell", "rm", "-rf"]


def test_a_bytes_in_file_gets_the_bytes_of_the_text_as_a_raw_file(fake, monkeypatch):
    config = ProjectionConfig(pad_to=4, feature_size=8, max_bytes=16)
    fake.files[0].write_bytes(write_model(bytes_in_model(BytesIn(config=config))))
    pushed = {}

    def push(adb, content, target):
        pushed[target] = content

    monkeypatch.setattr(phone, "_push", push)
    bench(fake.request(files=fake.files[:1], text="café"))
    ((target, content),) = pushed.items()
    assert content == "café".encode() + bytes(11)
    runs = [words for words in fake.calls if words[0] == "shell" and words[1].endswith("benchmark_model")]
    assert runs[0][3:] == [
        "--num_threads=1",
        "--num_runs=50",
        "--input_layer=text",
        "--input_layer_shape=1,16",
        f"--input_layer_value_files=text:{target}",
    ]


def test_a_text_in_file_is_refused_before_anything_is_pushed(fake):
    fake.files[0].write_bytes(projection_model(ProjectionConfig(feature_size=64, pad_to=12)))
    with pytest.raises(InputError, match="does not know the projection op: give the bytes-in file"):
        bench(fake.request(files=fake.files[:1]))
    assert not any(words[0] == "push" for words in fake.calls)


def test_all_that_is_missing_is_one_line_and_exit_code_2(fake, monkeypatch, capsys):
    monkeypatch.setenv("PATH", "/nowhere")
    assert cli.main(["bench", str(fake.files[0]), "--adb"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "Missing: adb on PATH (Android's platform-tools); --benchmark-binary FILE (TFLite's benchmark_model" in line


def test_a_phone_that_is_not_there_is_named_and_so_is_a_missing_binary(fake, monkeypatch):
    monkeypatch.setenv("ADB_STATE", "error: no devices/emulators found")
    with pytest.raises(InputError) as caught:
        bench(fake.request(benchmark_binary=fake.binary.with_name("absent")))
    assert "absent; a connected phone (adb get-state: no devices/emulators found; of several," in str(caught.value)
    assert fake.calls == [["get-state"]]


def info(name: str, dtype: str = "int32") -> TensorInfo:
    return TensorInfo(name=name, dtype=dtype, shape=(1, 8))


def test_flags_of_inputs_that_are_no_ids_have_no_range():
    assert phone.layer_flags([info("features", "int8")], {"features": (1, 5)}) == [
        "--input_layer=features",
        "--input_layer_shape=1,5",
    ]
    assert phone.layer_flags([], {}) == []


@pytest.mark.parametrize("names", [("a,b", "mask"), ("", "mask"), ("same", "same")])
def test_names_that_the_binary_cannot_take_become_numbers(names):
    flags = phone.layer_flags([info(name) for name in names], {})
    assert flags[0] == "--input_layer=input_1,input_2"
    assert flags[2].startswith("--input_layer_value_range=input_1,1,99:input_2,1,")


def test_names_of_converters_lose_what_the_binary_would_split():
    assert phone.layer_flags([info("serving_default_ids:0")], {"ids": (1, 4)})[:2] == [
        "--input_layer=ids",
        "--input_layer_shape=1,4",
    ]


def test_a_name_reaches_the_shell_of_the_phone_quoted(fake):
    fake.files[0].write_bytes(tflite_lookup({"x; reboot": 200}))
    bench(fake.request(files=fake.files[:1]))
    assert shlex.quote("--input_layer=x; reboot") in fake.calls[-2]
