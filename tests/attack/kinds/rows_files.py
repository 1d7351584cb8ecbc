"""Rows: tables (TSV, CSV, JSONL, gzip), CoNLL and CoNLL-U, SQuAD and its TFRecords; bombs at reduced size."""

import gzip
import json
import random
import zlib
from collections.abc import Callable
from pathlib import Path

from support import squad_files
from tests.attack import materials
from tests.attack.case import Case
from tests.attack.kinds.tokenizer_files import mutated
from tests.attack.outcome import Kind, Outcome
from tests.attack.readers import read_rows
from tests.attack.values import damage, document_bytes, text, wrong_value

BOM = b"\xef\xbb\xbf"


def table(rng: random.Random, folder: Path) -> Outcome:
    """A table whose cells, columns, quotes, encoding or compression are not what they should be."""
    case = Case.of("rows: tables", folder)
    ending = rng.choice(("tsv", "csv", "jsonl"))
    content = (materials.place() / f"rows.{ending}").read_bytes()
    lines = content.split(b"\n")
    cell = text(rng).encode("utf-8", "surrogatepass")
    separator = {"tsv": b"\t", "csv": b",", "jsonl": b":"}[ending]
    place = rng.randrange(len(lines))
    makers: dict[str, Callable[[], bytes]] = {
        "a cell": lambda: b"\n".join([*lines[:place], cell + separator + b"yes", *lines[place + 1 :]]),
        "a label": lambda: b"\n".join([*lines[:place], b"1 2" + separator + cell, *lines[place + 1 :]]),
        "JSON": lambda: b"\n".join([*lines[:place], document_bytes(wrong_value(rng)), *lines[place + 1 :]]),
        "JSON row": lambda: b"\n".join(
            [*lines[:1], document_bytes({"text": wrong_value(rng), "label": wrong_value(rng)})]
        ),
        "no header": lambda: b"\n".join(lines[1:]),
        "header alone": lambda: lines[0],
        "other columns": lambda: content.replace(b"text", b"txt"),
        "twice the same column": lambda: content.replace(b"label", b"text"),
        "many columns": lambda: separator.join([b"text", b"label"] * 5000) + b"\n" + content,
        "an open quote": lambda: b"\n".join([*lines[:place], b'"1 2' + separator + b"yes", *lines[place + 1 :]]),
        "quotes": lambda: content.replace(b" ", b'"'),
        "no separators": lambda: content.replace(separator, b" "),
        "more separators": lambda: content.replace(b" ", separator),
        "returns": lambda: content.replace(b"\n", rng.choice((b"\r", b"\r\n", b"\n\r", b"\x0b", b"\x85"))),
        "utf-16": lambda: content.decode().encode(rng.choice(("utf-16", "utf-16-le", "utf-32"))),
        "latin-1": lambda: content.replace(b" ", b"\xe9"),
        "a mark": lambda: BOM + content,
        "NULs": lambda: content.replace(b" ", b"\0"),
        "surrogates": lambda: content.replace(b" ", b"\xed\xa0\x80"),
        "a long line": lambda: content + b"x" * rng.choice((100_000, 3_000_000)) + separator + b"yes\n",
        "a long label": lambda: content + b"1" + separator + b"y" * 200_000 + b"\n",
        "deep JSON": lambda: b"[" * 100_000 + b"]" * 100_000 + b"\n" + content,
        "big number": lambda: b'{"text": ' + b"9" * 10_000 + b', "label": "yes"}\n',
    }
    what = rng.choice([*makers, "damaged", "damaged"])
    if what == "damaged":
        what, changed = damage(rng, content)
    else:
        changed = makers[what]()
    name = f"rows.{rng.choice((ending, ending, ending, 'tsv', 'csv', 'jsonl', 'txt', 'conll'))}"
    if rng.random() < 0.25:
        name, changed = f"{name}.gz", gzip.compress(changed, 1, mtime=0)
        if rng.random() < 0.5:
            damaged, changed = damage(rng, changed)
            what += f", gzip {damaged}"
    (case.inputs / name).write_bytes(changed)
    return read_rows(rng, case, name, f"{name}: {what}")


