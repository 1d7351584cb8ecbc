"""Batches: every row once, in a fixed random order, in bounded memory."""

import gzip
import subprocess
import sys
import tracemalloc
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from models_tf.errors import InputError
from models_tf.training import batches as data


def labelled(path: Path, rows: list[tuple[str, str]], separator: str | None = None) -> data.LabelledFile:
    path.write_text("text\tlabel\n" + "".join(f"{text}\t{label}\n" for text, label in rows))
    return data.LabelledFile(path=path, text_column=None, label_column=None, label_separator=separator)


ROWS = [(f"{'word ' * (i % 7)}{i}", f"label{i % 3}") for i in range(1000)]
KNOWN = {"label0": 0, "label1": 1, "label2": 2}


def read(file: data.LabelledFile, seed: int | None) -> list[tuple[bytes, int]]:
    generator = None if seed is None else np.random.default_rng(seed)
    return [
        pair
        for batch in data.batches(file, KNOWN, 32, generator)
        for pair in zip(batch.texts, batch.targets.tolist(), strict=True)
    ]


def test_an_epoch_holds_every_row_once_with_its_label(tmp_path: Path) -> None:
    file = labelled(tmp_path / "f.tsv", ROWS)
    assert Counter(read(file, 0)) == Counter((text.encode(), KNOWN[label]) for text, label in ROWS)


def test_a_batch_knows_the_rows_it_holds(tmp_path: Path) -> None:
    for batch in data.batches(labelled(tmp_path / "f.tsv", ROWS), KNOWN, 32, np.random.default_rng(0)):
        assert batch.texts == [ROWS[row][0].encode() for row in batch.rows]


def test_without_a_generator_the_order_is_the_file(tmp_path: Path) -> None:
    assert [text for text, _ in read(labelled(tmp_path / "f.tsv", ROWS), None)] == [t.encode() for t, _ in ROWS]


def test_the_order_depends_on_the_seed_alone(tmp_path: Path) -> None:
    file = labelled(tmp_path / "f.tsv", ROWS)
    assert read(file, 1) == read(file, 1)
    assert read(file, 1) != read(file, 2)


def test_a_window_smaller_than_the_file_still_gives_every_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data, "WINDOW_ROWS", 100)
    assert len(set(read(labelled(tmp_path / "f.tsv", ROWS), 0))) == 1000


def test_rows_of_a_batch_have_like_length(tmp_path: Path) -> None:
    file = labelled(tmp_path / "f.tsv", ROWS)
    spreads = [
        max(t.count(b" ") for t in batch.texts) - min(t.count(b" ") for t in batch.texts)
        for batch in data.batches(file, KNOWN, 32, np.random.default_rng(0))
    ]
    assert np.mean(spreads) < 1.5  # unsorted batches of 32 would nearly all have spread 6


def test_multi_label_rows_are_encoded_as_vectors(tmp_path: Path) -> None:
    file = labelled(tmp_path / "f.tsv", [("a", "label0|label2"), ("b", "label1"), ("c", "|")], "|")
    batch, *_ = data.batches(file, KNOWN, 8, None)
    np.testing.assert_array_equal(batch.targets, [[1, 0, 1], [0, 1, 0], [0, 0, 0]])


def test_a_window_of_multi_label_rows_costs_no_vector_a_row(tmp_path: Path) -> None:
    """2,000 rows of 1,000 labels: as vectors they are 8 MB or more, as label numbers some hundred KB."""
    known = {f"l{i}": i for i in range(1000)}
    file = labelled(tmp_path / "f.tsv", [("a", f"l{i % 1000}") for i in range(2000)], "|")
    tracemalloc.start()
    try:
        assert sum(len(batch.texts) for batch in data.batches(file, known, 10, np.random.default_rng(0))) == 2000
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([], "a header only"),
        ([("a", "x"), ("b", "x")], "only 'x'"),
        ([("a", "x"), ("b", "")], "line 3 must have a label"),
    ],
)
def test_a_file_that_cannot_be_learnt_from_is_refused(
    tmp_path: Path, rows: list[tuple[str, str]], expected: str
) -> None:
    with pytest.raises(InputError, match=expected):
        data.count_labels(labelled(tmp_path / "f.tsv", rows))


def test_a_dev_label_that_train_lacks_is_named_with_its_row(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"line 3 .*'new'"):
        data.check_labels(labelled(tmp_path / "f.tsv", [("a", "label0"), ("b", "new")]), KNOWN)


MEMORY_SCRIPT = """
import sys
from pathlib import Path
import numpy as np
from models_tf.training import batches as data
file = data.LabelledFile(path=Path(sys.argv[1]), text_column=None, label_column=None, label_separator=None)
def peak_megabytes():
    # Not ru_maxrss: a child inherits that of the process which started it.
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) // 1024
before = peak_megabytes()
counts, rows = data.count_labels(file)
labels = {label: index for index, label in enumerate(sorted(counts))}
seen = sum(len(batch.texts) for batch in data.batches(file, labels, 64, np.random.default_rng(0)))
assert seen == rows == int(sys.argv[2]), (seen, rows)
print(peak_megabytes() - before)
"""


@pytest.mark.exhaustive
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak is read from /proc")
def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    """A file four times as large as the window costs no more memory than one that fills it once."""
    grown = {}
    for windows in (1, 4):
        rows = windows * data.WINDOW_CHARACTERS // 1000
        with gzip.open(tmp_path / "f.tsv.gz", "wb", compresslevel=1) as file:
            file.write(b"text\tlabel\n")
            file.writelines(b"%09d %s\tlabel%d\n" % (i, b"word " * 198, i % 3) for i in range(rows))
        command = [sys.executable, "-c", MEMORY_SCRIPT, str(tmp_path / "f.tsv.gz"), str(rows)]
        done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=300)
        grown[windows] = int(done.stdout)
    # Two windows may live at a time while one is handed over.
    assert 0 < grown[4] < 2.2 * grown[1], grown
