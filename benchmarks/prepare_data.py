"""Turns the public data sets into TSV files with the columns `text` and `label`.

    python benchmarks/prepare_data.py DATA_FOLDER OUTPUT_FOLDER

DATA_FOLDER holds snips/, clinc150/, sst2/ and imdb/ as they are published. Where a set has no dev
split of its own apart from the one reported on, rows of train are held out by a hash of the text.
"""

import hashlib
import json
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


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(Path(sys.argv[1]), Path(sys.argv[2]))
