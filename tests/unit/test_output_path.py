"""F13: an output path that cannot be written is refused in one line, before anything is made."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from exporters import AblateRequest, ExportRequest
from exporters.commands import main as cli
from models_tf.errors import InputError
from models_tf.folders.output_folder import OutputFolder
from models_tf.folders.output_path import check_path
from models_tf.training.folder import TrainingFolder
from support.export_command import run

LONG = "x" * 300


def message_of(work):
    with pytest.raises(InputError) as caught:
        work()
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 500
    return message


def refused(path, before):
    def work():
        with OutputFolder(path, command="export") as folder:
            folder.write("x.txt", "hello")

    message = message_of(work)
    assert sorted(before.rglob("*")) == []
    return message


@pytest.mark.parametrize("name", [LONG, f"a/{LONG}/b", "é" * 128, "日" * 86])
def test_F13_a_name_that_is_too_long_is_refused_before_work_files_are_made(tmp_path, name):
    assert "at most 255 bytes" in refused(tmp_path / name, tmp_path)


def test_F13_a_path_that_leaves_no_room_for_our_files_is_refused(tmp_path):
    path = tmp_path.joinpath(*["d" * 200] * 19, "e" * (4060 - len(str(tmp_path)) - 19 * 201 - 1))
    assert len(str(path)) == 4060
    assert "a path of at most 3841 bytes" in refused(path, tmp_path)


def test_F13_a_parent_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file" / "out", tmp_path / "file" / "a" / "b"):
        assert f"{tmp_path / 'file'} is not a folder" in message_of(lambda path=path: check_path(path))


@pytest.mark.skipif(os.geteuid() != 0, reason="becoming another user needs root")
def test_F13_a_folder_of_another_user_is_refused(tmp_path):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o755)
    code = "import sys, os; from pathlib import Path; from models_tf.folders.output_path import check_path; "
    code += "os.setuid(65534); check_path(Path(sys.argv[1]))"
    for folder in (tmp_path, *tmp_path.parents[:3]):
        if folder.owner() == "root" and not folder.stat().st_mode & 0o001:
            folder.chmod(0o711)
    command = [sys.executable, "-c", code, str(closed / "a" / "out")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2])
    assert f"{closed} is read-only for you" in done.stderr


def test_a_name_of_255_bytes_in_letters_of_several_is_written(tmp_path):
    name = "日" * 85
    with OutputFolder(tmp_path / name, command="export") as folder:
        folder.write("x.txt", "hello")
        folder.commit()
    assert (tmp_path / name / "x.txt").read_text() == "hello"


def test_F13_a_training_refuses_it_as_well(tmp_path):
    message_of(lambda: TrainingFolder(tmp_path / LONG).__enter__())
    assert list(tmp_path.iterdir()) == []


def test_F13_files_are_refused_as_well(tmp_path):
    values = {"checkpoint": tmp_path / "c", "data": tmp_path / "d.tsv", "output": tmp_path / f"{LONG}.json"}
    assert "at most 255 bytes" in message_of(lambda: AblateRequest(**values))


@pytest.mark.parametrize(
    "arguments",
    [
        ("--model", "prado", "--output", LONG),
        ("compress", "--checkpoint", "c", "--drop-layers", "0", "--output", LONG),
        ("train", "--model", "prado", "--train", "d.tsv", "--dev", "d.tsv", "--output", LONG),
        ("compare", ".", "--output", LONG),
        ("ledger", ".", "--output", f"{LONG}.json"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_F13_a_command_says_so_in_one_line(tmp_path, arguments):
    (tmp_path / "c").mkdir()
    (tmp_path / "d.tsv").write_text("text\tlabel\nplay\tyes\nstop\tno\n")
    before = sorted(tmp_path.rglob("*"))
    done = run(*arguments, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert done.stderr.count("\n") == 1
    assert "at most 255 bytes" in done.stderr
    assert sorted(tmp_path.rglob("*")) == before


def test_a_folder_in_the_making_has_the_whole_name_that_it_will_get(tmp_path):
    name = "x" * 200
    with OutputFolder(tmp_path / name, command="export") as folder:
        assert folder.staging.name.startswith(f".{name}.partial-")


@pytest.mark.parametrize(
    "words", [["--output", ""], ["train", "--train", ""], ["check", ""], ["compare", "x", "--output="]]
)
def test_an_empty_path_is_not_the_current_folder(words, tmp_path, monkeypatch, capsys):
    """An unset variable: --force would have replaced the folder that the shell is in."""
    monkeypatch.chdir(tmp_path)
    assert cli.main(words) == 2
    assert "expected a path. Received: an empty text" in capsys.readouterr().err
    with pytest.raises(InputError, match=r"`output` must be a path\. Received: ''"):
        ExportRequest(output="")
    assert list(tmp_path.iterdir()) == []
