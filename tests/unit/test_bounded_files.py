"""F3, F4: files that are small on disk and large in memory, lines and records without an end, JSON without a bottom."""

import base64
import gzip
import json
import os
import struct
import tracemalloc
import zlib
from pathlib import Path

import pytest

from exporters.commands import main as cli
from exporters.shipped.inputs import from_examples
from models_tf import bounded_files, limits
from models_tf.bounded_files import read_document
from models_tf.checkpoints.json_text import parse_json, read_json_file
from models_tf.checkpoints.torch_file import TorchFile
from models_tf.data import read_table, read_tagged
from models_tf.data.lines import read_lines
from models_tf.data.tfrecord import read_records
from models_tf.data.unlabelled import read_sentences
from models_tf.errors import InputError
from models_tf.tasks import read_rows
from support.tiny_models import tiny_tokenizer, write_checkpoint

MB = 1 << 20
# So much memory more than a line may have is fine: pieces, and the line in its forms.
ROOM = 24 * MB
HEADS = {".conll": b"play\tO\n", ".csv": b"text,label\nplay,x\n", ".jsonl": b'{"text": "play", "label": "x"}\n'}


def peak_of(function) -> int:
    tracemalloc.start()
    try:
        function()
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return peak


def long_line(path: Path) -> Path:
    """2 GB in one line: 2 MB on disk, or a hole."""
    if path.suffix == ".gz":
        member = gzip.compress(b"a" * (64 * MB), 1)
        path.write_bytes(gzip.compress(b"text\tlabel\n") + 32 * member)
    else:
        with path.open("wb") as file:
            file.write(HEADS.get(path.suffix, b"text\tlabel\nplay\tx\n"))
            file.truncate(2048 * MB)
    return path


@pytest.mark.parametrize("name", ["rows.tsv", "rows.tsv.gz", "rows.csv", "rows.jsonl", "rows.conll", "rows.txt"])
def test_a_line_without_an_end_is_refused_before_it_is_in_memory(name, tmp_path):
    """F4: one line of 20 GB in 21 MB of gzip, and a sparse file of 8 GB, took all memory."""
    path, found = long_line(tmp_path / name), []
    read = {".conll": read_tagged, ".txt": read_sentences}.get(Path(name).suffix, read_table)

    def attempt() -> None:
        with limits.override(line_bytes=MB), pytest.raises(InputError) as caught:
            list(read(path))
        found.append(str(caught.value))

    assert peak_of(attempt) < ROOM
    assert "at most 1,048,576 bytes (the limit line_bytes)" in found[0]


def test_rows_that_unpack_to_more_than_a_file_could_mean_are_refused(tmp_path, monkeypatch):
    """F4: 52 MB of gzip with short rows took 6.5 GB."""
    monkeypatch.setattr(bounded_files, "FREE_BYTES", 2 * MB)
    path, count = tmp_path / "rows.tsv.gz", MB // 17
    path.write_bytes(gzip.compress(b"text\tlabel\n") + 4 * gzip.compress(b"play some jazz\tx\n" * count))
    with pytest.raises(InputError, match=r"must unpack to at most 200 bytes per byte \(the limit expansion\)"):
        sum(1 for _ in read_lines(path))
    with limits.override(expansion=2000):
        assert sum(1 for _ in read_lines(path)) == 1 + 4 * count
    monkeypatch.undo()  # what a small file unpacks to does no harm
    assert sum(1 for _ in read_lines(path)) == 1 + 4 * count


def test_a_quoted_field_and_a_sentence_without_an_end_are_refused(tmp_path):
    quoted, tagged = tmp_path / "rows.csv", tmp_path / "rows.conll"
    quoted.write_text("text,label\n" + '"a\n' + '","\n' * 5000)
    tagged.write_text("word\tO\n" * 5000)
    with limits.override(line_bytes=10_000):
        with pytest.raises(InputError, match=r"line .* must have at most 10,000 bytes"):
            list(read_table(quoted))
        with pytest.raises(InputError, match="line 1: a sentence must have at most 10,000 bytes"):
            list(read_tagged(tagged))


@pytest.mark.parametrize("pack", [bytes, zlib.compress, gzip.compress])
def test_a_record_without_an_end_is_refused_before_it_is_in_memory(pack, tmp_path):
    path = tmp_path / "x.tfrecord"
    path.write_bytes(pack(struct.pack("<Q", 30 * MB) + bytes(30 * MB)))

    def attempt() -> None:
        with limits.override(line_bytes=MB), pytest.raises(InputError, match="the limit line_bytes"):
            list(read_records(path))

    assert peak_of(attempt) < ROOM


def test_lines_are_those_of_the_file_wherever_a_piece_ends(tmp_path):
    lines = ["\ufeff" + "x" * (MB - 5) + "\n", "é" * 700_000 + "\r\n", "\n", "a\u2028b\x0cc\n", "ü" * MB]
    (tmp_path / "x.txt").write_bytes("".join(lines).encode())
    (tmp_path / "x.txt.gz").write_bytes(gzip.compress("".join(lines).encode()))
    for name in ("x.txt", "x.txt.gz"):
        assert list(read_lines(tmp_path / name)) == [lines[0].removeprefix("\ufeff"), *lines[1:]]


def test_a_byte_that_is_no_text_is_found_by_row_and_column_and_rows_before_it_are_given(tmp_path):
    (tmp_path / "x.txt").write_bytes(b"one\n" * 300_000 + b"ab\xffc\n" + b"two\n")
    found = read_lines(tmp_path / "x.txt")
    assert [next(found) for _ in range(300_000)] == ["one\n"] * 300_000
    with pytest.raises(InputError, match="byte 0xff in line 300001, column 3"):
        next(found)


