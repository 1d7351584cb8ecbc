"""Reading labelled files."""

import gzip
import json
from pathlib import Path

import pytest

from models_tf.data import Row, labels_of, read_table
from models_tf.errors import InputError

ROWS = [("play some jazz", "PlayMusic"), ('naïve “quotes” "x", tab-free', "Other"), ("", "Other")]


def write_rows(path: Path) -> Path:
    if ".jsonl" in path.name:
        text = "".join(json.dumps({"id": 7, "text": t, "label": y}) + "\n" for t, y in ROWS)
    elif ".csv" in path.name:
        quoted = [t.replace('"', '""') for t, _ in ROWS]
        text = "label,text\n" + "".join(f'{y},"{t}"\n' for t, (_, y) in zip(quoted, ROWS, strict=True))
    else:
        text = "text\tlabel\n" + "".join(f"{t}\t{y}\n" for t, y in ROWS)
    data = text.encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


@pytest.mark.parametrize("name", [f"f{suffix}{gz}" for suffix in (".tsv", ".csv", ".jsonl") for gz in ("", ".gz")])
def test_every_format_gives_the_same_rows(tmp_path: Path, name: str) -> None:
    rows = list(read_table(write_rows(tmp_path / name)))
    assert [(row.text, row.label) for row in rows] == ROWS


def test_columns_can_be_named(tmp_path: Path) -> None:
    path = tmp_path / "f.tsv"
    path.write_text("a\tb\tc\nx\ty\tz\n")
    assert list(read_table(path, "c", "a")) == [Row("z", "x", 2)]


@pytest.mark.parametrize("name", ["f.tsv", "f.jsonl"])
def test_a_file_read_without_labels_needs_none(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text("text\nhello\n" if name == "f.tsv" else '\n{"text": "hello"}\n')
    assert list(read_table(path, labelled=False)) == [Row("hello", "", 2)]
    with pytest.raises(InputError, match="a column named label"):
        list(read_table(path))


def test_a_quote_in_tsv_is_a_quote(tmp_path: Path) -> None:
    path = tmp_path / "f.tsv"
    path.write_text('text\tlabel\n"open\tA\n')
    assert list(read_table(path)) == [Row('"open', "A", 2)]


def test_windows_line_ends_and_byte_order_mark_are_read(tmp_path: Path) -> None:
    path = tmp_path / "f.tsv"
    path.write_bytes(b"\xef\xbb\xbftext\tlabel\r\nhi\tA\r\n")
    assert list(read_table(path)) == [Row("hi", "A", 2)]


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("f.tsv", b"", "empty file"),
        ("f.jsonl", b"", "empty file"),
        ("f.tsv", b"body\tlabel\nx\ty\n", "Received: body, label. Choose one with --text-column"),
        ("f.tsv", b"text\tlabel\nok\tA\nbad \xff\tA\n", "byte 0xff in line 3, column 5"),
        ("f.tsv", b"text\tlabel\nok\tA\tB\n", "line 2 must have 2 columns"),
        ("f.jsonl", b'{"text": "a", "label": "b"}\n[1]\n', "line 2 must be a JSON object"),
        ("f.jsonl", b'{"text": "a", "label": "b"}\n{"text": "a"}\n', "line 2 must have 'label'"),
        ("f.jsonl", b'{"text": 3, "label": "b"}\n', "'text' must be text"),
        ("f.jsonl", b"{", "line 1 must be one JSON object"),
        ("f.jsonl", b'{"text": "a", "label": null}\n', "line 1: 'label' must be text, a number or a list of them"),
        ("f.jsonl", b'{"text": "a", "label": {"a": 1}}\n', "Received: dict"),
        ("f.jsonl", b'{"text": "a", "label": ["b", null]}\n', "Received: null"),
        ("f.jsonl", b'{"text": "a", "label": "b", "x": ' + b"[" * 100_000, "line 1 must be one JSON object"),
        ("f.jsonl", b'{"text": "a", "label": ' + b"9" * 5000 + b"}\n", "line 1 must be one JSON object"),
        ("f.csv", b'text,label\n"open,A\n', "must be CSV"),
        ("f.tsv.gz", b"not gzip", "gzip"),
        ("f.xlsx", b"", "must end in .tsv, .csv or .jsonl"),
    ],
)
def test_bad_file_is_one_clear_line(tmp_path: Path, name: str, content: bytes, expected: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        list(read_table(path))
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        list(read_table(tmp_path / "absent.tsv"))


def test_a_folder_is_called_a_folder(tmp_path: Path) -> None:
    (tmp_path / "f.tsv").mkdir()
    with pytest.raises(InputError, match="a folder"):
        list(read_table(tmp_path / "f.tsv"))


@pytest.mark.parametrize("columns", [("a", "a"), (None, "text")])
def test_text_and_label_in_one_column_are_refused(tmp_path: Path, columns: tuple[str | None, str]) -> None:
    path = tmp_path / "f.tsv"
    path.write_text("text\ta\nx\ty\n")
    with pytest.raises(InputError, match="for both"):
        list(read_table(path, *columns))


def test_a_json_list_stays_a_list(tmp_path: Path) -> None:
    path = tmp_path / "f.jsonl"
    path.write_text('{"text": "a", "label": ["x|y", 3]}\n{"text": "a", "label": []}\n{"text": "a", "label": "z"}\n')
    rows = list(read_table(path))
    assert [row.label for row in rows] == [("x|y", "3"), (), "z"]
    assert [labels_of(row, path, "|") for row in rows] == [["x|y", "3"], [], ["z"]]


def test_labels_are_split_at_the_separator_and_stripped() -> None:
    assert labels_of(Row("", " a ; b;;c|d ", 1), Path("f"), ";") == ["a", "b", "c|d"]
    assert labels_of(Row("", " a ; b ", 1), Path("f"), None) == ["a ; b"]


@pytest.mark.parametrize(
    "label", ["a\x00b", "a\nb", "a\tb", "a\x7fb", "a\x85b", "a\u2028b", "a\u2029b", "a\ud800", "\ufeffa"], ids=ascii
)
def test_a_label_that_labels_txt_would_lose_is_refused_with_its_row(label: str) -> None:
    with pytest.raises(InputError, match="line 7 must have labels without control"):
        labels_of(Row("", label, 7), Path("f"), None)


@pytest.mark.parametrize("label", [(), ("a", "b"), ""])
def test_a_single_label_row_has_one_label(label: str | tuple[str, ...]) -> None:
    with pytest.raises(InputError, match="line 7 must have a label"):
        labels_of(Row("", label, 7), Path("f"), None)


def test_truncated_gzip_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "f.tsv.gz"
    path.write_bytes(gzip.compress(b"text\tlabel\n" + b"word\tA\n" * 999)[:-20])
    with pytest.raises(InputError, match="whole gzip file"):
        list(read_table(path))
