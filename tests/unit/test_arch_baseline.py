"""Instructions in a baseline: those of other files stay, those of other rows go, and that is said."""

from exporters.arch_check import baseline
from exporters.arch_check.baseline import Counts


def counts(rows: int | None, **files: int) -> Counts:
    return Counts(
        sha256="0" * 64,
        rows=rows,
        versions={"LiteRT": "2.3.0"},
        files={name: {"LiteRT": count} for name, count in files.items()},
    )


def test_files_that_were_not_checked_now_stay_on_the_same_rows(tmp_path):
    path = tmp_path / "baseline.json"
    assert baseline.write(path, "arm64", counts(16, one=10, two=20)) == []
    assert baseline.write(path, "arm64", counts(16, two=21)) == []
    found = baseline.read(path, "arm64").files
    assert {name: one["LiteRT"] for name, one in found.items()} == {"one": 10, "two": 21}


def test_files_on_other_rows_are_gone_and_named(tmp_path):
    path = tmp_path / "baseline.json"
    baseline.write(path, "arm64", counts(16, one=10, two=20))
    assert baseline.write(path, "arm64", counts(5, two=21)) == ["one"]
    assert list(baseline.read(path, "arm64").files) == ["two"]
