"""`verify`: every change to a folder is one line, and a manifest that cannot be trusted is exit code 2."""

import dataclasses
import json
import os
from pathlib import Path

import pytest

from exporters import ExportRequest, VerifyRequest, verify
from exporters.commands import main as cli
from exporters.errors import ParityError
from exporters.integrity import rebuild
from exporters.report.inputs import InputRecord
from exporters.request_record import from_record, to_record
from models_tf.compress.settings import Compression
from models_tf.errors import InputError
from models_tf.folders import manifest
from models_tf.folders.output_folder import OutputFolder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with OutputFolder(tmp_path / "out", command="export") as made:
        made.write("model.tflite", b"\x00" * 2000)
        made.write("labels.txt", "yes\nno\n")
        made.write("report.json", "{}")
        made.commit()
    return tmp_path / "out"


def lines(folder: Path) -> list[str]:
    return [problem.line for problem in verify(VerifyRequest(folder=folder)).problems]


def test_a_folder_as_it_was_written_passes_and_says_how_many_files(folder, capsys):
    assert cli.main(["verify", str(folder)]) == 0
    assert capsys.readouterr().out == f"passed: 3 files of {folder} are as export wrote them\n"


def test_one_byte_is_found_though_the_size_is_the_same(folder):
    (folder / "model.tflite").write_bytes(b"\x00" * 1999 + b"\x01")
    (line,) = lines(folder)
    assert line.startswith("changed: model.tflite (2,000 bytes as expected, SHA-256 ")


def test_missing_changed_and_extra_are_a_line_each_and_exit_code_5(folder, capsys):
    (folder / "labels.txt").unlink()
    (folder / "model.tflite").write_bytes(b"\x00" * 1999)
    (folder / "notes.txt").write_text("mine")
    (folder / "empty").mkdir()
    assert cli.main(["verify", str(folder)]) == 5
    found = capsys.readouterr()
    assert found.out.splitlines() == [
        "missing: labels.txt",
        "changed: model.tflite (expected 2,000 bytes, received 1,999)",
        "extra: empty",
        "extra: notes.txt",
    ]
    assert found.err == (
        f"export-mobile: expected {folder} as it was written. Received: 1 missing, 1 changed, 2 extra.\n"
    )
    assert cli.main(["verify", str(folder), "--json"]) == 5
    document = json.loads(capsys.readouterr().out)
    assert (document["passed"], document["exit_code"], len(document["problems"])) == (False, 5, 4)
    with pytest.raises(ParityError, match=r"missing: labels\.txt; changed"):
        verify(VerifyRequest(folder=folder)).raise_for_failures()


def test_what_is_no_file_of_its_own_is_not_read(folder, tmp_path):
    """A link may lead anywhere, and a pipe never ends."""
    copy = tmp_path / "copy"
    copy.write_bytes((folder / "labels.txt").read_bytes())
    (folder / "labels.txt").unlink()
    (folder / "labels.txt").symlink_to(copy)
    (folder / "model.tflite").unlink()
    os.mkfifo(folder / "model.tflite")
    assert lines(folder) == [
        "changed: labels.txt (is no longer a file of its own)",
        "changed: model.tflite (is no longer a file of its own)",
    ]


def test_control_characters_in_a_name_do_not_reach_the_terminal(folder, capsys):
    (folder / "a\x1b[31mred").write_text("")
    assert cli.main(["verify", str(folder)]) == 5
    found = capsys.readouterr()
    assert "\x1b" not in found.out + found.err
    assert "extra: a\\x1b[31mred" in found.out


def damaged(**changes: object) -> bytes:
    document = {"made_by": "export-mobile", "version": 2, "command": "export", "files": {}}
    return json.dumps(document | changes).encode()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "a file of another kind"),
        (b"[" * 100_000, "a file of another kind"),
        (b'{"name": "a web app"}', "a file of another kind"),
        (b"\xff\xfe", "a file of another kind"),
        (damaged(version=1), "must have version 2. Received: 1"),
        (damaged(version="three\n"), "must have version 2"),
        (damaged(files=["labels.txt"]), "a damaged manifest"),
        (damaged(command=7), "a damaged manifest"),
        (damaged(files={"labels.txt": {}}), "a damaged entry"),
        (damaged(files={"labels.txt": {"size_bytes": True, "sha256": "0" * 64}}), "a damaged entry"),
        (damaged(files={"labels.txt": {"size_bytes": 3, "sha256": "0" * 63}}), "a damaged entry"),
        (damaged(files={"labels.txt": None}), "a damaged entry"),
        (damaged(files={"../labels.txt": {"size_bytes": 3, "sha256": "0" * 64}}), "inside of its folder"),
        (damaged(files={"/etc/passwd": {"size_bytes": 3, "sha256": "0" * 64}}), "inside of its folder"),
        (damaged(files={"a/../../b": {"size_bytes": 3, "sha256": "0" * 64}}), "inside of its folder"),
    ],
)
def test_a_damaged_manifest_is_one_line_and_exit_code_2(folder, content, message, capsys):
    (folder / manifest.FILE).write_bytes(content)
    assert cli.main(["verify", str(folder)]) == 2
    found = capsys.readouterr()
    assert found.out == ""
    assert len(found.err.splitlines()) == 1
    assert message in found.err


