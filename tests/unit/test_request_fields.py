"""A request from Python with a wrong type is refused in one line that names the field, for every command."""

import dataclasses
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import exporters
from exporters.commands.main import parser_of
from exporters.request_fields import check_fields
from models_tf.errors import InputError, field_of, naming_fields, naming_flags

# What each request needs at least; the files do not exist, which is another matter.
NEEDED = {
    "ExportRequest": {},
    "ProfileRequest": {"model": "bert", "random_init": True},
    "ExplainRequest": {"checkpoint": "x", "text": ["a"]},
    "TrainRequest": {"train": "a.tsv", "dev": "b.tsv", "output": "out"},
    "CompressRequest": {"checkpoint": "x", "output": "out", "compression": exporters.Compression(prune_heads=0.5)},
    "CheckRequest": {"model": "x"},
    "BenchRequest": {"files": ["x.onnx"]},
    "CompareRequest": {"reports": ["x"]},
    "InspectRequest": {"file": __file__},
    "VerifyRequest": {"folder": "x"},
    "AblateRequest": {"checkpoint": "x", "data": "a.tsv"},
    "AndroidRequest": {"folder": "x", "package": "com.example.app", "output": "app"},
    "CheckArchRequest": {"model": "x"},
    "DemoRequest": {"folders": ["x"]},
    "LedgerRequest": {"folder": "x"},
    "SetupRequest": {"kind": "web"},
}
# Two functions that share what another one or a command has.
WITHOUT_REQUEST, COMMAND_OF = ("write_site",), {"CheckArchRequest": "check"}


@dataclass(frozen=True, kw_only=True)
class Request:
    text: str = ""
    place: Path | None = None
    places: tuple[Path, ...] = ()
    count: int = 0
    share: float | None = dataclasses.field(default=None, metadata={"unit": "points"})
    force: bool = False
    other: np.ndarray | None = None

    def __post_init__(self) -> None:
        check_fields(self)


def test_every_function_has_a_request_here():
    assert sorted(NEEDED) == sorted(name for name in exporters.__all__ if name.endswith("Request"))
    functions = [name for name in exporters.__all__ if name.islower() and name not in WITHOUT_REQUEST]
    assert sorted(f"{name.title().replace('_', '')}Request" for name in functions) == sorted(NEEDED)


@pytest.mark.parametrize("name", NEEDED)
def test_every_field_of_every_request_refuses_a_wrong_type_in_one_line(name):
    kind = getattr(exporters, name)
    for field in dataclasses.fields(kind):
        with pytest.raises(InputError) as caught:
            kind(**{**NEEDED[name], field.name: {"never": "right"}})
        assert f"`{field.name}` must be" in str(caught.value)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "fields", "line"),
    [
        ("ExportRequest", {"seed": -1}, "`seed` must be 0 to 2^63 - 1. Received: -1."),
        ("ExportRequest", {"max_size_bytes": 0}, "`max_size_bytes` must be at least 1 byte. Received: 0."),
        ("ExportRequest", {"preset": "tiny"}, "`preset` is for token models (mobilebert,"),
        ("TrainRequest", {"movement_overrides": ["every=2"], "model": "bert", "vocab": __file__},
         "`movement_overrides` needs `movement`. Received: `movement_overrides` alone."),
        ("CompressRequest", {"rows": 0}, "`rows` must be at least 1. Received: 0."),
        ("AblateRequest", {"what": "all of it"}, "`what` must be one of"),
        ("ExplainRequest", {"rows": 0}, "`rows` is for `data` FILE. Received: 0 with `text`."),
        ("CompareRequest", {"max_latency_ms": -1}, "`max_latency_ms` must be a number of milliseconds above 0."),
        ("ProfileRequest", {"rounds": 1}, "`rounds` must be 5 to 200. Received: 1."),
        ("Compression", {"min_heads": 0}, "`min_heads` must be a whole number from 1. Received: 0."),
    ],
)  # fmt: skip
def test_a_caller_from_python_reads_fields_and_no_flags(name, fields, line):
    with pytest.raises(InputError) as caught:
        getattr(exporters, name)(**{**NEEDED.get(name, {}), **fields})
    assert str(caught.value).startswith(line)
    assert "--" not in str(caught.value)


