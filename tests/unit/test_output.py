"""The output folder appears complete or not at all."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from models_tf.errors import InputError
from models_tf.folders import manifest
from models_tf.folders.open_folders import discard_all
from models_tf.folders.output_folder import OutputFolder, check_free

ROOT = Path(__file__).parents[2]


def everything_under(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def make_ours(folder: Path) -> None:
    """What an earlier export left."""
    with OutputFolder(folder, command="export") as made:
        made.write("report.json", "old")
        made.commit()


def test_nothing_has_the_name_before_commit_and_all_of_it_after(tmp_path):
    target = tmp_path / "a" / "b" / "out"
    with OutputFolder(target, command="export") as folder:
        folder.write("x.txt", "hello")
        folder.write("y.bin", b"\x00\x01")
        folder.scratch_write("float.bin", b"not for the user")
        assert not target.exists()
        folder.commit()
    assert everything_under(target) == [manifest.FILE, "x.txt", "y.bin"]
    assert (target / "y.bin").read_bytes() == b"\x00\x01"
    assert everything_under(tmp_path) == [
        "a",
        "a/b",
        "a/b/out",
        f"a/b/out/{manifest.FILE}",
        "a/b/out/x.txt",
        "a/b/out/y.bin",
    ]


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, OSError])
def test_an_error_leaves_nothing_not_even_parent_folders(tmp_path, error):
    def work():
        with OutputFolder(tmp_path / "a" / "out", command="export") as folder:
            folder.write("x.txt", "hello")
            raise error

    with pytest.raises(error):
        work()
    assert everything_under(tmp_path) == []


def test_a_run_without_commit_leaves_nothing(tmp_path):
    with OutputFolder(tmp_path / "out", command="export") as folder:
        folder.write("x.txt", "hello")
    assert everything_under(tmp_path) == []


def test_a_folder_that_exists_is_refused_without_force(tmp_path):
    (tmp_path / "out").mkdir()
    with pytest.raises(InputError, match=r"exists.*--force"), OutputFolder(tmp_path / "out", command="export"):
        pass


def test_force_replaces_an_export_only_when_the_new_one_is_complete(tmp_path):
    target = tmp_path / "out"
    make_ours(target)

    def fail_in_the_middle():
        with OutputFolder(target, command="export", force=True) as folder:
            folder.write("report.json", "half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_in_the_middle()
    assert (target / "report.json").read_text() == "old"
    with OutputFolder(target, command="export", force=True) as folder:
        folder.write("report.json", "new")
        folder.commit()
    assert (target / "report.json").read_text() == "new"
    assert everything_under(tmp_path) == ["out", f"out/{manifest.FILE}", "out/report.json"]


@pytest.mark.parametrize(
    "files",
    [
        {"thesis.tex": "years of work"},
        {"report.json": "{}"},  # the name alone proves nothing
        {"report.json": "{}", manifest.GROWING: '{"made_by": "somebody", "files": ["report.json"]}'},
        {"report.json": "{}", manifest.FILE: '{"made_by": "somebody", "files": {"report.json": {}}}'},
        {"icon.png": "", manifest.FILE: '{"name": "a web app", "icons": [{"src": "icon.png"}]}'},
        {"report.json": "{}", manifest.FILE: "[" * 100_000},
        {"report.json": "{}", manifest.FILE: '{"made_by": "export-mobile", "files": "report.json"}'},
    ],
)
def test_force_does_not_delete_folders_that_are_not_ours(tmp_path, files):
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match="must be a new folder, or one that export-mobile wrote") as caught:
        check_free(tmp_path, force=True)
    assert min(files) in str(caught.value)
    assert everything_under(tmp_path) == sorted(files)


@pytest.mark.parametrize("name", ["notes.txt", "deep/er/notes.txt", ".hidden", "empty/"])
def test_force_refuses_one_of_our_folders_with_a_file_of_somebody_else_and_names_it(tmp_path, name):
    make_ours(tmp_path / "out")
    stranger = tmp_path / "out" / name
    if name.endswith("/"):
        stranger.mkdir()
    else:
        stranger.parent.mkdir(parents=True, exist_ok=True)
        stranger.write_text("mine")
    with pytest.raises(InputError, match=f"which holds {name.rstrip('/')}, a file it does not know"):
        check_free(tmp_path / "out", force=True)


def test_force_takes_an_empty_folder_and_one_with_what_a_killed_write_left(tmp_path):
    (tmp_path / "empty").mkdir()
    check_free(tmp_path / "empty", force=True)
    make_ours(tmp_path / "out")
    (tmp_path / "out" / ".report.json.tmp").write_text("half")
    check_free(tmp_path / "out", force=True)


def test_a_link_inside_of_our_folder_is_a_stranger(tmp_path):
    make_ours(tmp_path / "out")
    (tmp_path / "out" / "link").symlink_to(tmp_path)
    with pytest.raises(InputError, match="which holds link, a file it does not know"):
        check_free(tmp_path / "out", force=True)


def test_a_complete_folder_has_size_and_sum_of_every_file_and_of_nothing_else(tmp_path):
    with OutputFolder(tmp_path / "out", command="export") as folder:
        folder.write("x.txt", "hello")
        (folder.staging / "deep").mkdir()
        folder.write("deep/y.bin", b"")
        folder.scratch_write("float.bin", b"not for the user")
        folder.commit()
    found = manifest.load(tmp_path / "out")
    assert found.command == "export"
    # sha256sum of "hello" and of nothing
    assert {name: (entry.size_bytes, entry.sha256) for name, entry in found.files.items()} == {
        "x.txt": (5, "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"),
        "deep/y.bin": (0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
    }


@pytest.mark.parametrize("name", [manifest.FILE, manifest.GROWING])
def test_both_kinds_of_manifest_say_what_may_be_replaced(tmp_path, name):
    (tmp_path / "report.json").write_text("{}")
    content = manifest.names_only("train", ["report.json"])
    (tmp_path / name).write_bytes(manifest.complete("export", tmp_path) if name == manifest.FILE else content)
    check_free(tmp_path, force=True)
    (tmp_path / "mine").write_text("")
    with pytest.raises(InputError, match="which holds mine, a file it does not know"):
        check_free(tmp_path, force=True)


def test_a_folder_that_grows_names_its_files_as_it_grows(tmp_path):
    manifest.add(tmp_path, "train", ["config.json"])
    manifest.add(tmp_path, "train", ["labels.txt"])
    assert manifest.read(tmp_path) == {"config.json", "labels.txt"}
    document = json.loads((tmp_path / manifest.GROWING).read_text())
    assert (document["made_by"], document["command"], document["version"]) == ("export-mobile", "train", 1)
    manifest.check_replaceable(tmp_path)


def test_an_output_is_not_an_input_does_not_hold_one_and_does_not_lie_in_one(tmp_path):
    checkpoint = tmp_path / "models" / "mine"
    checkpoint.mkdir(parents=True)
    (tmp_path / "rows.tsv").write_text("")
    (tmp_path / "link").symlink_to(checkpoint)
    for output, words in [
        (checkpoint, "must not be --checkpoint itself"),
        (tmp_path / "link", "must not be --checkpoint itself"),
        (tmp_path / "models", "must not contain --checkpoint"),
        (checkpoint / "deep" / "out", "must not lie inside --checkpoint"),
        (tmp_path / "models" / ".." / "models" / "mine" / "out", "must not lie inside --checkpoint"),
    ]:
        with pytest.raises(InputError, match=words):
            check_free(output, force=True, inputs=[("--checkpoint", str(checkpoint))])
    check_free(tmp_path / "models" / "other", force=False, inputs=[("--checkpoint", checkpoint), ("--data", None)])
    check_free(tmp_path / "beside-the-rows", force=False, inputs=[("--data", tmp_path / "rows.tsv")])
    check_free(tmp_path / "out", force=False, inputs=[("--checkpoint", "google/a-name-on-a-hub")])


def test_force_is_suggested_only_where_it_would_help(tmp_path):
    (tmp_path / "file").write_text("mine")
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "notes.txt").write_text("mine")
    for name in ("file", "theirs"):
        with pytest.raises(InputError) as caught:
            check_free(tmp_path / name, force=False)
        assert "--force" not in str(caught.value)


def test_force_refuses_a_file_and_a_link(tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to(tmp_path)
    for name in ("file", "link"):
        with pytest.raises(InputError, match="must be a folder"):
            check_free(tmp_path / name, force=True)


def test_a_place_that_cannot_be_written_is_bad_input(tmp_path):
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(InputError, match="cannot be written"),
        OutputFolder(tmp_path / "file" / "out", command="export"),
    ):
        pass
    assert everything_under(tmp_path) == ["file"]


def test_a_rename_that_fails_brings_the_old_folder_back(tmp_path, monkeypatch):
    target = tmp_path / "out"
    make_ours(target)
    rename = Path.rename

    def fail_for_new(source, destination):
        if ".partial-" in str(source):
            raise OSError(28, "No space left on device")
        return rename(source, destination)

    with OutputFolder(target, command="export", force=True) as folder:
        folder.write("report.json", "new")
        monkeypatch.setattr(Path, "rename", fail_for_new)
        with pytest.raises(OSError, match="No space"):
            folder.commit()
    assert (target / "report.json").read_text() == "old"
    assert everything_under(tmp_path) == ["out", f"out/{manifest.FILE}", "out/report.json"]


def test_an_old_folder_that_cannot_be_brought_back_is_kept_and_its_place_is_named(tmp_path, monkeypatch):
    target = tmp_path / "out"
    make_ours(target)
    rename = Path.rename

    def only_away(source, destination):
        if source != target:
            raise OSError(5, "Input/output error")
        return rename(source, destination)

    with OutputFolder(target, command="export", force=True) as folder:
        folder.write("report.json", "new")
        monkeypatch.setattr(Path, "rename", only_away)
        with pytest.raises(InputError, match="The old one is now") as caught:
            folder.commit()
    (kept,) = tmp_path.glob(".out.old-*/old")
    assert str(kept) in str(caught.value)
    assert (kept / "report.json").read_text() == "old"


def test_ctrl_c_between_the_two_renames_brings_the_old_folder_back(tmp_path, monkeypatch):
    target = tmp_path / "out"
    make_ours(target)
    rename = Path.rename

    def interrupted(source, destination):
        if ".partial-" in str(source):
            raise KeyboardInterrupt
        return rename(source, destination)

    with OutputFolder(target, command="export", force=True) as folder:
        folder.write("report.json", "new")
        monkeypatch.setattr(Path, "rename", interrupted)
        with pytest.raises(KeyboardInterrupt):
            folder.commit()
    assert (target / "report.json").read_text() == "old"
    assert everything_under(tmp_path) == ["out", f"out/{manifest.FILE}", "out/report.json"]


def test_an_old_folder_that_cannot_be_moved_away_stays_where_it_is(tmp_path, monkeypatch):
    target = tmp_path / "out"
    make_ours(target)

    def fail(source, destination):
        raise OSError(13, "Permission denied")

    with OutputFolder(target, command="export", force=True) as folder:
        folder.write("report.json", "new")
        monkeypatch.setattr(Path, "rename", fail)
        with pytest.raises(OSError, match="Permission denied"):
            folder.commit()
    assert (target / "report.json").read_text() == "old"
    assert everything_under(tmp_path) == ["out", f"out/{manifest.FILE}", "out/report.json"]


def test_a_text_with_bytes_that_are_no_utf8_is_json_that_gives_them_back(tmp_path):
    name = os.fsdecode(b"out-\xff")
    with OutputFolder(tmp_path / "out", command="export") as folder:
        folder.write("report.json", json.dumps({"output": name}, ensure_ascii=False))
        folder.commit()
    assert json.loads((tmp_path / "out" / "report.json").read_text(encoding="utf-8"))["output"] == name


def test_discard_all_removes_folders_in_work(tmp_path):
    folder = OutputFolder(tmp_path / "a" / "out", command="export").__enter__()
    folder.write("x.txt", "hello")
    assert discard_all()
    assert everything_under(tmp_path) == []


SCRIPT = """
import signal, sys, time
from pathlib import Path
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # a test run under nohup ignores it
from exporters.console import interrupt
from models_tf.folders.output_folder import OutputFolder
interrupt.install("export-mobile")
with OutputFolder(Path(sys.argv[1]), command="export") as folder:
    folder.write("x.txt", "half")
    print("ready", flush=True)
    time.sleep(30)
