"""TFRecord files without TensorFlow."""

import gzip
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest

from models_tf.data.tfrecord import parse_example, read_examples
from models_tf.errors import InputError
from support.squad_files import example, record

VALUES = {"ids": [0, 1, 127, 128, 30521, 1 << 40, -5], "names": [b"", b"abc", b"x" * 300, "é".encode()], "none": []}


@pytest.mark.parametrize("pack", [bytes, zlib.compress, gzip.compress])
def test_examples_are_read_plain_and_compressed(tmp_path: Path, pack: object) -> None:
    path = tmp_path / "f.tfrecord"
    path.write_bytes(pack(record(example(VALUES)) * 3))  # type: ignore[operator]
    found = list(read_examples(path))
    assert len(found) == 3
    assert np.asarray(found[0]["ids"]).tolist() == VALUES["ids"]
    assert found[0]["names"] == VALUES["names"]
    assert list(next(read_examples(path, ["names"]))) == ["names"]


def test_examples_are_those_that_tensorflow_writes() -> None:
    tf = pytest.importorskip("tensorflow", reason="only to compare with")
    features = {
        "ids": tf.train.Feature(int64_list=tf.train.Int64List(value=VALUES["ids"])),
        "names": tf.train.Feature(bytes_list=tf.train.BytesList(value=VALUES["names"])),
    }
    data = tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()
    found = parse_example(data)
    assert np.asarray(found["ids"]).tolist() == VALUES["ids"]
    assert found["names"] == VALUES["names"]


WHOLE = record(example(VALUES))


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", "an empty file"),
        (WHOLE[:-1], "ends within record 1"),
        (WHOLE + WHOLE[:7], "ends within record 2"),
        (zlib.compress(WHOLE)[:-3], "cut off"),
        (zlib.compress(WHOLE)[:20] + b"\xff" * 20, "whole TFRecord file"),
        (record(b"\x0a\xff"), "record 1 must be a tf.train.Example"),
        (record(b"\x0d1234"), "record 1 must be a tf.train.Example"),
        (struct.pack("<Q", 1 << 60) + b"x" * 20, "ends within record 1"),
    ],
)
def test_broken_files_are_one_clear_line(tmp_path: Path, data: bytes, expected: str) -> None:
    path = tmp_path / "f.tfrecord"
    path.write_bytes(data)
    with pytest.raises(InputError) as caught:
        list(read_examples(path))
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        list(read_examples(tmp_path / "absent.tfrecord"))
