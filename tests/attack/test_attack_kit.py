"""The kit finds what it looks for: each promise, broken on purpose, is reported."""

import itertools
import os
import random
import sys
import time
from pathlib import Path

import pytest

from tests.attack import command, markup, page, runner, schedule, tally
from tests.attack.case import ADDED, FREE, KEPT, Case, judge, listing
from tests.attack.command import Finished
from tests.attack.outcome import Outcome
from tests.attack.schedule import Entry

LINE = b"export-mobile: bad input.\n"


def finished(code: int = 2, stderr: bytes = LINE, **changes: object) -> Finished:
    made = {"code": code, "stdout": b"", "stderr": stderr, "seconds": 1.0, "peak_bytes": 1 << 20, **changes}
    return Finished(**made)  # type: ignore[arg-type]


def test_what_is_promised_is_no_finding():
    assert judge(finished()) == ""
    assert judge(finished(0, b"")) == ""
    assert judge(finished(5, b"progress\nexport-mobile: other answers.\n")) == ""


@pytest.mark.parametrize(
    ("broken", "word"),
    [
        (finished(1), "exit 1"),
        (finished(70), "exit 70"),
        (finished(-6, b"Aborted"), "signal 6"),
        (finished(2, b"Traceback (most recent call last):\nexport-mobile: x\n"), "traceback"),
        (finished(2, b""), "without a line"),
        (finished(2, LINE * 2), "more than one line"),
        (finished(0, b"", stdout=b"\x1b[31m"), "stdout has a raw"),
        (finished(2, b"export-mobile: \x9b.\n"), "stderr is not UTF-8"),
        (finished(2, "export-mobile: \u202e.\n".encode()), "stderr has a raw"),
        (finished(peak_bytes=1 << 40), "memory"),
        (finished(timed_out=True, code=-9), "still running"),
        (finished(left_processes=True), "left running"),
    ],
)
def test_a_broken_promise_is_a_finding(broken, word):
    assert word in judge(broken)


def _case(tmp_path, monkeypatch, script: str, **options: object) -> Outcome:
    """A case whose command is a script of Python in place of ours."""
    case = Case.of("kit", tmp_path)
    (case.inputs / "rows.tsv").write_text("text\n")

    def run(arguments, *, folder: Path, cwd: Path, environment=None) -> Finished:
        import subprocess

        made = subprocess.run([sys.executable, "-c", script], cwd=cwd, capture_output=True, check=False)
        return finished(made.returncode, made.stderr)

    monkeypatch.setattr(command, "run", run)
    return case.run("kit", [], **options)  # type: ignore[arg-type]


FAIL = "import sys; sys.stderr.write('export-mobile: x\\n'); "


@pytest.mark.parametrize(
    ("script", "options", "word"),
    [
        (f"{FAIL}sys.exit(2)", {}, ""),
        (f"{FAIL}open('../tmp/x', 'w'); sys.exit(2)", {}, "left in tmp"),
        ("open('../home/x', 'w')", {}, "left in home"),
        ("open('../out/.result.partial-1', 'w')", {}, "left beside the output"),
        (f"{FAIL}open('../out/result', 'w'); sys.exit(2)", {}, "the output is there"),
        ("open('../out/result', 'w')", {}, ""),
        ("open('rows.tsv', 'w')", {"inputs": ADDED}, "touched: 'in/rows.tsv'"),
        ("open('../aside/secret.txt', 'w')", {"inputs": FREE}, "touched: 'aside/secret.txt'"),
        ("open('rows.tsv', 'w')", {"inputs": FREE}, ""),
        ("open('new', 'w')", {"inputs": KEPT}, "touched: 'in/new'"),
        ("open('new', 'w')", {"inputs": ADDED}, ""),
        ("open('new', 'w')", {"may_write": ["new"]}, ""),
        (f"{FAIL}open('new', 'w'); sys.exit(2)", {"inputs": ADDED, "may_write": ["new"]}, "touched: 'in/new'"),
        (f"{FAIL}open('new', 'w'); sys.exit(2)", {"reports": ["new"]}, ""),
        (f"{FAIL}open('rows.tsv', 'w'); sys.exit(2)", {"reports": ["rows.tsv"]}, "touched: 'in/rows.tsv'"),
        (f"{FAIL}open('../out/result/x', 'w'); sys.exit(2)", {"app": True}, "the app was changed"),
        (f"{FAIL}sys.exit(2)", {"app": True}, ""),
        ("", {"problems": [lambda case, finished: "seen"]}, "seen"),
    ],
)
def test_files_that_must_not_be_there_are_found(tmp_path, monkeypatch, script, options, word):
    problem = _case(tmp_path, monkeypatch, script, **options).problem
    assert (word in problem) if word else problem == ""