def several_labels(rng: random.Random, folder: Path) -> Outcome:
    """Rows with several labels: fields, separators and thresholds."""
    case = Case.of("rows: several labels", folder)
    content = (materials.place() / "labels.tsv").read_bytes()
    lines = content.split(b"\n")
    place, cell = rng.randrange(len(lines)), text(rng).encode("utf-8", "surrogatepass")
    flags: list[str] = []
    names = [b"l%d" % number for number in range(rng.choice((20, 50_000)))]
    makers: dict[str, Callable[[], bytes]] = {
        "a label": lambda: b"\n".join([*lines[:place], b"1 2\tyes|" + cell, *lines[place + 1 :]]),
        "many labels": lambda: content + b"1\t" + b"|".join(names) + b"\n",
        "the same label": lambda: content + b"1\t" + b"yes|" * rng.choice((3, 100_000)) + b"\n",
        "separators alone": lambda: content + b"1\t" + b"|" * rng.choice((3, 100_000)) + b"\n",
        "no labels": lambda: b"text\tlabel\n1 2\t\n3 4\t\n",
        "numbers": lambda: b"text\tlabel\n1 2\t0|%d\n3 4\t1\n" % rng.choice((1, 2, 3, 10**30)),
        "flags": lambda: content,
    }
    what = rng.choice([*makers, "damaged"])
    what, changed = damage(rng, content) if what == "damaged" else (what, makers[what]())
    if what == "flags":
        separators = ["", ";", "||", "e", "1"]
        flags += ["--label-separator", rng.choice(separators)] if rng.random() < 0.5 else []
        flags += ["--label-threshold", rng.choice(("0", "1", "nan", "inf", "-1", "1e-300", "0.999999", "x", "1e999"))]
    (case.inputs / "rows.tsv").write_bytes(changed)
    model = materials.place() / rng.choice(("export-labels", "export-labels", "export-bert")) / "model_int8.onnx"
    arguments = ["check", str(model), "--data", str(case.inputs / "rows.tsv"), *flags]
    return case.run(f"{what}: {' '.join(flags)}", arguments)


