"""A ledger as text, JSON and exit code; and the table of which files are meant for which runtime."""

import dataclasses
import json
import math
from pathlib import Path
from types import SimpleNamespace

import pytest

import exporters
from exporters.errors import ParityError
from exporters.formats.model_file import Signature, TensorInfo
from exporters.ledgers import text
from exporters.ledgers.request import LedgerRequest
from exporters.ledgers.result import RAN, REFERENCE, REFUSED, Entry, Ledger, RuntimeRecord
from exporters.runtimes import rules
from models_tf.errors import InputError

RUNTIMES = (
    RuntimeRecord(name="litert", title="LiteRT", processor="x86_64", version="2.3.0"),
    RuntimeRecord(name="litert-js", title="LiteRT.js", processor="WebAssembly", missing="Chromium"),
    RuntimeRecord(name="openvino", title="OpenVINO", processor="x86_64", version="2026.4"),
)
SAME = {"tolerance": 0.1, "max_abs": 0.0, "mean_abs": 0.0, "labels": 5, "same": 5, "keras_same": 4}


def made(*entries, **changes):
    values = {"folder": "out", "model": "prado", "data": "d.tsv", "rows": 5, "runtimes": RUNTIMES, "entries": entries}
    return Ledger(**{**values, **changes})


def entry(runtime="litert", status=REFERENCE, **changes):
    return Entry(file="a_int8.tflite", runtime=runtime, status=status, **changes)


def test_a_file_that_is_not_meant_for_a_runtime_fails_nothing_and_its_message_is_shown():
    refused = entry("openvino", REFUSED, meant=False, reason="reads bytes", message="no translator | for it")
    result = made(entry(**SAME), refused)
    assert (result.passed, result.exit_code) == (True, 0)
    lines = [block for block in text.blocks(result) if isinstance(block, str)]
    assert lines[0] == "a_int8.tflite in OpenVINO: reads bytes. It said: no translator | for it"
    assert lines[1] == "not installed: LiteRT.js, needs Chromium"
    assert lines[-1] == "PASS: 3 of 4 runtimes, 5 rows of d.tsv"


def test_a_runtime_that_refuses_a_file_meant_for_it_fails_with_the_code_of_parity():
    result = made(entry(**SAME), entry("openvino", REFUSED, message="signal 11", passed=False))
    assert result.exit_code == 5
    with pytest.raises(ParityError, match="in openvino: signal 11"):
        result.raise_for_failures()
    assert "FAIL: 1 of 2 entries" in text.blocks(result)[-1]


def test_json_has_no_infinity_and_its_fields_stay():
    far = entry("openvino", RAN, **(SAME | {"max_abs": math.inf, "mean_abs": math.inf}), passed=False)
    document = json.loads(made(far).to_json(), parse_constant=pytest.fail)
    assert document["ledger_version"] == 1
    assert document["entries"][0]["max_abs"] is None
    assert set(document) == {
        "ledger_version", "passed", "exit_code", "folder", "model", "data", "rows", "runtimes", "entries", "keras",
        "notes",
    }  # fmt: skip
    assert set(document["entries"][0]) == {field.name for field in dataclasses.fields(Entry)}


def test_markdown_is_one_table_whatever_a_runtime_says():
    shown = text.markdown(made(entry("openvino", REFUSED, message="<b> | `x`\n", passed=False)))
    rows = [line for line in shown.splitlines() if line.startswith("| a")]
    assert len(rows) == 1
    assert "<b>" not in shown


def file(format_name="tflite", min_runtime="TensorFlow Lite 2.14", content=b"", ops=(), inputs=(), outputs=()):
    infos = [
        tuple(TensorInfo(name=name, dtype=kind, shape=(1, 8)) for name, kind in side) for side in (inputs, outputs)
    ]
    return SimpleNamespace(
        format=format_name, min_runtime=min_runtime, content=content, ops=dict.fromkeys(ops, 1),
        signatures={"serving_default": Signature(inputs=infos[0], outputs=infos[1])},
    )  # fmt: skip


FLOATS = {"inputs": [("ids", "int32")], "outputs": [("logits", "float32")]}
CASES = [
    (rules.TFLITE_RUNTIME, file(min_runtime="TensorFlow Lite 2.14", **FLOATS), ""),
    (rules.TFLITE_RUNTIME, file(min_runtime="TensorFlow Lite 2.9", **FLOATS), ""),
    (rules.TFLITE_RUNTIME, file(min_runtime="TensorFlow Lite 2.15", **FLOATS), "newer runtime"),
    (rules.TFLITE_RUNTIME, file(min_runtime="LiteRT 1.0", **FLOATS), "LiteRT 1.0"),
    (rules.TFLITE_RUNTIME, file(min_runtime="", **FLOATS), "newer runtime"),
    (rules.LITERT, file(min_runtime="LiteRT 1.0", **FLOATS), ""),
    (rules.LITERT_JS, file(**FLOATS), ""),
    (rules.LITERT_JS, file(inputs=[("ids", "int32")], outputs=[("logits", "int8")]), "--io float32"),
    (rules.LITERT_JS, file(inputs=[("features", "int8")], outputs=[("logits", "float32")]), "--io float32"),
    (rules.ORT_WEB, file("onnx", content=b"..SequenceProjection..", **FLOATS), "bytes-in"),
    (rules.ONNXRUNTIME, file("onnx", content=b"..SequenceProjection..", **FLOATS), ""),
    (rules.OPENVINO, file(inputs=[("text", "uint8")], outputs=[("logits", "float32")]), "features-in"),
    (rules.OPENVINO, file(ops=["TOPK_V2"], **FLOATS), "drops tokens"),
    (rules.OPENVINO, file(**FLOATS), ""),
]


@pytest.mark.parametrize(("runtime", "given", "reason"), CASES)
def test_rules_tell_which_files_are_for_a_runtime(runtime, given, reason):
    found = rules.not_for(runtime, given)
    assert reason in found
    assert bool(found) == bool(reason)


@pytest.mark.parametrize(
    ("changes", "message"), [({"rows": 0}, "at least 1"), ({"output": "ledger.html"}, ".json or .md")]
)
def test_a_wrong_request_is_one_line(tmp_path, changes, message):
    values = {name: Path(value) if name == "output" else value for name, value in changes.items()}
    with pytest.raises(InputError, match=message):
        LedgerRequest(folder=tmp_path, **values)


def test_the_function_is_not_hidden_by_a_module_of_its_name():
    assert callable(exporters.ledger)