def test_a_listing_sees_content_links_and_types(tmp_path):
    (tmp_path / "a").write_text("x")
    (tmp_path / "b").symlink_to("a")
    before = listing(tmp_path)
    (tmp_path / "a").write_text("y")
    assert listing(tmp_path) != before
    (tmp_path / "a").write_text("x")
    assert listing(tmp_path) == before
    (tmp_path / "b").unlink()
    os.mkfifo(tmp_path / "b")
    assert listing(tmp_path) != before


def test_a_command_ends_with_its_code_in_a_child_and_as_a_process(tmp_path):
    """Both ways give the same code and the same line."""
    for words in (["models"], ["inspect", "not-there.onnx"], ["nonsense"]):
        ended = [command.run(words, folder=tmp_path, cwd=tmp_path, fork=fork) for fork in (True, False)]
        assert ended[0].code == ended[1].code
        assert ended[0].stdout == ended[1].stdout
        assert ended[0].stderr == ended[1].stderr


def test_a_command_that_hangs_or_leaves_a_process_is_seen(tmp_path, monkeypatch):
    import exporters.__main__ as entry

    monkeypatch.setattr(entry, "main", lambda: time.sleep(60))
    began = time.monotonic()
    assert command.run([], folder=tmp_path, cwd=tmp_path, seconds=0.5).timed_out
    assert time.monotonic() - began < 20

    monkeypatch.setattr(entry, "main", lambda: 0 if os.fork() else time.sleep(60))
    assert command.run([], folder=tmp_path, cwd=tmp_path).left_processes

    monkeypatch.setattr(entry, "main", os.abort)
    assert command.run([], folder=tmp_path, cwd=tmp_path).code == -6

    def raises() -> int:
        raise ValueError("unforeseen")

    monkeypatch.setattr(entry, "main", raises)
    ended = command.run([], folder=tmp_path, cwd=tmp_path)
    assert ended.code == 1
    assert "exit 1" in judge(ended)


@pytest.mark.parametrize(
    ("look", "harmless", "hostile"),
    [
        (markup.html, "<p title='zq7x'>&lt;zq7x&gt;</p>", "<p><zq7x></p>"),
        (markup.html, "<script>a('zq7x')</script>", "<script>a()</script><script>zq7x</script>"),
        (markup.html, "<img src='a.png'>", "<img src=x onerror=zq7x()>"),
        (markup.html, "<a href='#zq7x'>", "<a href='javascript:zq7x'>"),
        (markup.xml, "<a b='zq7x'>zq7x</a>", "<a><zq7x/></a>"),
        (markup.xml, "<a/>", "<a>"),
        (markup.markdown, "a &#91;zq7x](http://zq7x) b", "a [zq7x](http://zq7x) b"),
        (markup.markdown, "| a |\n|---|\n| x &#124; zq7x |", "| a | b |\n|---|---|\n| x | zq7x |"),
        (markup.markdown, "&#35; zq7x", "# zq7x"),
        (markup.markdown, "<code>&#60;zq7x></code>", "<zq7x>"),
        (markup.markdown, "---\na: 'zq7x: 1'\n---\n", "---\na: x\nzq7x: 1\n---\n"),
        (markup.markdown, "&#42;zq7x*", "*zq7x*"),
        (markup.annotations, "text ::error::zq7x", "text\n::error::zq7x"),
        (markup.annotations, r"text\n\x23#[error]zq7x", "text ##[error]zq7x"),
        (markup.kotlin, 'val a = "\\"; zq7x */ \\${zq7x}"', 'val a = ""; zq7x'),
        (markup.kotlin, "/* zq7x */", "/* */ zq7x /* */"),
        (markup.kotlin, 'val a = "zq7x"', 'val a = "${zq7x}"'),
    ],
)
def test_a_hostile_text_is_found_where_it_works_and_not_where_it_is_shown(look, harmless, hostile):
    assert look(harmless) == ""
    assert look(hostile)


