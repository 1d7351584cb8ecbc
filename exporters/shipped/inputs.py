"""Rows as inputs of an exported file, one at a time and just as its runtime takes them. Needs no TensorFlow.

They come from a data file, through the projection or tokenizer beside the file, or from examples.json, which has the
inputs in it. Leaves out what the answers mean.
"""

import base64
import itertools
import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from exporters.formats import base
from exporters.formats.model_file import ModelFile, TensorInfo
from exporters.formats.runners import lengths_of
from exporters.formats.tensor_names import FEATURES, SIGNATURE, TEXT, plain_name
from exporters.formats.texts import as_bytes, holds_projection, takes_bytes
from exporters.shipped import rows as shipped_rows
from exporters.shipped.model import open_one
from models_tf import limits
from models_tf.checkpoints.json_text import read_json_file
from models_tf.data import DEFAULT_SEPARATOR
from models_tf.errors import InputError
from models_tf.spec import IDS, MASK, SEGMENTS
from models_tf.tasks.rows import GUESSED, Columns

EXAMPLES_FILE = "examples.json"
_FORMAT = "export-mobile-examples/1"


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """`rows` by input name; `texts` are the inputs that are strings, as their bytes. `lengths` are numbers of tokens, 0
    where the file itself finds them.
    """

    rows: tuple[dict[str, np.ndarray], ...]
    lengths: tuple[int, ...]
    texts: tuple[str, ...]
    source: str

    def longest(self) -> int:
        """The number of the row that takes the file most work."""
        sizes = [sum(value.size for value in row.values()) for row in self.rows]
        return max(range(len(self.rows)), key=lambda row: (self.lengths[row], sizes[row]))


def first_signature(file: ModelFile) -> tuple[Sequence[TensorInfo], Sequence[TensorInfo]]:
    """Inputs and outputs of the signature that is run."""
    found = file.signatures.get(SIGNATURE) or next(iter(file.signatures.values()))
    return found.inputs, found.outputs


def open_file(path: Path) -> ModelFile:
    file: ModelFile = base.get(path.suffix.removeprefix(".")).open(path)
    return file


@dataclass(frozen=True, kw_only=True)
class Feeds:
    """Rows before any file shapes them: features, texts as bytes, or ids, mask and segments, each without a batch."""

    rows: tuple[Mapping[str, Any], ...]
    source: str


def from_data(
    path: Path,
    data: Path,
    *,
    rows: int | None,
    columns: Columns = GUESSED,
    label_separator: str = DEFAULT_SEPARATOR,
) -> Feeds:
    """The first rows of a data file, or all, as a file's own projection or tokenizer reads them."""
    examples = shipped_rows.read(open_one(path), data, columns=columns, label_separator=label_separator)
    count = len(examples) if rows is None else min(rows, len(examples))
    feeds = (
        {name: values[number] for name, values in feed.items()}
        for feed in examples.take(range(count)).chunks(256)
        for number in range(len(next(iter(feed.values()))))
    )
    return Feeds(rows=tuple(feeds), source=str(data))


def from_examples(folder: Path, *, rows: int | None) -> Feeds:
    """The rows of the examples.json in a folder."""
    document = examples_document(folder)
    try:
        feeds = tuple(_feed(example) for example in itertools.islice(document["examples"], rows))
    except (KeyError, TypeError, ValueError, AttributeError, zlib.error) as error:
        raise InputError(
            f"{folder / EXAMPLES_FILE} must be as the export wrote it. Received: {type(error).__name__} {error}."
        ) from error
    return Feeds(rows=feeds, source=EXAMPLES_FILE)


def shaped(file: ModelFile, feeds: Feeds) -> Inputs:
    """The rows just as a file takes them."""
    infos = first_signature(file)[0]
    made, lengths = [], []
    strings = tuple(info.name for info in infos if _is_string(info, file))
    for given in feeds.rows:
        # Files for MediaPipe take segments also where the others have none.
        feed = {SEGMENTS: np.zeros_like(given[IDS]), **given} if IDS in given else given
        absent = [info.name for info in infos if plain_name(info.name) not in feed]
        if absent:
            raise InputError(
                f"{file.name} takes {', '.join(info.name for info in infos)}. "
                f"Received: {', '.join(given) or 'nothing'} in {feeds.source}."
            )
        length = _length({plain_name(info.name): feed[plain_name(info.name)] for info in infos})
        made.append({info.name: _value(info, feed[plain_name(info.name)], length, file) for info in infos})
        lengths.append(length)
    if not made:
        raise InputError(f"At least one row is needed. Received: none in {feeds.source}.")
    return Inputs(rows=tuple(made), lengths=tuple(lengths), texts=strings, source=feeds.source)


def tolerance_of(path: Path) -> float | None:
    """How far answers of a file may be from those in examples.json; None if nothing says so."""
    if not (path.parent / EXAMPLES_FILE).is_file():
        return None
    files = examples_document(path.parent).get("files")
    entry = files.get(path.name) if isinstance(files, dict) else None
    found = entry.get("tolerance") if isinstance(entry, dict) else None
    return float(found) if isinstance(found, int | float) and not isinstance(found, bool) else None


def examples_document(folder: Path) -> dict[str, Any]:
    path = folder / EXAMPLES_FILE
    if not path.is_file():
        raise InputError(
            f"Rows are needed: give --data FILE, or put the file beside its {EXAMPLES_FILE}. "
            f"Received: {folder}, which has none."
        )
    document = read_json_file(path)
    if not isinstance(document, dict) or document.get("format") != _FORMAT:
        raise InputError(f'{path} must have "format": "{_FORMAT}". Received: another kind of JSON.')
    return document


def _feed(example: Mapping[str, Any]) -> dict[str, Any]:
    """An example as a row of a data file would be, without padding."""
    given = example["inputs"]
    feed: dict[str, Any] = {
        name: np.array(given[name], np.int32) for name in (IDS, MASK, SEGMENTS) if given.get(name) is not None
    }
    if FEATURES in given:
        shape = given[FEATURES]["shape"]
        size = math.prod(shape)
        limits.check("feature_bytes", size, f"{EXAMPLES_FILE}: the features of a text")
        inflated = zlib.decompressobj().decompress(base64.b64decode(given[FEATURES]["rows"]), max(size, 1))
        found = np.frombuffer(inflated, np.int8)
        features = np.zeros(shape, np.int8)
        features[: given["tokens"]] = found.reshape(given["tokens"], *shape[1:])
        feed[FEATURES] = features
    if "text" in example:
        feed[TEXT] = str(example["text"]).encode()
    return feed


def _length(feed: Mapping[str, Any]) -> int:
    arrays = {name: feed[name][None] for name in (MASK, FEATURES) if name in feed}
    return int(lengths_of(arrays)[0]) if arrays else 0


def _is_string(info: TensorInfo, file: ModelFile) -> bool:
    return plain_name(info.name) == TEXT and not takes_bytes(info) and holds_projection(file.content)


def _value(info: TensorInfo, value: Any, length: int, file: ModelFile) -> np.ndarray:
    if isinstance(value, bytes):
        if _is_string(info, file):
            return np.frombuffer(value, np.uint8)[None]
        size = info.shape[-1]
        return as_bytes([value], size if isinstance(size, int) and size > 0 else None)
    wanted = length if file.any_length else int(info.shape[1])
    fitted = np.zeros((wanted, *value.shape[1:]), value.dtype)
    fitted[: min(wanted, len(value))] = value[:wanted]
    return fitted[None]
