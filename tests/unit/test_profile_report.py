"""A profile as values, table, text and picture: sums are exact and every figure is shown."""

import dataclasses
import io
import json
import xml.etree.ElementTree as ET

import pytest

from exporters.console.terminal import Terminal
from exporters.profiling import run as profile
from exporters.profiling.chart import percent, series, svg, text
from exporters.profiling.report import FileProfile, PartProfile, Profile
from exporters.profiling.request import ProfileRequest
from exporters.profiling.text import blocks, markdown
from exporters.profiling.timing import PartTime, Timing
from models_tf.errors import InputError

PARTS = {"embedding": (600, 0, 0.25), "attention": (0, 100, 0.5), "FFN": (400, 300, 0.25)}
SVG = "{http://www.w3.org/2000/svg}"


def made(**changes) -> Profile:
    timing = Timing(
        whole_ms=4.0,
        parts_ms=5.0,
        parts={
            name: PartTime(ms=5 * share, share=share, share_low=share - 0.01, share_high=share + 0.01)
            for name, (_, _, share) in PARTS.items()
        },
    )
    files = [
        FileProfile(
            name=f"model_float32.{target}",
            target=target,
            size_bytes=4100,
            graph_bytes=100,
            part_bytes={"embedding": 2400, "attention": 0, "FFN": 1600},
            timing=timing,
        )
        for target in ("tflite", "onnx")
    ]
    model = {"name": "bert", "task": "classification", "trained": True, "max_seq_len": 128, "layers": 2}
    values = {
        "model": {**model, "fold": "full", "rewrites": ["fuse_input"]},
        "quantize": "float32",
        "command": "export-mobile profile --model bert",
        "rounds": 30,
        "parts": tuple(PartProfile(part=n, parameters=p, multiply_adds=m) for n, (p, m, _) in PARTS.items()),
        "files": tuple(files),
        "cpu": "a <cpu> & more",
        "versions": {"python": "3.11"},
    }
    return Profile(**{**values, **changes})


def test_totals_are_the_sums_of_the_parts() -> None:
    found = json.loads(made().to_json())
    assert (found["parameters"], found["multiply_adds"]) == (1000, 400)
    for file in found["files"]:
        assert sum(file["part_bytes"].values()) + file["graph_bytes"] == file["size_bytes"]


def test_shares_of_every_measure_add_up_to_one() -> None:
    measured = series(made())
    assert list(measured) == ["parameters", "multiply-adds", "time on LiteRT", "time on ONNX Runtime"]
    assert all(sum(shares.values()) == pytest.approx(1.0) for shares in measured.values())


def test_the_table_has_a_row_for_each_part_the_graph_and_all() -> None:
    lines = made().summary().splitlines()
    start = next(index for index, line in enumerate(lines) if line.startswith("part "))
    rows = [line.split() for line in lines[start + 1 : start + 6]]
    assert [row[0] for row in rows] == [*PARTS, "graph", "all"]
    assert rows[0] == ["embedding", "600", "0", *["2,400", "1.250", "25.0", "%", "(24.0-26.0)"] * 2]
    assert rows[3] == ["graph", "100", "100"]
    assert rows[4] == ["all", "1,000", "400", *["4,100", "5.000", "100", "%"] * 2]
    assert "model_float32.onnx on ONNX Runtime: 4.000 ms as a whole" in lines[-1]
    assert "30 rounds" in lines[-1]


def test_the_report_holds_the_table_the_bars_and_the_picture() -> None:
    page = markdown(made())
    assert "| FFN | 400 | 300 | 1,600 | 1.250 | 25.0 % (24.0-26.0) |" in page
    assert "![shares of each part](profile.svg)" in page
    assert text(made()) in page
    assert "`export-mobile profile --model bert`" in page


def test_bars_of_text_are_as_long_as_their_shares() -> None:
    lines = text(made()).splitlines()
    assert lines[0] == "embedding"
    assert lines[1].split() == ["parameters", "60.0", "%", "█" * 24]
    assert lines[2].split() == ["multiply-adds", "0", "%"]
    assert lines[3].split() == ["time", "on", "LiteRT", "25.0", "%", "█" * 10]