@pytest.mark.parametrize("rebuild", [(), ("--rebuild",)])
def test_what_no_export_wrote_is_exit_code_2(tmp_path, rebuild, capsys):
    (tmp_path / "file").write_text("")
    (tmp_path / "theirs").mkdir()
    (tmp_path / "training").mkdir()
    manifest.add(tmp_path / "training", "train", ["config.json"])
    for name, message in (
        ("file", "(a file)"),
        ("nowhere", "(no such folder)"),
        ("theirs", "must have a manifest.json"),
        ("training", "a folder of a training, which has no checksums"),
    ):
        assert cli.main(["verify", str(tmp_path / name), *rebuild]) == 2
        found = capsys.readouterr()
        assert found.out == ""
        assert len(found.err.splitlines()) == 1
        assert message in found.err


def test_only_an_export_whose_report_records_its_request_is_made_again(folder, tmp_path, capsys):
    assert cli.main(["verify", str(folder), "--rebuild"]) == 2
    assert "needs a report that records its request" in capsys.readouterr().err
    (folder / "report.json").write_text('{"request": {"model": "prado"}}')
    assert cli.main(["verify", str(folder), "--rebuild"]) == 2
    assert "Received: a missing or changed one" in capsys.readouterr().err
    with OutputFolder(tmp_path / "small", command="compress") as made:
        made.write("config.json", "{}")
        made.commit()
    assert cli.main(["verify", str(tmp_path / "small"), "--rebuild"]) == 2
    assert "which compress wrote" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"model": "prado", "colour": "red"}, "Received: colour"),
        ({"model": "nonsense"}, "nonsense"),
        ({"model": "prado", "seed": "one"}, "`seed` must be a whole number"),
        ({"model": "bert", "checkpoint": "x", "compression": {"prune_everything": 1}}, "`compression` must be"),
        ({"model": "bert", "checkpoint": "x", "compression": 3}, "`compression` must be"),
        ({"model": "prado", "eval_data": "gone.tsv"}, "gone.tsv (no such file)"),
    ],
)
def test_a_request_that_cannot_be_made_again_is_one_line(tmp_path, record, message):
    with pytest.raises(InputError) as caught:
        from_record(record, output=tmp_path / "out")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_request_survives_its_record(tmp_path):
    rows = tmp_path / "rows.tsv"
    rows.write_text("text\tlabel\n")
    request = ExportRequest(
        model="bert",
        checkpoint=tmp_path,
        quantize="int8-dynamic",
        target=("onnx",),
        eval_data=rows,
        importance_data=rows,
        vocab_data=(rows,),
        max_seq_len=32,
        fold="safe",
        output=tmp_path / "here",
        force=True,
        seed=7,
        max_size_bytes=1000,
        max_drop=0.5,
        compression=Compression(
            drop_layers="top:1",
            prune_ffn=0.5,
            remove_heads=((0, (1, 2)), (3, (0,))),
            ghosts=0,
            prune_vocab=True,
        ),
    )
    record = to_record(request)
    assert not {"output", "force"} & set(record)
    again = from_record(json.loads(json.dumps(record)), output=tmp_path / "here")
    assert to_record(again) == record
    assert (again.compression, again.vocab_data, again.max_drop) == (request.compression, (rows,), 0.5)
    kept = ExportRequest(model="bert", checkpoint=tmp_path, compression=Compression(retention=(9, 5), share_layers=2))
    assert from_record(json.loads(json.dumps(to_record(kept))), output=tmp_path).compression == kept.compression


def test_inputs_that_are_no_longer_the_same_are_named():
    def record(role: str, path: str, digit: str) -> InputRecord:
        return InputRecord(role=role, path=path, size_bytes=1, sha256=digit * 64)

    then = [record("checkpoint", "config.json", "1"), record("eval_data", "/there/eval.tsv", "2")]
    report = {"inputs": [dataclasses.asdict(one) for one in then]}
    assert list(rebuild._other_inputs(report, [then[0], record("eval_data", "/here/eval.tsv", "2")])) == []
    (note,) = rebuild._other_inputs(report, [then[0], record("eval_data", "/there/eval.tsv", "3")])
    assert note == "Not the same input as then: eval_data eval.tsv."
    for damaged_report in ({}, {"inputs": None}, {"inputs": [3]}):
        assert list(rebuild._other_inputs(damaged_report, then)) == []


def test_files_that_differ_or_are_not_written_again_are_named():
    before = {name: manifest.Entry(size_bytes=1, sha256=digit * 64) for name, digit in zip("abc", "123", strict=True)}
    after = {"a": before["a"], "b": manifest.Entry(size_bytes=1, sha256="9" * 64), "d": before["a"]}
    found = [problem.line for problem in rebuild._differences(before, after, ["a", "b", "c", "d"])]
    assert found == [
        "different: b (1 bytes as expected, SHA-256 999999999999… instead of 222222222222…)",
        "different: c (not written this time)",
        "different: d (not in the folder)",
    ]
