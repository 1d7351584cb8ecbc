"""docs/limits.md: memory with a table of 10 GB is what was measured, and each command came to its end."""

from support.pages import page, results

COUNTED = results("memory_rows")
GB = 1e9


def test_the_page_shows_the_peaks_of_all_commands():
    text = page("docs/limits.md")
    assert set(COUNTED["runs"]) == {"train-10gb", "export-10gb", "check-10gb"}
    for run in COUNTED["runs"].values():
        assert run["exit_code"] == 0
        assert f"| {run['peak_bytes'] / GB:.2f} GB |" in text
    assert f"{COUNTED['rows']:,} rows" in text
    assert COUNTED["table"] in text


def test_the_table_was_larger_than_what_was_held():
    assert COUNTED["bytes"] > 10 * GB
    assert all(run["peak_bytes"] < COUNTED["bytes"] / 2 for run in COUNTED["runs"].values())
