"""F13: no command opens a socket of the internet or leaves a file under HOME. Hub ids and `setup` alone may connect."""

import json
import re
import shutil
import subprocess
import sys

import pytest

from exporters.commands.main import COMMANDS
from support.export_command import environment
from support.tiny_models import write_checkpoint, write_projection

STRACE = shutil.which("strace")
INTERNET = re.compile(r"\b(?:socket|connect|sendto|bind)\(.*AF_INET6?\b.*")
# What would answer for us, or bring a browser and node, whose sockets on this machine are not ours.
NOT_GIVEN = (
    "ORT_DISABLE_TELEMETRY", "KERAS_HOME", "MPLCONFIGDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "EXPORT_MOBILE_CACHE",
    "NODE_PATH",
)  # fmt: skip
# Each command as its user starts it, one after the other: TensorFlow takes seconds to import.
DRIVER = """
import json, sys
from exporters.__main__ import main
for arguments in json.loads(sys.argv[1]):
    sys.argv = ["export-mobile", *arguments]
    code = main()
    if code:
        sys.exit(f"{arguments}: {code}")
"""
ROWS = "text\tlabel\n" + "".join(
    f"{text}\t{label}\n"
    for text, label in (("play a song", "yes"), ("book a table", "no"), ("the rain", "perhaps")) * 4
)
EXPORT = (
    "--quantize",
    "int8",
    "--target",
    "tflite,onnx",
    "--graphs",
    "features,text,bytes",
    "--output",
    "export",
    "--checkpoint",
    "prado",
)
BERT = ("--checkpoint", "bert")
RUNS = {
    "train": ("--model", "prado", "--train", "rows.tsv", "--dev", "rows.tsv", "--epochs", "1", "--output", "trained"),
    "compress": (*BERT, "--drop-layers", "1", "--output", "smaller"),
    "ablate": (*BERT, "--data", "rows.tsv", "--what", "layers"),
    "profile": (*BERT, "--rounds", "5"),
    "explain": ("--checkpoint", "power", "--text", "play a song"),
    "inspect": ("export/features_int8.onnx",),
    "bench": ("export/features_int8.onnx", "export/features_int8.tflite", "--seconds", "0.2"),
    "check": ("export", "--data", "rows.tsv", "--max-size", "10MB"),
    "ledger": ("export", "--data", "rows.tsv"),
    "compare": ("export",),
    "android": ("export", "--package", "com.example.app", "--output", "app"),
    "verify": ("export",),
    "models": (),
    "clean": (".",),
    "completion": ("bash",),
}
ELSEWHERE = {
    "export": "a test of its own",
    "setup": "fetches packages from their registries: that is what it is for",
    "demo": "serves its page on 127.0.0.1",
}
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(STRACE is None, reason="strace is not installed (apt-get install strace)"),
]


def traced(place, code, *arguments):
    """Calls of the internet families by a Python program and all processes that it starts."""
    log = place / "strace.log"
    trace = [str(STRACE), "-f", "-qq", "--seccomp-bpf", "-e", "trace=socket,connect,sendto,bind", "-o", str(log)]
    given = {name: value for name, value in environment().items() if name not in NOT_GIVEN}
    done = subprocess.run(
        [*trace, sys.executable, "-c", code, *arguments],
        cwd=place,
        env=given | {"HOME": str(place / "home"), "TMPDIR": str(place / "tmp")},
        capture_output=True,
        text=True,
        timeout=550,
        check=False,
    )
    if "PTRACE" in done.stderr or "ptrace" in done.stderr:
        pytest.skip("strace may not trace here: ptrace is not permitted")
    assert done.returncode == 0, done.stderr[-3000:]
    return INTERNET.findall(log.read_text(errors="replace"))


def left_behind(place):
    return [path for name in ("home", "tmp") for path in (place / name).rglob("*")]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    place = tmp_path_factory.mktemp("place")
    write_projection(place / "prado", ["no", "yes", "perhaps"])
    write_checkpoint(place / "bert", "bert")
    write_checkpoint(place / "power", "powerbert")
    (place / "rows.tsv").write_text(ROWS)
    (place / "app").mkdir()
    (place / "app" / "build.gradle.kts").write_text("")
    (place / "home").mkdir()
    (place / "tmp").mkdir()
    return place


@pytest.fixture(scope="module")
def export_calls(place):
    rows = ("--eval-data", "rows.tsv", "--calibration-data", "rows.tsv", "--max-drop", "100")
    return traced(place, DRIVER, json.dumps([[*EXPORT, *rows]]))


def test_F13_an_export_opens_no_socket_and_leaves_nothing_in_home_and_tmp(place, export_calls):
    assert export_calls == []
    assert left_behind(place) == []


def test_F13_no_other_command_opens_a_socket_or_leaves_something_there(place, export_calls):
    assert traced(place, DRIVER, json.dumps([[name, *arguments] for name, arguments in RUNS.items()])) == []
    assert left_behind(place) == []


def test_every_command_is_traced_or_may_connect_for_a_reason():
    assert RUNS.keys() | ELSEWHERE.keys() == COMMANDS.keys()
    assert not RUNS.keys() & ELSEWHERE.keys()


def test_a_socket_would_be_seen_in_a_process_that_a_program_starts(place):
    inner = "import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).connect(('192.0.2.1', 9))"
    found = traced(place, "import subprocess, sys; subprocess.run([sys.executable, '-c', sys.argv[1]])", inner)
    assert any("192.0.2.1" in call for call in found)
