"""The table in docs/reliability.md is what the attack counted, and it found nothing."""

from support.pages import page as text_of
from support.pages import results
from tests.attack import page
from tests.attack.faults import kills

COUNTED = results("attack")


def test_the_page_shows_what_was_counted():
    assert page.section(COUNTED) in text_of("docs/reliability.md")


def test_no_input_was_a_crash_and_each_finding_is_explained():
    assert all(kind["crashes"] == 0 for kind in COUNTED["kinds"].values())
    assert len(COUNTED["findings"]) == sum(kind["findings"] for kind in COUNTED["kinds"].values())
    assert all(f"`{finding['place']}`" in text_of("docs/reliability.md") for finding in COUNTED["findings"])
    assert f"--seed {COUNTED['seed']}" in COUNTED["command"]


def test_the_attack_was_as_large_as_the_page_promises():
    """10,000 inputs, and 200 signals that ended a run; those that came too late are counted apart."""
    assert COUNTED["inputs"] - COUNTED["faults"] >= 10_000
    assert kills.sent_and_deadly(COUNTED)[1] >= 200