@pytest.mark.parametrize("name", NEEDED)
def test_the_command_reads_flags_of_the_same_fields(name):
    parser = parser_of(COMMAND_OF.get(name, name.removesuffix("Request").lower()))
    names = {field.name for field in dataclasses.fields(getattr(exporters, name))}
    flags = {field_of(flag): flag for flag in parser._option_string_actions}
    assert names & {action.dest for action in parser._actions if action.option_strings} <= set(flags)
    shown = " ".join(flags[name] for name in names & set(flags))
    text = f"{shown} x--y '--z' must be. Received: a `key` (--debug)."
    with pytest.raises(InputError) as caught, naming_fields():
        raise InputError(text)
    fields = " ".join(f"`{name}`" for name in names & set(flags))
    assert str(caught.value) == f"{fields} x--y '--z' must be. Received: a `key` (`debug`)."
    with pytest.raises(InputError) as again, naming_flags(), naming_fields(), naming_fields():
        raise InputError(text)
    assert str(again.value) == text


def test_a_command_in_a_message_keeps_its_flags():
    text = "Make one with export-mobile compress --retention."
    with pytest.raises(InputError) as caught, naming_fields():
        raise InputError(text)
    assert str(caught.value) == text


def test_a_function_names_fields_too(tmp_path):
    rows = tmp_path / "rows.tsv"
    rows.write_text("text\tlabel\na\tx\nb\ty\n")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("mine")
    with pytest.raises(InputError, match=r"^`output` must be new\. .* Remedy: `resume`, `force` or another name\.$"):
        exporters.train(exporters.TrainRequest(train=rows, dev=rows, output=tmp_path / "out"))


def test_an_explanation_takes_a_single_text():
    request = exporters.ExplainRequest(checkpoint="x", text="one text", text_pair="another")
    assert (request.text, request.text_pair) == (("one text",), ("another",))


@pytest.mark.parametrize("name", NEEDED)
def test_requests_are_frozen_keyword_only_and_say_what_they_take(name):
    kind = getattr(exporters, name)
    assert kind.__dataclass_params__.frozen
    assert all(field.kw_only for field in dataclasses.fields(kind))
    assert len(kind.__doc__) > 100


@pytest.mark.parametrize("name", [name for name in exporters.__all__ if name.islower()])
def test_functions_say_what_they_take_and_raise(name):
    text = getattr(exporters, name).__doc__
    assert "InputError" in text
    assert "request" in text


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"text": None}, "`text` must be a text. Received: None."),
        ({"place": 5}, "`place` must be a path. Received: 5."),
        ({"places": "a"}, "`places` must be a list of paths. Received: 'a'."),
        ({"places": ["a", 1]}, "`places` must be a list of paths"),
        ({"count": 1.5}, "`count` must be a whole number. Received: 1.5."),
        ({"count": True}, "`count` must be a whole number. Received: True."),
        ({"share": "0.5"}, "`share` must be a number of points. Received: '0.5'."),
        ({"force": 1}, "`force` must be true or false. Received: 1."),
        ({"other": [1]}, "`other` must be a ndarray"),
        ({"text": np.zeros((300, 300))}, "`text` must be a text"),
    ],
)
def test_the_line_says_what_was_expected_and_what_came(fields, words):
    with pytest.raises(InputError) as caught:
        Request(**fields)
    assert str(caught.value).startswith(words)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


def test_numbers_of_numpy_and_texts_for_paths_become_what_the_field_says():
    made = Request(place="a/b", places=["c"], count=np.int64(3), share=np.float32(0.5))
    assert (made.place, made.places, made.count, made.share) == (Path("a/b"), (Path("c"),), 3, 0.5)
    assert [type(value) for value in (made.count, made.share)] == [int, float]


@pytest.mark.parametrize("output", ["data.tsv", "mine/config.json", "mine/new.json"])
def test_an_ablation_does_not_write_over_what_it_reads(tmp_path, monkeypatch, output):
    monkeypatch.chdir(tmp_path)
    Path("mine").mkdir()
    Path("mine/config.json").write_text("{}")
    Path("data.tsv").write_text("text\tlabel\n")
    with pytest.raises(InputError, match="`output` must not"):
        exporters.AblateRequest(checkpoint="mine", data="data.tsv", output=output, force=True)
    exporters.AblateRequest(checkpoint="mine", data="data.tsv", output="new.json")
