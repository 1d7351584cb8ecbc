"""The tables of texts without labels in docs/training.md are what was measured."""

import runpy
import statistics

import pytest

from support.pages import ROOT, page, prose, results

MEASURED = results("unlabelled")
TABLE = runpy.run_path(str(ROOT / "benchmarks" / "unlabelled_table.py"))


def test_the_tables_show_what_was_measured() -> None:
    text = page("docs/training.md")
    assert all(f"<!-- unlabelled: {name} -->" in text for name in ("sets", "settings", "typos"))
    assert TABLE["fill"](text, MEASURED) == text


def test_the_page_names_the_command() -> None:
    assert MEASURED["command"] in prose("docs/training.md")


@pytest.mark.parametrize("name", MEASURED["sets"])
def test_means_and_ranges_follow_from_the_runs_of_different_seeds(name: str) -> None:
    for setting in MEASURED["sets"][name]["settings"].values():
        assert len({run["seed"] for run in setting["runs"]}) == len(setting["runs"])
        assert all(run["command"].startswith("export-mobile train ") for run in setting["runs"])
        for test in ("test", "typos"):
            values, found = [run[test] for run in setting["runs"]], setting[test]
            assert found["mean"] == pytest.approx(statistics.mean(values), abs=0.006)
            assert (found["lowest"], found["highest"]) == pytest.approx((min(values), max(values)), abs=0.006)