def test_a_kind_that_fails_is_a_finding_and_its_folder_stays(tmp_path):
    def broken(rng: random.Random, folder: Path) -> Outcome:
        (folder / "input").write_text("x")
        raise ValueError("no such thing")

    def good(rng: random.Random, folder: Path) -> Outcome:
        return Outcome(kind="good", case=str(rng.random()), code=2)

    entries = {"broken": Entry(kind=broken), "good": Entry(kind=good)}
    settings = runner.Settings(seed=1, work=tmp_path, workers=1)
    found = runner.run_all(entries, [("broken", 0), ("good", 0), ("good", 1)], settings)
    assert found.inputs == 3
    assert [finding.place for finding in found.findings] == ["broken:0"]
    assert "no such thing" in found.findings[0].outcome.problem
    assert sorted(path.name for path in tmp_path.iterdir()) == ["broken-0"]


def test_the_same_seed_makes_the_same_case_and_another_does_not(tmp_path):
    entry = Entry(kind=lambda rng, folder: Outcome(kind="k", case=str(rng.random()), code=0))
    first, again, other = (
        runner.run_one(entry, "k", 3, runner.Settings(seed=seed, work=tmp_path)).case for seed in (1, 1, 2)
    )
    assert first == again != other


def test_kinds_run_by_their_shares_and_none_is_left_out():
    entries = {name: Entry(kind=lambda rng, folder: None, share=share) for name, share in (("a", 4), ("b", 1))}  # type: ignore[arg-type, return-value]
    names = [name for name, _ in itertools.islice(schedule.order(entries), 100)]
    assert names.count("a") == 80
    assert set(names[:5]) == {"a", "b"}


def test_every_kind_has_a_name_of_its_own_and_runs_in_two_minutes():
    entries = schedule.load(["tests.attack.kinds"])
    assert len(entries) >= 30
    drawn = {name for name, _ in itertools.islice(schedule.order(entries), 240)}
    assert drawn == set(entries)


def test_a_table_counts_every_code_and_the_page_takes_it(tmp_path):
    found = tally.Tally()
    for code, problem in ((0, ""), (2, ""), (2, ""), (1, "exit 1"), (-6, "signal"), (-9, "")):
        found.add("k:0", Outcome(kind="k", case="c", code=code, problem=problem))
    for word, code in (("kill -9", -9), ("kill -9", 0), ("SIGINT", 2), ("SIGTERM", 143)):
        found.add(f"{word}: x:0", Outcome(kind=word, case="c", code=code))
    document = {"command": "python -m tests.attack", "seed": 1, "seconds": 90, "faults": 4, **found.document()}
    header, interrupted, terminated, row, killed, total = tally.rows(document)
    assert dict(zip(header, row, strict=True)) == {
        "kind": "k", "inputs": "6", "exit 0": "1", "exit 2": "2", "exit 3": "0", "exit 4": "0", "exit 5": "0",
        "exit 6": "0", "exit 7": "0", "killed by us": "1", "exit 1 and crashes": "2", "findings": "2",
    }  # fmt: skip
    assert [cells[0] for cells in (interrupted, terminated, killed)] == ["SIGINT", "SIGTERM", "kill -9"]
    assert total[1] == "10"
    path = tmp_path / "page.md"
    path.write_text(f"before\n{page.BEGIN}\nold\n{page.END}\nafter\n")
    page.rewrite(document, path)
    assert tally.markdown(tally.rows(document)) in path.read_text()
    assert "6 inputs and 4 faults of the system, 4 of them signals, 3 of which ended a run" in path.read_text()
    assert "old" not in path.read_text()
    assert path.read_text().endswith("after\n")


def test_faults_are_spread_among_the_inputs_and_none_is_lost():
    inputs, faults = [("i", number) for number in range(10)], iter([("f", number) for number in range(4)])
    jobs = list(schedule.mixed(inputs, faults, 3))
    assert [name for name, _ in jobs] == list("iiifiiifiiifif")
