"""F13: runtimes send no events from our processes, unless the user says so."""

import subprocess
import sys
from pathlib import Path

import pytest

from support.export_command import environment

NAME = "ORT_DISABLE_TELEMETRY"


@pytest.mark.parametrize("package", ["exporters", "models_tf", "quantize"])
@pytest.mark.parametrize(("given", "seen"), [({}, "1"), ({NAME: "0"}, "0")], ids=["by default", "the user's choice"])
def test_F13_importing_a_package_of_ours_switches_the_events_of_onnx_runtime_off(package, given, seen):
    kept = {name: value for name, value in environment().items() if name != NAME}
    code = f"import os, {package}; print(os.environ['{NAME}'])"
    done = subprocess.run([sys.executable, "-c", code], env=kept | given, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == seen


def test_F13_onnx_runtime_leaves_no_device_id(tmp_path):
    """The switch is the right one: if a release renames it, this fails."""
    kept = {name: value for name, value in environment().items() if name not in (NAME, "XDG_CACHE_HOME")}
    code = (
        "import onnx\nfrom quantize.onnx.session import make_session\n"
        "value, out = (onnx.helper.make_tensor_value_info(name, 1, [1]) for name in 'xy')\n"
        "node = onnx.helper.make_node('Neg', ['x'], ['y'])\n"
        "graph = onnx.helper.make_graph([node], 'g', [value], [out])\n"
        "model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid('', 21)], ir_version=10)\n"
        "make_session(model.SerializeToString())\n"
    )
    places = {name: tmp_path / name for name in ("HOME", "TMPDIR")}
    for place in places.values():
        place.mkdir()
    subprocess.run([sys.executable, "-c", code], env=kept | {name: str(p) for name, p in places.items()}, check=True)
    assert [path for place in places.values() for path in Path(place).rglob("*")] == []
