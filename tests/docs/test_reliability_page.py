"""The table in docs/reliability.md is what the attack counted, and it found nothing."""

from support.pages import page as text_of
from support.pages import results
from tests.attack import page
from tests.attack.faults import kills

COUNTED = results("attack")


def test_the_page_shows_what_was_counted():
    assert page.section(COUNTED) in text_of("docs/reliability.md")


def test_no_input_was_a_finding():
    assert COUNTED["findings"] == []
    assert all(kind["crashes"] == kind["findings"] == 0 for kind in COUNTED["kinds"].values())
    assert f"--seed {COUNTED['seed']}" in COUNTED["command"]


def test_the_attack_was_as_large_as_the_page_promises():
    """10,000 inputs, and 200 signals; those that came too late to end a run are counted apart."""
    assert COUNTED["inputs"] - COUNTED["faults"] >= 10_000
    assert kills.sent_and_deadly(COUNTED)[0] >= 200