def test_each_bar_is_a_line_of_its_own_where_control_characters_are_cleaned() -> None:
    stdout = io.StringIO()
    Terminal(stdout, io.StringIO()).show(blocks(made()))
    assert text(made()) in stdout.getvalue()
    assert "\\x0a" not in stdout.getvalue()


def test_the_picture_is_xml_with_a_bar_for_each_share_in_proportion() -> None:
    root = ET.fromstring(svg(made()))
    bars = [rect for rect in root.iter(f"{SVG}rect") if rect.find(f"{SVG}title") is not None]
    assert len(bars) == 4 * len(PARTS)
    widths = [float(bar.get("width", "")) for bar in bars]
    shares = [shares[part] for part in PARTS for shares in series(made()).values()]
    unit = widths[0] / shares[0]
    assert widths == pytest.approx([unit * share for share in shares], abs=0.1)
    words = [item.text for item in root.iter(f"{SVG}text")]
    assert {"embedding", "attention", "FFN", "60.0 %", "75.0 %"} <= set(words)
    assert any("a <cpu> & more" in word for word in words if word)


def test_everything_in_the_picture_is_inside_of_it() -> None:
    root = ET.fromstring(svg(made()))
    width, height = float(root.get("width", "")), float(root.get("height", ""))
    for item in root.iter():
        if item.get("x") is not None:
            length = float(item.get("width", "0")) if item.tag == f"{SVG}rect" else 0.0
            assert 0 <= float(item.get("x", "")) + length <= width
            assert 0 <= float(item.get("y", "")) <= height


@pytest.mark.parametrize(
    ("share", "expected"), [(0.0, "0 %"), (0.00012, "0.01 %"), (0.0341, "3.4 %"), (1.0, "100.0 %")]
)
def test_a_small_share_is_not_shown_as_nothing(share: float, expected: str) -> None:
    assert percent(share) == expected


def test_a_file_that_was_not_timed_keeps_its_bytes_and_says_why() -> None:
    first, second = made().files
    found = made(files=(first, dataclasses.replace(second, timing=None, note="attention is one operator")))
    assert "model_float32.onnx was not timed: attention is one operator." in found.summary()
    assert "time on ONNX Runtime" not in series(found)
    assert "2,400" in markdown(found)
    ET.fromstring(svg(found))


def test_untrained_weights_are_named_as_such() -> None:
    found = made(model={**made().model, "trained": False})
    assert "untrained" in found.summary()
    assert "untrained" in markdown(found)


# What can be profiled.


@pytest.mark.parametrize(
    ("request_", "rounds", "words"),
    [
        ({}, 30, "neither of them"),
        ({"model": "prado"}, 30, "Received: the model prado"),
        ({"model": "bert", "random_init": True}, 4, "`rounds` must be 5 to 200. Received: 4"),
        ({"model": "bert", "random_init": True}, 201, "Received: 201"),
        ({"model": "bert", "checkpoint": "x", "quantize": "int8"}, 30, "Recipe int8 needs example texts"),
    ],
)
def test_what_cannot_be_profiled_is_refused_before_any_work(request_: dict, rounds: int, words: str) -> None:
    with pytest.raises(InputError, match=words):
        ProfileRequest(**request_, rounds=rounds)


def test_a_runtime_that_fails_leaves_a_note_and_the_rest_of_the_profile(monkeypatch) -> None:
    from exporters.formats.base import FORMATS, Artifact
    from exporters.formats.tflite.format import TfliteFormat
    from exporters.profiling.parts import Plan
    from support.profiled_networks import feed, files, rewritten

    class Broken(TfliteFormat):
        def measure(self, *arguments, **options):
            raise RuntimeError("no memory.\nmore lines")

    monkeypatch.setitem(FORMATS, "tflite", Broken())
    content = files("bert")["tflite"]
    file = Artifact(format="tflite", graph="model", recipe="float32", content=content)
    found, counted = profile._file(file, Plan.of(rewritten("bert")), feed("bert"), 5)
    assert (found.timing, found.note) == (None, "no memory")
    assert sum(found.part_bytes.values()) + found.graph_bytes == len(content)
    assert counted["FFN"] > 0
