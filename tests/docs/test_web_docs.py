"""The table of docs/web.md is what the benchmark wrote, and what the page says of sizes and versions is true."""

import runpy
from pathlib import Path

from exporters.runtimes.npm import ENGINES, LITERT_JS, ORT_WEB
from support.pages import results

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "web.md").read_text(encoding="utf-8")
MEASURED = results("web")


def test_the_page_has_every_line_of_the_table(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tests"))
    lines = runpy.run_path(str(ROOT / "benchmarks" / "web.py"))["tables"](MEASURED)
    shown = PAGE.splitlines()
    assert [line for line in lines if line not in shown] == []


def test_models_of_prado_are_at_most_200_kb_on_the_wire_and_answer_within_a_second():
    prado = [row for name, files in MEASURED["models"].items() if name.startswith("prado") for row in files.values()]
    assert len(prado) == 4
    assert max(row["size_bytes"] for row in prado) <= 204_800
    assert max(row["first_label_ms"]["median"] for row in prado) <= 1000


def test_the_page_installs_the_versions_that_setup_does():
    for package in (ORT_WEB, LITERT_JS):
        assert f"{package}@{ENGINES[package]}" in PAGE
        assert f"{package} {ENGINES[package]}" in PAGE
        assert MEASURED["versions"][package] == ENGINES[package]