def bomb(rng: random.Random, folder: Path) -> Outcome:
    """Much in little: one line, many rows, many columns, nested, in gzip or sparse, with limits lowered."""
    case = Case.of("rows: bombs", folder)
    size = 64 << 20
    ending = rng.choice(("tsv", "csv", "jsonl", "conll"))
    name = f"rows.{ending}"
    makers: dict[str, Callable[[], bytes]] = {
        "one line": lambda: b"x" * size,
        "empty lines": lambda: b"\n" * (size // 4),
        "short rows": lambda: b"text\tlabel\n" + b"1\tyes\n" * (size // 24),
        "columns": lambda: b"text\tlabel" + b"\t" * (size // 4),
        "nested": lambda: b"[" * (size // 4),
        "NULs": lambda: bytes(size),
    }
    what = rng.choice([*makers, "sparse"])
    if what == "sparse":
        with (case.inputs / name).open("wb") as file:
            file.truncate(8 << 30)
    elif rng.random() < 0.8:
        name += ".gz"
        (case.inputs / name).write_bytes(gzip.compress(makers[what](), 1, mtime=0))
    else:
        (case.inputs / name).write_bytes(makers[what]())
    return read_rows(rng, case, name, f"{name}: {what}", largest_bytes=1536 << 20, lowered=True)


def tagged(rng: random.Random, folder: Path) -> Outcome:
    """CoNLL and CoNLL-U."""
    case = Case.of("rows: CoNLL", folder)
    ending = rng.choice(("conll", "conllu"))
    content = (materials.place() / f"rows.{ending}").read_bytes()
    lines = content.split(b"\n")
    place, cell = rng.randrange(len(lines)), text(rng).encode("utf-8", "surrogatepass")
    makers: dict[str, Callable[[], bytes]] = {
        "a word": lambda: b"\n".join([*lines[:place], cell + b"\tO", *lines[place + 1 :]]),
        "a tag": lambda: b"\n".join([*lines[:place], b"1\t" + cell, *lines[place + 1 :]]),
        "an orphan": lambda: content.replace(b"B-X", b"O"),
        "one column": lambda: b"\n".join(line.split(b"\t")[0] for line in lines),
        "no blank lines": lambda: content.replace(b"\n\n", b"\n"),
        "blank lines alone": lambda: b"\n" * 1000,
        "many columns": lambda: content.replace(b"\t", b"\t" * 1000),
        "a long sentence": lambda: b"1\tO\n" * 100_000,
        "docstart": lambda: b"-DOCSTART- -X- O O\n\n" * 100 + content,
        "empty nodes": lambda: content.replace(b"2\t1", b"1.1\t1").replace(b"3\t2", b"2-3\t2"),
        "returns": lambda: content.replace(b"\n", b"\r\n"),
        "not UTF-8": lambda: content.replace(b"1", b"\xff"),
    }
    what = rng.choice([*makers, "damaged", "damaged"])
    if what == "damaged":
        what, changed = damage(rng, content)
    else:
        changed = makers[what]()
    name = f"rows.{ending}"
    if rng.random() < 0.2:
        name, changed = f"{name}.gz", gzip.compress(changed, 1, mtime=0)
    (case.inputs / name).write_bytes(changed)
    return read_rows(rng, case, name, f"{name}: {what}", model="tagger")


def questions(rng: random.Random, folder: Path) -> Outcome:
    """SQuAD as JSON."""
    case = Case.of("rows: SQuAD", folder)
    document = json.loads((materials.place() / "squad.json").read_bytes())
    where = document
    for key in ("data", 0, "paragraphs", 0, "qas", 0, "answers", 0)[: rng.randrange(9)]:
        where = where[key]
    if isinstance(where, dict):
        key = rng.choice(list(where))
        where[key] = wrong_value(rng, where[key])
        what = str(key)
    else:
        document, what = mutated(rng, document), "somewhere"
    content = document_bytes(document)
    if rng.random() < 0.15:
        what, content = damage(rng, content)
    (case.inputs / "squad.json").write_bytes(content)
    return read_rows(rng, case, "squad.json", what, model="squad")


def records(rng: random.Random, folder: Path) -> Outcome:
    """SQuAD as TFRecords: a folder of two files."""
    case = Case.of("rows: TFRecord", folder)
    window = {"unique_ids": [1], "input_ids": [2, 5, 3] + [0] * 5, "input_mask": [1] * 3 + [0] * 5}
    window |= {
        "segment_ids": [0] * 8,
        "example_index": [0],
        "doc_tokens": [b"a", b"b"],
        "token_is_max_context": [1] * 8,
    }
    truth = {"qas_id": [b"q"], "answers": [b"a"], "text": [b"a"], "question": [b"b"], "context": [b"a b"]}
    place = case.inputs / "records"
    place.mkdir()
    squad_files.write_records(place, [window] * 3, [truth] * 3)
    path = rng.choice(sorted(place.iterdir()))
    plain = zlib.decompress(path.read_bytes())
    what, changed = damage(rng, plain)
    path.write_bytes(changed if rng.random() < 0.3 else zlib.compress(changed))
    if rng.random() < 0.2:
        path.write_bytes(damage(rng, path.read_bytes())[1])
    return read_rows(rng, case, "records", f"{path.name}: {what}", model="squad")


KINDS: dict[str, Kind] = {
    "rows tables": table,
    "rows several labels": several_labels,
    "rows bombs": bomb,
    "rows conll": tagged,
    "rows squad": questions,
    "rows tfrecord": records,
}
SHARES = {
    "rows tables": 5, "rows several labels": 1, "rows bombs": 0.3, "rows conll": 2.5, "rows squad": 2,
    "rows tfrecord": 1,
}  # fmt: skip
