"""report.html in a real browser: opens without an error and without network, in both color schemes, on a phone too."""

import base64
import dataclasses
from pathlib import Path

import pytest

from exporters.report.report import Failure
from exporters.runtimes import browser
from support.reports import FILE, make, quality

PROGRAM = browser.find()
pytestmark = pytest.mark.skipif(PROGRAM is None, reason="no Chromium (Debian: chromium)")
HOSTILE = "<script>document.title='broken'</script> | `x` \x1b[31m $a$"
# Every chart of a report that has everything in it.
CHARTS = (
    "#chart-layers",
    "#chart-accuracy",
    ".chart-confusion",
    "#chart-reliability",
    "#chart-length",
    "#chart-latency",
)


@pytest.fixture(scope="module")
def chromium(tmp_path_factory):
    with browser.started(str(PROGRAM), tmp_path_factory.mktemp("profile")) as found:
        yield found


@pytest.fixture(scope="module")
def page(tmp_path_factory) -> Path:
    texts = tuple(f"{HOSTILE} {i}" for i in range(40))
    report = make(
        quality=quality(texts, ("<b>play</b>", "book|\n`", HOSTILE)),
        notes=(HOSTILE,),
        failures=(Failure(gate="size", message=HOSTILE),),
        command=HOSTILE,
        model=make().model | {"task": HOSTILE},
        files=(FILE, dataclasses.replace(FILE, name="features_int8.tflite")),
    )
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(report.to_html(), encoding="utf-8")
    return path


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_opens_without_errors_and_asks_for_nothing_but_itself(chromium, page, scheme, width):
    chromium.open(page, scheme=scheme, width=width)
    assert chromium.logged == []
    assert chromium.requested == [page.as_uri()]
    for chart in CHARTS:
        box = chromium.evaluate(f"document.querySelector({chart + ' svg'!r}).getBoundingClientRect().toJSON()")
        assert box["width"] > 250, chart
        assert box["height"] > 60, chart
    assert chromium.evaluate("document.documentElement.scrollWidth") <= width


def test_the_browser_of_these_tests_sees_errors_and_requests(chromium, tmp_path):
    path = tmp_path / "bad.html"
    path.write_text("<script>console.error('no'); missing()</script><img src='other.png'>", encoding="utf-8")
    chromium.open(path)
    assert len(chromium.logged) >= 2
    assert any(url.endswith("other.png") for url in chromium.requested)


def test_background_text_and_charts_change_with_the_color_scheme(chromium, page):
    seen = {}
    for scheme in ("light", "dark"):
        chromium.open(page, scheme=scheme)
        seen[scheme] = [
            chromium.evaluate(f"getComputedStyle(document.querySelector({selector!r})).{style}")
            for selector, style in (
                ("body", "backgroundColor"),
                ("body", "color"),
                ("#chart-accuracy svg text", "fill"),
                ("#chart-layers svg title + path", "fill"),
            )
        ]
    assert all(light != dark for light, dark in zip(*seen.values(), strict=True))
    light, dark = (chromium_sum(seen[scheme][0]) for scheme in ("light", "dark"))
    assert dark < 150 < 600 < light


def chromium_sum(color: str) -> int:
    return sum(int(part) for part in color.removeprefix("rgb(").rstrip(")").split(","))


def test_no_text_of_a_user_becomes_markup(chromium, page):
    chromium.open(page)
    assert chromium.evaluate("document.querySelectorAll('script, b b, td b, svg script').length") == 0
    assert "broken" not in chromium.evaluate("document.title").partition("'")[0]
    body = chromium.evaluate("document.body.innerText")
    assert "<script>document.title='broken'</script> | `x` \\x1b[31m $a$" in body
    assert "<b>play</b>" in body
    assert "\x1b" not in body
    assert chromium.evaluate("document.querySelectorAll('.flips tbody tr').length") == 3


def test_the_page_can_be_shown_as_a_picture(chromium, page):
    chromium.open(page, scheme="dark", width=390)
    data = chromium.call("Page.captureScreenshot", format="png")["data"]
    assert base64.b64decode(data).startswith(b"\x89PNG")
