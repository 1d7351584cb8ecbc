"""The comparison of two commits' exports: what counts as equal, and where a difference is said to be."""

import json
import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).resolve().parents[2] / "tools"


@pytest.fixture
def tool(monkeypatch):
    monkeypatch.syspath_prepend(str(TOOLS))
    import compare_exports

    yield compare_exports
    for name in ("compare_exports", "export_cases", "export_inputs", "export_runs"):
        sys.modules.pop(name, None)


@pytest.fixture
def compare(tool, tmp_path):
    """The states of files with these contents, by name."""
    from export_runs import Run

    def call(before: dict[str, bytes], after: dict[str, bytes]) -> dict[str, tuple[str, str]]:
        runs, found = [], []
        for role, files in (("reference", before), ("candidate", after)):
            runs.append(Run(folder=tmp_path / role, libraries=tmp_path, tree="", keys={}))
            found.append({name: tmp_path / role / name for name in files})
            (tmp_path / role).mkdir()
            for name, content in files.items():
                (tmp_path / role / name).write_bytes(content)
        return {result.name: (result.state, result.detail) for result in tool._compare_files(*found, runs)}

    return call


def test_a_byte_that_differs_is_named_and_so_is_a_file_too_many_or_too_few(compare):
    before = {"a.onnx": b"same", "b.onnx": b"one", "c.onnx": b"longer", "gone.txt": b"", "report.md": b"1 s"}
    after = {"a.onnx": b"same", "b.onnx": b"onE", "c.onnx": b"long", "new.txt": b"", "report.md": b"2 s"}
    assert compare(before, after) == {
        "a.onnx": ("equal", ""),
        "b.onnx": ("different", "3 -> 3 bytes, first difference at 2"),
        "c.onnx": ("different", "6 -> 4 bytes, first difference at 4"),
        "gone.txt": ("absent", ""),
        "new.txt": ("added", ""),
        "report.md": ("skipped", "report.json as text, with its times"),
    }


@pytest.mark.parametrize(
    ("change", "detail"),
    [
        ({"seconds": {"verify": 2.0}}, ""),
        ({"latency": [{"file": "a", "median_ms": 9.0, "runs": 3}]}, ""),
        ({"latency": [{"file": "b", "median_ms": 1.0, "runs": 9}]}, 'latency.0.file: "a" -> "b"'),
        ({"parity": [0.2]}, "parity.0: 0.1 -> 0.2"),
        ({"notes": ["new"]}, 'notes: [] -> "absent"; notes.0: "absent" -> "new"'),
    ],
)
def test_times_in_a_report_may_differ_and_results_may_not(compare, change, detail):
    report = {"parity": [0.1], "notes": [], "seconds": {"verify": 1.0}}
    report["latency"] = [{"file": "a", "median_ms": 1.0, "runs": 9}]
    files = [{"report.json": json.dumps(document).encode()} for document in (report, {**report, **change})]
    assert compare(*files) == {"report.json": ("different" if detail else "equal", detail)}


def test_a_path_into_the_checkout_counts_by_its_last_part(compare, tmp_path):
    paths = [
        str(tmp_path / role / "checkout" / folder / "eval.tsv")
        for role, folder in (("reference", "a"), ("candidate", "b"))
    ]
    files = [{"report.json": json.dumps({"a": 1, "source": path}).encode()} for path in paths]
    assert compare(*files)["report.json"] == ("equal", "")


def test_keys_in_another_order_are_a_difference(compare):
    files = [{"report.json": json.dumps(document).encode()} for document in ({"a": 1, "b": 2}, {"b": 2, "a": 1})]
    assert compare(*files)["report.json"] == ("different", "the same values in another order")


def test_the_list_reads_only_inputs_that_are_made_and_a_changed_input_changes_the_keys_of_its_cases(tool):
    from export_runs import keys_of

    cases, files = tool.all_cases(), tool.inputs()
    assert files == tool.inputs()
    folders = {name.split("/")[0] for name in files} | set(files)
    assert {name for case in cases for name in case.inputs} <= folders
    before, after = keys_of(cases, files), keys_of(cases, {**files, "albert/config.json": b""})
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"train-albert-tuned", "albert-float32", "albert-fp16", "albert-int8-dynamic", "albert-int8"}


@pytest.mark.parametrize(
    "arguments", [[], ["no-such-revision"], ["HEAD", "--only", "nothing-*"], ["HEAD", "--jobs", "0"]]
)
def test_bad_usage_has_exit_code_2(tool, arguments):
    try:
        code = tool.main(arguments)
    except SystemExit as leave:
        code = leave.code
    assert code == 2
