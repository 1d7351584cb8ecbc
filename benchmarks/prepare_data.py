"""Turns the public data sets into TSV files with the columns `text` and `label`, and into CoNLL files of tagged words.

    python benchmarks/prepare_data.py DATA_FOLDER OUTPUT_FOLDER

DATA_FOLDER holds snips/, clinc150/, sst2/, imdb/, wnut17/ and ud_ewt/ as published. If a set has no dev split besides
the one reported on, training rows are held out by a hash of the text. The dev file of UD-EWT is split: every eighth
sentence is dev, the others are train.
"""

import hashlib
import json
import re
import sys
from collections.abc import Iterable
from pathlib import Path

from models_tf.data import read_table

Rows = Iterable[tuple[str, str]]


def write(path: Path, rows: Rows) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    count = 0
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write("text\tlabel\n")
        for text, label in rows:
            file.write(f"{' '.join(text.split())}\t{label}\n")
            count += 1
    print(f"{path}: {count} rows")


def held_out(text: str, percent: int) -> bool:
    return hashlib.sha256(text.encode()).digest()[0] * 100 < percent * 256


def split(rows: list[tuple[str, str]], output: Path, percent: int) -> None:
    write(output / "train.tsv", (row for row in rows if not held_out(row[0], percent)))
    write(output / "dev.tsv", (row for row in rows if held_out(row[0], percent)))


def tsv(path: Path) -> list[tuple[str, str]]:
    return [(row.text, row.label) for row in read_table(path)]


def main(data: Path, output: Path) -> None:
    for part in ("train", "dev", "test"):
        texts = (data / "snips" / part / "seq.in").read_text(encoding="utf-8").splitlines()
        labels = (data / "snips" / part / "label").read_text(encoding="utf-8").splitlines()
        write(output / "snips" / f"{part}.tsv", zip(texts, labels, strict=True))
    clinc = json.loads((data / "clinc150" / "data_full.json").read_text(encoding="utf-8"))
    for part, name in (("train", "train"), ("val", "dev"), ("test", "test")):
        write(output / "clinc150" / f"{name}.tsv", ((text, label) for text, label in clinc[part]))
    split(tsv(data / "sst2" / "train.tsv"), output / "sst2", 3)
    write(output / "sst2" / "test.tsv", tsv(data / "sst2" / "dev.tsv"))
    split(tsv(data / "imdb" / "train.tsv.gz"), output / "imdb", 8)
    write(output / "imdb" / "test.tsv", tsv(data / "imdb" / "test.tsv.gz"))
    snips_slots(data / "snips", output / "snips_slots")
    ud_ewt(data / "ud_ewt", output / "ud_ewt")
    for name, part in (
        ("wnut17train.conll", "train"),
        ("emerging.dev.conll", "dev"),
        ("emerging.test.annotated", "test"),
    ):
        text = (data / "wnut17" / name).read_text(encoding="utf-8")
        write_sentences(output / "wnut17" / f"{part}.conll", sentences(text))


def snips_slots(data: Path, output: Path) -> None:
    """One word and its slot per line, from the two files of each part."""
    for part in ("train", "dev", "test"):
        words, slots = ((data / part / name).read_text(encoding="utf-8").splitlines() for name in ("seq.in", "seq.out"))
        pairs = [zip(a.split(), b.split(), strict=True) for a, b in zip(words, slots, strict=True)]
        rows = ["\n".join(f"{word}\t{slot}" for word, slot in pair) for pair in pairs]
        write_sentences(output / f"{part}.conll", rows)


def ud_ewt(data: Path, output: Path) -> None:
    found = sentences((data / "en_ewt-ud-dev.conllu").read_text(encoding="utf-8"))
    write_sentences(output / "train.conllu", [row for i, row in enumerate(found) if i % 8])
    write_sentences(output / "dev.conllu", [row for i, row in enumerate(found) if not i % 8])
    write_sentences(output / "test.conllu", sentences((data / "en_ewt-ud-test.conllu").read_text(encoding="utf-8")))


def sentences(text: str) -> list[str]:
    """The blocks between blank lines."""
    return [row for row in re.split(r"\n\s*\n", text.strip("\n")) if row.strip()]


def write_sentences(path: Path, rows: list[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{row}\n\n" for row in rows), encoding="utf-8")
    print(f"{path}: {len(rows)} sentences")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(Path(sys.argv[1]), Path(sys.argv[2]))
