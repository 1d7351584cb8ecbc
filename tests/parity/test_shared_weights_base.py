"""ALBERT-base in all its files: about 11.7 million parameters, and no more bytes than they need."""

import json
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# 11.7 million weights at 4, 2 and 1 bytes, and some 3 % for names, scales, and biases of each layer in static int8.
LIMITS = {"float32": 48_000_000, "fp16": 24_200_000, "int8-dynamic": 13_000_000, "int8": 13_000_000}
RECORDED = json.loads((ROOT / "docs" / "results" / "albert_sizes.json").read_text(encoding="utf-8"))


def judge(parameters: int, files: list[dict]) -> None:
    assert 11_600_000 < parameters < 11_800_000
    assert {(file["target"], file["recipe"]) for file in files} == {(t, r) for t in ("tflite", "onnx") for r in LIMITS}
    for file in files:
        assert file["size_bytes"] <= LIMITS[file["recipe"]], file
        assert file["problems"] == []


def test_the_recorded_files_keep_the_limits() -> None:
    assert RECORDED["preset"] == "base"
    judge(RECORDED["parameters"], RECORDED["files"])


@pytest.mark.exhaustive
def test_shared_weights_of_the_base_preset_are_stored_once_in_every_recipe() -> None:
    measure = runpy.run_path(str(ROOT / "benchmarks" / "shared_sizes.py"))["files"]
    parameters, files = measure("base", 16)
    judge(parameters, files)
    assert parameters == RECORDED["parameters"]
    recorded = {(file["target"], file["recipe"]): file["size_bytes"] for file in RECORDED["files"]}
    # A shorter table of positions is all that differs, up to 4 bytes of 112 * 128.
    for file in files:
        assert 0 <= recorded[file["target"], file["recipe"]] - file["size_bytes"] < 70_000
