"""The page of a comparison: no text of a user becomes markup, no request, both color schemes, a phone."""

import json
from pathlib import Path

import pytest

from exporters import CompareRequest, compare
from exporters.runtimes import browser
from models_tf.tasks.metrics import wilson

PROGRAM = browser.find()
HOSTILE = "<script>document.title='broken'<|script> `x` $a$"  # a folder's name has no slash


def write(folder: Path, size: int, accuracy: float, latency: float) -> Path:
    folder.mkdir()
    score = {"metric": "accuracy", "value": accuracy, "n": 301, "standard_error": 1.0}
    document = {
        "passed": True,
        "report_version": 1,
        "model": {"name": "<b>prado</b>", "max_seq_len": 32},
        "quantize": "int8",
        "data": {"eval_source": "eval.tsv", "eval_rows": 301},
        "files": [{"name": "text_int8.tflite", "size_bytes": size, "target": "tflite"}],
        "accuracy": [{"stage": "text_int8.tflite on LiteRT", "score": score}],
        "latency": [{"file": "text_int8.tflite", "seq_len": 32, "median_ms": latency}],
        "latency_cpu": f"{size} CPU",  # different machines: there is a note
    }
    (folder / "report.json").write_text(json.dumps(document), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def page(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("comparison")
    found = [(HOSTILE, 130_400, 81.2, 0.14), ("b", 23_000_000, 90.0, 8.0), ("c", 91_000_000, 89.8, 14.0)]
    reports = tuple(write(folder / name, *numbers) for name, *numbers in found)
    path = folder / "compare.html"
    path.write_text(compare(CompareRequest(reports=reports, max_latency_ms=9)).to_html(), encoding="utf-8")
    return path


def test_the_page_has_the_numbers_the_picks_and_two_charts_and_no_address(page):
    text = page.read_text(encoding="utf-8")
    low, high = wilson(round(0.812 * 301), 301)
    numbers = ("130,400", "81.20 %", f"{low:.2f} to {high:.2f}", "0.140")
    for words in (*numbers, "Limits of the picks: at most 9 ms", "different machines"):
        assert words in text
    assert text.count("<svg ") == 2
    assert "<script>" not in text
    assert "&lt;script&gt;" in text
    assert "&lt;b&gt;prado" in text
    assert "http://" not in text.replace("http://www.w3.org/", "")
    assert "https://" not in text


@pytest.mark.skipif(PROGRAM is None, reason="no Chromium (Debian: chromium)")
def test_a_browser_opens_it_without_errors_in_both_color_schemes_and_on_a_phone(page, tmp_path):
    with browser.started(str(PROGRAM), tmp_path / "profile") as chromium:
        colors = []
        for scheme, width in (("light", 1280), ("dark", 390)):
            chromium.open(page, scheme=scheme, width=width)
            assert chromium.logged == []
            assert chromium.requested == [page.as_uri()]
            assert chromium.evaluate("document.documentElement.scrollWidth") <= width
            assert chromium.evaluate("document.querySelectorAll('script').length") == 0
            assert chromium.evaluate("document.querySelectorAll('#files tbody tr').length") == 3
            boxes = chromium.evaluate(
                "[...document.querySelectorAll('svg')].map(one => one.getBoundingClientRect().width)"
            )
            assert len(boxes) == 2
            assert min(boxes) > 250
            colors.append(chromium.evaluate("getComputedStyle(document.querySelector('svg text')).fill"))
        assert colors[0] != colors[1]
