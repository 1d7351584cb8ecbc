"""Tables that `benchmarks/peer_table.py` makes of what was measured."""

import runpy
from pathlib import Path
from typing import Any

import pytest

TABLE = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "peer_table.py"))


def entry(tool: str, runtime: str, recipe: str, right: int, ms: float) -> dict[str, Any]:
    taken = {"low": ms, "median": ms, "high": ms}
    return {
        "tool": tool,
        "runtime": runtime,
        "recipe": recipe,
        "any_length": tool == "export-mobile",
        "size_bytes": 1000,
        "right": right,
        "accuracy": right / 10,
        "standard_error": 1.0,
        "agreement": right,
        "latency_ms": {"16": taken, "64": taken, "128": {**taken, "median": 2 * ms}, "real": taken},
    }


@pytest.fixture
def document() -> dict[str, Any]:
    return {
        "rows": 1000,
        "files": [
            entry("export-mobile", "LiteRT", "float32", 900, 10.0),
            entry("export-mobile", "LiteRT", "int8", 895, 4.0),
            entry("export-mobile", "LiteRT", "int8-dynamic", 894, 3.0),
            entry("quick", "ONNX Runtime", "int8", 894, 1.0),
            entry("slow", "ONNX Runtime", "int8", 895, 8.0),
        ],
        "floor": [entry("", "LiteRT", "int8", 0, 3.0)],
        "left_out": [{"tool": "broken", "recipe": "int8", "runtime": "LiteRT", "reason": "ValueError: no"}],
    }


def test_a_file_is_accurate_up_to_some_standard_errors_below_float32(document: dict) -> None:
    assert [TABLE["accurate"](document, errors) for errors in (0.5, 1.0)] == [895, 890]
    document["files"][0]["standard_error"] = 1.2
    assert [TABLE["accurate"](document, errors) for errors in (0.5, 0.55)] == [894, 894]


def test_a_fast_file_that_is_not_accurate_is_not_the_best(document: dict) -> None:
    best = {ours: TABLE["best"](document, ours=ours, right=895) for ours in (True, False)}
    assert (best[True]["recipe"], best[False]["tool"]) == ("int8", "slow")
    assert TABLE["best"](document, ours=False, right=1000) is None


def test_ratios_are_those_of_the_medians(document: dict) -> None:
    found = dict(TABLE["ratios"](document))
    assert found["LiteRT: int8 / float32, 64 tokens"] == pytest.approx(0.4)
    assert found["LiteRT: int8, real lengths / 128 tokens"] == pytest.approx(0.5)
    strict, loose = (name for name in found if name.startswith("best") and "64 tokens" in name)
    assert "at least 895 right" in strict
    assert "at least 890 right" in loose
    assert found[strict] == pytest.approx(4 / 8)
    assert found[loose] == pytest.approx(3 / 1)
    assert not any("int4" in name or "products alone" in name for name in found)
    document["floor"].append(entry("", "LiteRT", "float32", 0, 12.0))
    assert dict(TABLE["ratios"](document))["LiteRT: products alone, int8 / float32, 64 tokens"] == pytest.approx(0.25)


def test_a_page_gets_its_tables_between_the_marks_and_keeps_the_rest(document: dict) -> None:
    page = "before\n<!-- peers: floor -->\nold\n<!-- end: floor -->\nafter <!-- peers: unknown -->\n"
    filled = TABLE["fill"](page, document)
    assert filled.startswith("before\n<!-- peers: floor -->\n| runtime |")
    assert filled.endswith("<!-- end: floor -->\nafter <!-- peers: unknown -->\n")
    assert "old" not in filled
    assert "| LiteRT | int8 | 3.00 (3.00 to 3.00) |" in filled
    assert "| 0.75 | 0.75 | 0.75 |" in filled
    assert TABLE["fill"](filled, document) == filled


def test_what_could_not_be_measured_is_named_with_the_reason(document: dict) -> None:
    assert any("broken" in line and "ValueError: no" in line for line in TABLE["files"](document))


def test_every_line_of_a_table_has_as_many_cells_as_its_head(document: dict) -> None:
    for make in TABLE["TABLES"].values():
        lines = [line for line in make(document) if line.startswith("|")]
        assert {line.count("|") for line in lines} == {lines[0].count("|")}
        assert len(lines) > 2
