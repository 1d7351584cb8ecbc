"""The table of batches by length shows what was measured, and similar lengths bring something."""

import pytest

from support.pages import page, results

SETS = results("training_lengths")["sets"]


@pytest.mark.parametrize("measured", SETS, ids=lambda measured: measured["data"])
def test_a_row_shows_what_was_measured(measured: dict) -> None:
    similar, drawn, padded = measured["ways"]
    name = f"{measured['data']}: {measured['rows']} texts, up to {measured['length']} tokens"
    cells = (name, f"{similar['seconds']:.1f} s", f"x{drawn['times']:.2f}", f"x{padded['times']:.2f}")
    assert f"| {' | '.join(cells)} |" in page("docs/training.md")
    assert measured["rounds"] == 3
    # Beyond the spread of the rounds.
    assert similar["most"] < min(drawn["least"], padded["least"])
