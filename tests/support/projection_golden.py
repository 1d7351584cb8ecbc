"""models_tf/ops/projection/golden.json as values, for the tests of every implementation of the op."""

import json
from pathlib import Path
from typing import Any

from models_tf.ops.projection import config as config_module
from models_tf.ops.projection.config import ProjectionConfig

GOLDEN = json.loads(Path(config_module.__file__).with_name("golden.json").read_text(encoding="utf-8"))
CASES: list[dict[str, Any]] = GOLDEN["cases"]
BEHAVIOURS: list[dict[str, Any]] = GOLDEN["behaviours"]
HASH_CODES: list[dict[str, Any]] = GOLDEN["hash_codes"]
NORMALIZED: list[dict[str, Any]] = GOLDEN["normalized"]
SPLITS: list[dict[str, Any]] = GOLDEN["splits"]


def name_of(entry: dict[str, Any]) -> str:
    return entry["name"]


def config_of(entry: dict[str, Any]) -> ProjectionConfig:
    return ProjectionConfig.from_dict(entry["config"])


def texts_of(entry: dict[str, Any]) -> list[str | bytes]:
    return [_text_of(text) for text in entry["texts"]]


def features_of(case: dict[str, Any], dtype: str) -> list[list[list[float]]]:
    return case.get("features_float", case["features"]) if dtype == "float32" else case["features"]


def check_behaviour(entry: dict[str, Any], features: list[list[list[float]]], lengths: list[int]) -> None:
    """Asserts what a behaviour states about int8 features."""
    assert lengths == entry["lengths"]
    assert [len(rows) for rows in features] == [entry["rows"]] * len(lengths)
    for (a, i), (b, j) in entry.get("equal", []):
        assert features[a][i] == features[b][j]
    for (a, i), (b, j) in entry.get("different", []):
        assert features[a][i] != features[b][j]
    for (a, i), (b, j), column in entry.get("differs_at", []):
        assert features[a][i][column] != features[b][j][column]
    for a, i in entry.get("zero", []):
        assert not any(features[a][i])


def _text_of(entry: str | dict[str, Any]) -> str | bytes:
    if isinstance(entry, str):
        return entry
    if "hex" in entry:
        return bytes.fromhex(entry["hex"])
    piece, times = entry["repeat"]
    return piece * times
