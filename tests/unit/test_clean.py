"""`export-mobile clean` finds what killed runs left, by marker, age and owner, and keeps every only copy."""

import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from exporters.commands import main as cli
from models_tf.folders import leftovers, run_marker
from models_tf.folders.output_folder import OutputFolder
from support.export_command import environment

GONE = 2**22 + 1  # larger than any process id of Linux
KILLED = """
import os, signal, sys
from pathlib import Path
from models_tf.folders.output_folder import OutputFolder
rename, renames = Path.rename, []
def dying(*paths):
    if len(renames) == int(sys.argv[2]): os.kill(os.getpid(), signal.SIGKILL)
    renames.append(paths)
    return rename(*paths)
Path.rename = dying
with OutputFolder(Path(sys.argv[1]), command="export", force=True) as folder:
    folder.write("report.json", "new")
    folder.commit()
"""


def killed_run(output: Path, *, after_renames: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(output), str(after_renames)], env=environment(), check=False
    )
    assert done.returncode == -9
    for path in (*output.parent.glob(".out.*"), *output.parent.glob(".out.*/**/*")):
        os.utime(path, (time.time() - 120,) * 2)


def complete_run(output: Path) -> None:
    with OutputFolder(output, command="export") as folder:
        folder.write("report.json", "old")
        folder.commit()


def names(folder: Path) -> list[str]:
    return sorted(path.name.partition("-")[0] for path in folder.iterdir())


def clean(*arguments: object, capsys) -> str:
    assert cli.main(["clean", *map(str, arguments)]) == 0
    return capsys.readouterr().out


def test_a_partial_folder_is_listed_and_removed_with_yes(tmp_path, capsys):
    killed_run(tmp_path / "out", after_renames=0)
    assert names(tmp_path) == [".out.partial"]
    told = clean(tmp_path, capsys=capsys)
    assert told == "left alone: 1 younger than 1d; --older-than 0s takes them, too\n"
    listed = clean(tmp_path, "--older-than", "0s", capsys=capsys)
    assert "would remove: " in listed
    assert "--yes" in listed
    assert names(tmp_path) == [".out.partial"]
    assert "removed: " in clean(tmp_path, "--older-than", "0s", "--yes", capsys=capsys)
    assert names(tmp_path) == []


def test_the_only_copy_of_an_output_moves_back(tmp_path, capsys):
    complete_run(tmp_path / "out")
    killed_run(tmp_path / "out", after_renames=1)  # the old one is away, the new one not there yet
    assert names(tmp_path) == [".out.old", ".out.partial"]
    assert "would move back to " in clean(tmp_path, "--older-than", "0s", capsys=capsys)
    said = clean(tmp_path, "--older-than", "0s", "--yes", capsys=capsys)
    assert f"moved back to {tmp_path / 'out'}: " in said
    assert names(tmp_path) == ["out"]
    assert (tmp_path / "out" / "report.json").read_text() == "old"


def test_an_old_output_whose_place_is_taken_by_a_stranger_is_kept(tmp_path, capsys):
    complete_run(tmp_path / "out")
    killed_run(tmp_path / "out", after_renames=1)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.tex").write_text("years of work")
    clean(tmp_path, "--older-than", "0s", "--yes", capsys=capsys)
    assert names(tmp_path) == [".out.old", "out"]
    (kept,) = tmp_path.glob(".out.old-*/old/report.json")
    assert kept.read_text() == "old"


def test_an_old_output_with_a_successor_goes(tmp_path, capsys):
    complete_run(tmp_path / "out")
    killed_run(tmp_path / "out", after_renames=1)
    (partial,) = tmp_path.glob(".out.partial-*")
    partial.rename(tmp_path / "out")  # what the second rename would have done
    assert names(tmp_path) == [".out.old", "out"]
    clean(tmp_path, "--older-than", "0s", "--yes", capsys=capsys)
    assert names(tmp_path) == ["out"]
    assert (tmp_path / "out" / "report.json").read_text() == "new"


def test_a_run_that_was_killed_while_it_worked_is_found_by_its_marker(tmp_path, capsys):
    script = KILLED.replace("folder.commit()", "os.kill(os.getpid(), signal.SIGKILL)")
    subprocess.run([sys.executable, "-c", script, str(tmp_path / "out"), "9"], env=environment(), check=False)
    assert names(tmp_path) == [".out.partial"]
    clean(tmp_path, "--older-than", "0s", "--yes", capsys=capsys)
    assert names(tmp_path) == []