def test_a_document_is_read_up_to_a_limit_packed_or_not(tmp_path):
    for name, content in (("a.json", b" " * 2000), ("a.json.gz", gzip.compress(b" " * 2000))):
        (tmp_path / name).write_bytes(content)
        assert len(read_document(tmp_path / name)) == 2000
        with limits.override(document_bytes=1999), pytest.raises(InputError, match="the limit document_bytes"):
            read_json_file(tmp_path / name)
    with limits.override(document_bytes=100), pytest.raises(InputError, match="the limit document_bytes"):
        read_rows("question-answering", tmp_path / "a.json.gz", tokenizer=tiny_tokenizer(), max_len=16)


@pytest.mark.parametrize(("text", "levels"), [("[" * 7 + "]" * 7, 7), ('{"a": [{"b": {"c": [1, [2]]}}]}', 6), ("3", 0)])
def test_nesting_is_counted_exactly(text, levels):
    for given in (text, text.encode()):
        with limits.override(nesting=max(levels, 1)):
            assert parse_json(given, "x must be JSON.") == json.loads(text)
        if levels > 1:
            with limits.override(nesting=levels - 1), pytest.raises(InputError, match="the limit nesting"):
                parse_json(given, "x must be JSON.")


@pytest.mark.parametrize("depth", [101, 100_000])
@pytest.mark.parametrize("model", [(), ("--model", "bert"), ("--model", "prado")])
def test_deep_nesting_in_config_json_is_one_line(model, depth, tmp_path, capsys):
    """F3: without --model, exit code 1."""
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "config.json").write_text('{"a":' * depth + "1" + "}" * depth)
    (tmp_path / "x" / "labels.txt").write_text("a\nb\n")
    (tmp_path / "x" / "model.safetensors").write_bytes(b"")
    assert cli.main([*model, "--checkpoint", str(tmp_path / "x"), "--output", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert "at most 100 levels (the limit nesting)" in said
    assert said.count("\n") == 1


@pytest.mark.parametrize("count", [65_537, 100_000])
def test_too_many_labels_in_config_json_are_one_line(count, tmp_path, capsys):
    """F3: exit code 1 for 100,000 labels."""
    write_checkpoint(tmp_path / "x", "bert")
    document = json.loads((tmp_path / "x" / "config.json").read_text())
    document |= {"id2label": {str(i): f"label {i}" for i in range(count)}, "label2id": None}
    (tmp_path / "x" / "config.json").write_text(json.dumps(document))
    assert cli.main(["--checkpoint", str(tmp_path / "x"), "--output", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert f"`id2label` must have at most 65,536 labels (the limit labels). Received: {count:,}." in said
    assert said.count("\n") == 1


def test_with_a_higher_limit_the_next_check_speaks(tmp_path, capsys):
    write_checkpoint(tmp_path / "x", "bert")
    document = json.loads((tmp_path / "x" / "config.json").read_text())
    document |= {"id2label": {str(i): f"label {i}" for i in range(100_000)}, "label2id": None}
    (tmp_path / "x" / "config.json").write_text(json.dumps(document))
    line = ["--checkpoint", str(tmp_path / "x"), "--output", str(tmp_path / "out"), "--limit", "labels=100000"]
    assert cli.main(line) == 2
    assert "must have shape (100000, 24)" in capsys.readouterr().err


def test_a_vocabulary_has_a_limit():
    with limits.override(vocabulary=50), pytest.raises(InputError, match=r"at most 50 words \(the limit vocabulary\)"):
        tiny_tokenizer()


def test_a_pipe_and_a_device_are_refused_at_once(tmp_path, capsys):
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "zero.json").symlink_to("/dev/zero")
    for name in ("pipe.json", "zero.json"):
        with pytest.raises(InputError, match="Received: a device, a pipe or a socket"):
            read_json_file(tmp_path / name)
        (tmp_path / "model.tflite").touch()
        assert cli.main(["check", str(tmp_path), "--data", str(tmp_path / name)]) == 2
        assert "(a device, a pipe or a socket)" in capsys.readouterr().err


def test_a_model_file_has_a_limit(tmp_path, capsys):
    """F4: a sparse file is as large as it says."""
    with (tmp_path / "model.tflite").open("wb") as file:
        file.truncate((2 << 30) + 1)
    assert cli.main(["inspect", str(tmp_path / "model.tflite")]) == 2
    assert "at most 2,147,483,648 bytes (the limit model_bytes). Received: 2,147,483,649." in capsys.readouterr().err


def test_a_tensor_of_pytorch_is_no_larger_than_its_file_allows(tmp_path):
    torch = pytest.importorskip("torch", reason="PyTorch is an extra")
    torch.save({"a": torch.zeros(1).expand(10_000, 10_000)}, tmp_path / "pytorch_model.bin")
    with pytest.raises(InputError, match=r"tensor a must have at most 4 bytes per byte \(the limit tensor_ratio\)"):
        TorchFile(tmp_path / "pytorch_model.bin")


def test_features_of_examples_json_unpack_to_their_shape_and_no_further(tmp_path):
    bomb = base64.b64encode(zlib.compress(bytes(32 * MB), 9)).decode()
    example = {"inputs": {"features": {"shape": [4, 8], "rows": bomb}, "tokens": 4}}
    document = {"format": "export-mobile-examples/1", "examples": [example]}
    (tmp_path / "examples.json").write_text(json.dumps(document))
    assert peak_of(lambda: from_examples(tmp_path, rows=1)) < 8 * MB
    example["inputs"]["features"]["shape"] = [1 << 20, 1 << 20]
    (tmp_path / "examples.json").write_text(json.dumps(document))
    with pytest.raises(InputError, match="the limit feature_bytes"):
        from_examples(tmp_path, rows=1)
