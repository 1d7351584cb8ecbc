"""The tables of docs/bytes.md are those that the benchmark wrote, and what it says of sizes and limits is true."""

import runpy
from pathlib import Path

import pytest

from exporters.bytes_in.settings import _FIXED, default_max_bytes
from support.pages import results

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "bytes.md").read_text(encoding="utf-8")
COST = results("bytes_in")


@pytest.fixture(scope="module")
def lines(monkeypatch_module):
    monkeypatch_module.syspath_prepend(str(ROOT / "benchmarks"))
    return runpy.run_path(str(ROOT / "benchmarks" / "bytes_in.py"))["tables"](COST["rows"])


@pytest.fixture(scope="module")
def monkeypatch_module():
    with pytest.MonkeyPatch.context() as patch:
        yield patch


def test_the_page_has_every_line_of_both_tables(lines):
    shown = PAGE.splitlines()
    assert [line for line in lines if line and line not in shown] == []


def test_all_graphs_and_rooms_were_measured_in_three_runtimes():
    assert {row["room_bytes"] for row in COST["rows"]} == {128, 512, 2560}
    assert {row["graph"] for row in COST["rows"]} == {"bytes", "features", "text"}
    assert len({row["runtime"] for row in COST["rows"]}) == 3


def test_the_page_names_every_setting_that_cannot_be_expressed():
    named = {
        "hash": "murmur",
        "bytes": "`bytes=signed`",
        "split": "other splits than `spaces`",
        "normalize_repetition": "`normalize_repetition`",
        "add_bos": "the tags",
        "add_eos": "the tags",
        "word_novelty_bits": "novelty",
        "doc_size_levels": "document size",
        "first_cap_feature": "capitals",
        "all_caps_feature": "capitals",
        # Set by training and export themselves.
        "max_tokens": "",
        "distortion": "",
    }
    assert set(named) == set(_FIXED)
    assert all(words in PAGE for words in named.values())


def test_32_tokens_get_256_bytes():
    assert "32 tokens get 256 bytes" in PAGE
    assert default_max_bytes(32, []) == 256


def test_fuzzed_inputs_and_emulated_arm_showed_no_difference():
    assert results("bytes_fuzz")["rows"] == 1_000_000
    assert results("bytes_fuzz")["different"] == 0
    fronts = results("bytes_arm")["fronts"].values()
    assert sum(front["n"] for front in fronts) == 6_000
    assert all(not any(front["different_on_arm"].values()) for front in fronts)
    files = results("bytes_arm")["export"]["files"].values()
    assert all(file["different_from_features_in_on_arm"] == 0 for file in files)
    assert all(file["on_arm_from_text_in_here"]["same_argmax"] == 1 for file in files)