def test_a_live_run_is_left_alone(tmp_path, capsys):
    with OutputFolder(tmp_path / "out", command="export") as folder:
        folder.write("report.json", "half")
        assert "nothing to clean" in clean(tmp_path, "--older-than", "0s", "--yes", capsys=capsys)
        folder.commit()
    assert names(tmp_path) == ["out"]


@pytest.mark.parametrize(
    "marker",
    [None, "{", "[]", '{"made_by": "somebody", "pid": 1, "user": 0, "host": "x"}', '{"made_by": "export-mobile"}'],
)
def test_a_folder_without_our_marker_is_left_alone(tmp_path, marker, capsys):
    scratch = tmp_path / ".out.partial-abc" / ".scratch"
    scratch.mkdir(parents=True)
    if marker is not None:
        (scratch / run_marker.FILE).write_text(marker)
    assert "nothing to clean" in clean(tmp_path, "--older-than", "0s", "--yes", capsys=capsys)
    assert scratch.is_dir()


@pytest.mark.parametrize("change", [{"user": os.getuid() + 1}, {"host": "another-machine"}, {"pid": os.getpid()}])
def test_a_folder_of_another_user_machine_or_live_process_is_left_alone(tmp_path, change):
    killed_run(tmp_path / "out", after_renames=0)
    (partial,) = tmp_path.glob(".out.partial-*")
    marker = partial / ".scratch" / run_marker.FILE
    marker.parent.mkdir()
    run_marker.write(marker.parent)
    marker.write_text(json.dumps({**json.loads(marker.read_text()), **change}))
    assert list(leftovers.find(tmp_path)) == []
    marker.write_text(
        json.dumps({**json.loads(marker.read_text()), "user": os.getuid(), "host": platform.node(), "pid": GONE})
    )
    assert [found.path for found in leftovers.find(tmp_path)] == [partial]


def test_without_a_folder_the_one_for_temporary_files_is_searched_too(tmp_path, monkeypatch, capsys):
    for name in ("here", "tmp"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr(tempfile, "tempdir", None)
    assert clean(capsys=capsys) == f"nothing to clean: no folder of a killed run in ., {tmp_path / 'tmp'}\n"
    killed_run(tmp_path / "tmp" / "out", after_renames=0)
    assert "removed: " in clean("--older-than", "0s", "--yes", capsys=capsys)
    assert list((tmp_path / "tmp").iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "word"), [(["--older-than", "soon"], "soon"), (["nowhere"], "nowhere"), (["--yse"], "--yes")]
)
def test_bad_input_is_one_line(arguments, word, capsys):
    assert cli.main(["clean", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert len(captured.err.splitlines()) == 1
    assert word in captured.err


DYING = """
import os, signal, sys
from pathlib import Path
from models_tf.folders.output_folder import OutputFolder

def run(output, calls):
    left = [calls]
    def die(event, arguments):
        if event in ("open", "os.mkdir", "os.remove", "os.rmdir", "os.rename", "tempfile.mkdtemp"):
            left[0] -= 1
            if left[0] < 0: os.kill(os.getpid(), signal.SIGKILL)
    if not os.fork():
        sys.addaudithook(die)
        with OutputFolder(output, command="export", force=True) as folder:
            folder.write("report.json", "new")
            folder.scratch_write("model.tflite", "new")
            if "commit" in sys.argv: folder.commit()
        os._exit(0)
    return os.waitstatus_to_exitcode(os.wait()[1])

calls, codes = 0, []
while 0 not in codes:
    place = Path(sys.argv[1], str(calls))
    place.mkdir()
    if "old" in sys.argv:
        with OutputFolder(place / "out", command="export") as folder:
            folder.write("report.json", "old")
            folder.commit()
    codes.append(run(place / "out", calls))
    calls += 1
print(calls)
"""


@pytest.mark.parametrize("words", [["commit"], ["commit", "old"], ["old"], []], ids=str)
def test_killed_at_any_call_to_the_file_system_a_run_leaves_what_clean_removes(tmp_path, words, capsys):
    done = subprocess.run(
        [sys.executable, "-c", DYING, str(tmp_path), *words], env=environment(), capture_output=True, check=True
    )
    assert int(done.stdout) > 10  # as many moments
    for place in tmp_path.iterdir():
        for path in place.rglob("*"):
            os.utime(path, (time.time() - 120,) * 2)
        clean(place, "--older-than", "0s", "--yes", capsys=capsys)
        assert names(place) in ([[]] if words == [] else [["out"]] if "old" in words else [[], ["out"]]), place.name
        for out in place.iterdir():
            assert (out / "report.json").read_text() in ("old", "new")
            assert (out / "manifest.json").is_file()
