"""`ablate`: its changes are those of compressed checkpoints; one line for what cannot be measured."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exporters import AblateRequest, ablate
from exporters.ablation.text import to_text
from support.compressions import compress, refusal, write_models


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_models(tmp_path_factory.mktemp("ablate"))


def test_ablation_agrees_with_compressed_checkpoints(folder: Path, tmp_path: Path) -> None:
    data, output = folder / "rows.tsv", tmp_path / "a.json"
    whole = ablate(AblateRequest(checkpoint=folder / "bert", data=data, what="all", output=output)).to_dict()
    written = json.loads(output.read_text())
    assert {name: written[name] for name in whole} == whole
    assert (written["checkpoint"], written["data"]) == ("bert", "rows.tsv")
    assert whole["n"] == 48
    assert np.shape(whole["without_head"]["change"]) == np.shape(whole["head_alone"]["change"]) == (3, 4)
    removals: list[tuple[dict[str, Any], float]] = [
        ({"remove_heads": ((1, (2,)),)}, whole["without_head"]["change"][1][2]),
        ({"remove_heads": ((2, (0, 1, 2)),)}, whole["head_alone"]["change"][2][3]),
        ({"drop_layers": "0"}, whole["without_layer"]["change"][0]),
    ]
    for number, (removal, change) in enumerate(removals):
        compress(folder / "bert", tmp_path / f"small{number}", **removal)
        small = ablate(AblateRequest(checkpoint=tmp_path / f"small{number}", data=data, what="layers", rows=48))
        assert small.to_dict()["score"] - whole["score"] == pytest.approx(change, abs=1e-9)


def test_other_token_models_can_be_ablated(folder: Path) -> None:
    found = ablate(AblateRequest(checkpoint=folder / "mobilebert", data=folder / "rows.tsv"))
    assert "change in points without one head" in to_text(found)


@pytest.mark.parametrize(
    ("source", "fields", "words"),
    [
        ("bert", {"data": "texts.tsv"}, "label"),
        ("bert", {"data": "rows.tsv", "rows": 0}, "`rows` must be at least 1"),
        ("bert", {"data": "rows.tsv", "output": "absent/a.json"}, "`output` must lie in a folder that exists"),
        ("base", {"data": "rows.tsv"}, "Received: a base model"),
    ],
)
def test_what_cannot_be_measured_is_one_line(
    folder: Path, tmp_path: Path, source: str, fields: dict[str, Any], words: str
) -> None:
    places = {"data": folder, "output": tmp_path}
    given = {name: places[name] / value if name in places else value for name, value in fields.items()}
    assert words in refusal(tmp_path, lambda: ablate(AblateRequest(checkpoint=folder / source, **given)))
