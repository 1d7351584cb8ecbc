"""Requests for tokenizers from all texts of the real data: sentences, pairs, questions on passages, rows of words."""

import gzip
import itertools
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from models_tf.data.tfrecord import read_examples
from support.tokenizers_elsewhere import ENCODE, PAIR, PIECES, WORDS, Request

# Set -> its columns of text, and whether the first line is a header.
_TABLES = {
    "sst2": ((0,), True),
    "cola": ((3,), False),
    "mrpc": ((3, 4), True),
    "rte": ((1, 2), True),
    "stsb": ((7, 8), True),
    "imdb": ((0,), True),
}
_OF_WORDS = ("wnut17", "ud_ewt", "squad_v1_dev")
SETS = (*_TABLES, "snips", "clinc150", *_OF_WORDS)
# Leaves 61 places for two texts: the odd one goes to the longer text.
_LENGTH = 64


def requests(root: Path, name: str, limit: int | None = None, step: int = 1) -> Sequence[Request]:
    """Each text with all its pieces and cut to a length; rows of words only cut. `limit`: that many rows, `step`: 5 is
    every fifth of them.
    """
    found: list[Request] = []
    for number, texts in enumerate(itertools.islice(_rows(root / name, name), 0, None, step)):
        if limit is not None and number >= limit:
            break
        if name in _OF_WORDS:
            found.append(Request(kind=WORDS, texts=texts, max_len=_LENGTH if name != "squad_v1_dev" else 384))
        else:
            found += [Request(kind=PIECES, texts=(text,)) for text in texts]
            if name != "imdb":  # as many and long texts: the pieces show it all
                found.append(Request(kind=PAIR if len(texts) == 2 else ENCODE, texts=texts, max_len=_LENGTH))
    return found


def _rows(folder: Path, name: str) -> Iterator[tuple[str, ...]]:
    if name == "snips":
        for file in sorted(folder.glob("*/seq.in")):
            yield from ((line,) for line in _lines(file))
    elif name == "clinc150":
        document = json.loads((folder / "data_full.json").read_text(encoding="utf-8"))
        yield from ((text,) for part in document.values() for text, _ in part)
    elif name == "squad_v1_dev":
        # The words of each passage, which several questions share.
        examples = read_examples(folder / "squad_groundtruth.tfrecord", ("words",))
        yield from dict.fromkeys(tuple(bytes(word).decode() for word in example["words"]) for example in examples)
    elif name in _OF_WORDS:
        for file in sorted(folder.iterdir()):
            yield from _sentences(file, column=0 if name == "wnut17" else 1)
    else:
        columns, has_header = _TABLES[name]
        for file in sorted(folder.iterdir()):
            for line in _lines(file)[int(has_header) :]:
                fields = line.split("\t")
                yield tuple(fields[column] for column in columns)


def _lines(file: Path) -> list[str]:
    data = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    return [line.removesuffix("\r") for line in data.decode("utf-8-sig").removesuffix("\n").split("\n")]


def _sentences(file: Path, *, column: int) -> Iterator[tuple[str, ...]]:
    words: list[str] = []
    for line in [*_lines(file), ""]:
        fields = line.split("\t")
        if line.strip() and not line.startswith("# "):
            words.append(fields[column])
        elif not line.strip() and words:
            yield tuple(words)
            words = []
