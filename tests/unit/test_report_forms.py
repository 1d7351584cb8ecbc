"""One result, four forms: terminal, Markdown, HTML and JSON say the same numbers, and no text of a user breaks any."""

import html
import io
import json
import re
from html.parser import HTMLParser

import pytest

from exporters.console.terminal import Terminal
from exporters.report.report import Failure
from exporters.report.summary import blocks
from support.reports import make, quality

HOSTILE = [
    "<script>alert(1)</script>",
    "a|b\\|",
    "`code` ```",
    "two\nlines\r\n",
    "\x1b[2J\x07\x00",
    "$x_{1}$ *b* [a](b) &amp;",
]


def shown(report) -> str:
    """What reaches a terminal's stream."""
    out = io.StringIO()
    Terminal(out, io.StringIO()).show(blocks(report))
    return out.getvalue()


class Words(HTMLParser):
    """The text of a page, and its tags."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.text, self.tags, self._skip = [], [], False
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self._skip = tag == "style"

    def handle_endtag(self, tag):
        self._skip = False

    def handle_data(self, data):
        if not self._skip:
            self.text.append(data)


def test_the_same_numbers_are_in_all_four_forms():
    report = make()
    values = json.loads(report.to_json())
    (file,) = [one for one in values["files"] if one["target"]]
    stage = values["accuracy"][1]
    (low, high), flips = stage["score"]["interval"], values["quality"][1]["flipped"]
    expected = [
        f"{file['size_bytes']:,}",
        f"{file['gzip_bytes']:,}",
        f"{stage['score']['value']:.2f} %",
        f"{low:.2f} to {high:.2f}",
        f"{-stage['drop']:+.2f}",
        f"{values['latency'][0]['median_ms']:.3f}",
        f"{values['accuracy'][0]['score']['value']:.2f} %",
        f"{flips['total']}",
        f"{flips['worse']} worse",
        "passed" if values["passed"] else "FAILED",
    ]
    plan = "XNNPACK takes 3 of 4 operators in 2 partitions"
    assert plan in report.to_markdown()
    assert plan in report.to_html()
    forms = {
        "terminal": shown(report),
        "markdown": report.to_markdown(),
        "html": " ".join(Words(report.to_html()).text),
    }
    for name, text in forms.items():
        for number in expected:
            assert number in text, (name, number)


def test_a_failure_is_said_first_in_every_form():
    report = make(failures=(Failure(gate="accuracy", message="lost too much"),))
    assert json.loads(report.to_json())["passed"] is False
    assert report.to_markdown().splitlines()[2].startswith("**FAILED (accuracy)**")
    assert "FAILED (accuracy)" in shown(report)
    page = report.to_html()
    assert page.index("FAILED (accuracy)") < page.index("lost too much") < page.index('id="size"')


def test_the_markdown_fits_a_comment_on_a_pull_request():
    texts = tuple("a long text of a user " * 40 + str(i) for i in range(40))
    labels = tuple(f"label {i} with a long name" for i in range(3))
    text = make(quality=quality(texts, labels)).to_markdown()
    assert len(text) < 65_536 / 4  # the limit of GitHub, with room for a matrix of jobs
    assert text.splitlines()[0] == "# prado snips int8"
    assert text.splitlines()[2].startswith("**passed** · 1,000 bytes · accuracy 95.00 % (-2.50) · 0.250 ms")
    table = [line for line in text.splitlines()[4:8] if line.startswith("|")]
    assert len(table) == 3
    assert max(map(len, table)) < 100


@pytest.mark.parametrize("text", HOSTILE)
def test_text_of_users_breaks_no_form(text):
    texts = tuple(f"{text} {i}" for i in range(40))
    report = make(
        quality=quality(texts, (text, "b", "c")),
        notes=(text,),
        command=text,
        failures=(Failure(gate="size", message=text),),
        data=make().data | {"eval_source": text},
        model=make().model | {"task": text},
    )
    plain = make(failures=report.failures)
    assert json.loads(report.to_json())["notes"] == [text]
    assert not set(shown(report)) & set(map(chr, [*range(10), *range(11, 32), 127]))
    page, other = Words(report.to_html()), Words(plain.to_html())
    assert [tag for tag in page.tags if tag in ("script", "iframe", "img", "link", "object")] == []
    assert page.tags.count("tr") == other.tags.count("tr")
    assert not set("".join(page.text)) & set(map(chr, [*range(9), *range(11, 32), 127]))
    document = report.to_markdown()
    assert "<script" not in document
    assert not set(document) & set(map(chr, [*range(9), *range(11, 32), 127]))
    # Every line of a table has as many cells as the same table of another report: no bar and no line break got in.
    cells, expected = (
        [line.count("|") for line in one.splitlines() if line.startswith("|")]
        for one in (document, plain.to_markdown())
    )
    assert cells == expected
    # Nothing of the text is lost on the way: read back, it is what a terminal may show.
    flip = next(line for line in document.splitlines() if re.match(r"\| \d+ \| <code>", line))
    read = html.unescape(re.search(r"<code>(.*?)</code>", flip)[1])
    cleaned = "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text)
    assert read.startswith(cleaned)


def test_the_page_has_no_script_no_link_and_a_policy_that_forbids_both():
    page = make().to_html()
    assert "default-src 'none'" in page
    assert not re.search(r"<(script|link|img|iframe|object|embed)\b", page)
    assert not re.search(r"""(src|href)=["'](?!#)""", page)
    assert "url(http" not in page
    assert "@import" not in page


def test_the_page_is_the_same_in_every_run():
    assert make().to_html() == make().to_html()