"""


@pytest.mark.parametrize(
    ("number", "code", "word"),
    [(signal.SIGINT, 2, "interrupted"), (signal.SIGTERM, 143, "terminated"), (signal.SIGHUP, 129, "terminated")],
)
def test_a_signal_in_the_middle_leaves_nothing_and_says_one_line(tmp_path, number, code, word):
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(tmp_path / "a" / "out")],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.1)
    process.send_signal(number)
    _, stderr = process.communicate(timeout=20)
    assert process.returncode == code
    assert stderr == f"export-mobile: {word}. Nothing was written.\n"
    assert everything_under(tmp_path) == []


def test_a_signal_during_the_commit_waits_for_its_end(tmp_path):
    script = SCRIPT.replace(
        '    print("ready"',
        "    import os, shutil, signal\n"
        "    rename = Path.rename\n"
        "    def interrupted(*paths): os.kill(os.getpid(), signal.SIGTERM); return rename(*paths)\n"
        "    Path.rename = interrupted\n"
        '    folder.commit()\n    print("not reached"',
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "out")], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (143, "")
    assert done.stderr == f"export-mobile: terminated. The output in {tmp_path / 'out'} is complete.\n"
    assert everything_under(tmp_path) == ["out", f"out/{manifest.FILE}", "out/x.txt"]


def test_a_signal_after_the_commit_says_that_the_output_is_complete(tmp_path):
    script = SCRIPT.replace('    print("ready"', '    folder.commit()\n    print("ready"')
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path / "out")],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=20)
    assert stderr == f"export-mobile: interrupted. The output in {tmp_path / 'out'} is complete.\n"
    assert everything_under(tmp_path) == ["out", f"out/{manifest.FILE}", "out/x.txt"]
