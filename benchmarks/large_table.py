"""A labelled table of any size, for measuring memory: texts of one label joined to rows of about 100 KB.

    python benchmarks/large_table.py imdb/train.tsv.gz 10000000000 large.tsv

Rows are long so that a file of 10 GB has 100,000 of them and can be trained on within minutes. Seeded: the same table
gives the same file.
"""

import argparse
import random
from collections import defaultdict
from pathlib import Path

from models_tf.data.table import read_table

TEXTS_PER_ROW = 80


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", type=Path, help="labelled texts")
    parser.add_argument("bytes", type=int, help="write at least this many")
    parser.add_argument("output", type=Path)
    options = parser.parse_args()
    texts = defaultdict[str, list[str]](list)
    for row in read_table(options.table):
        texts[row.label].append(row.text)
    print(f"{write(texts, options.bytes, options.output):,} rows")


def write(texts: dict[str, list[str]], wanted: int, output: Path) -> int:
    drawn, labels, rows = random.Random(1), sorted(texts), 0
    with output.open("wb", buffering=1 << 22) as file:
        file.write(b"sentence\tlabel\n")
        while file.tell() < wanted:
            label = labels[rows % len(labels)]
            file.write(f"{' '.join(drawn.choices(texts[label], k=TEXTS_PER_ROW))}\t{label}\n".encode())
            rows += 1
    return rows


if __name__ == "__main__":
    main()
