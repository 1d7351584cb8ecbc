"""Which rows a run works with: those that measure accuracy and parity, and, apart from them, those that calibrate.

Bundled models bring both. `--eval-data` alone is split by a hash of the text, so that no text is on both sides.
Leaves out features and logits.
"""

import dataclasses
import hashlib
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from exporters.request import ExportRequest
from models_tf.data import Row, labels_of, read_table
from models_tf.errors import InputError

# Ranges of activations settle after some hundred rows; more only costs time.
MAX_CALIBRATION_ROWS = 300
# Fewer rows than this get a note.
FEW_ROWS = 100
# One text in five calibrates when one file serves both.
_CALIBRATION_SHARE = 5
_PROBE_ROWS = 64
_PROBE_WORDS = (
    "play",
    "book",
    "a",
    "table",
    "for",
    "two",
    "in",
    "the",
    "What",
    "is",
    "weather",
    "NASA",
    "é",
    "42",
    "?",
    "日本",
)


@dataclass(frozen=True, kw_only=True)
class Rows:
    """Texts to verify on, their targets if known, and texts to calibrate on."""

    texts: list[str]
    targets: np.ndarray | None
    source: str
    calibration_texts: list[str]
    calibration_source: str
    notes: tuple[str, ...] = ()

    def describe(self) -> dict[str, Any]:
        """For the report."""
        return {
            "eval_source": self.source,
            "eval_rows": len(self.texts),
            "labelled": self.targets is not None,
            "calibration_source": self.calibration_source,
            "calibration_rows": len(self.calibration_texts),
        }


def few_rows(rows: Rows) -> tuple[str, ...]:
    """What a small number of rows cannot show."""
    notes = []
    if rows.targets is not None and len(rows.texts) < FEW_ROWS:
        one = 100 / len(rows.texts)
        notes.append(f"Only {len(rows.texts)} rows measure accuracy: one of them is {one:.1f} points.")
    if 0 < len(rows.calibration_texts) < FEW_ROWS:
        notes.append(
            f"Only {len(rows.calibration_texts)} rows calibrate: values outside of their range will be clipped. "
            f"Give {FEW_ROWS} or more."
        )
    return tuple(notes)


def load(request: ExportRequest, labels: Sequence[str], multi_label: bool, *, calibrate: bool) -> Rows:
    """The rows of a request. `calibrate` says whether the recipe needs calibration rows."""
    folder = request.checkpoint_folder
    evaluation, calibration = request.eval_data, request.calibration_data
    if request.checkpoint is None:
        calibration = calibration or (folder / "calibration.tsv" if evaluation is None else None)
        evaluation = evaluation or folder / "eval.tsv"
    if evaluation is None and calibrate and calibration is None:
        raise InputError(
            f"Recipe {request.quantize} needs example texts: give --calibration-data FILE, or --eval-data FILE to split."
        )
    if evaluation is None and request.max_drop is not None:
        raise InputError("--max-drop needs rows to measure accuracy on: give --eval-data FILE.")
    loaded = (
        _without_eval(calibration, request)
        if evaluation is None
        else _with_eval(evaluation, labels, multi_label, request)
    )
    if not calibrate:
        return dataclasses.replace(loaded, calibration_texts=[], calibration_source="not needed")
    if calibration is not None:
        texts = _calibration_texts(calibration, request)
        return dataclasses.replace(
            loaded, calibration_texts=_sample(texts, request.seed), calibration_source=str(calibration)
        )
    return _split(loaded, request.seed)


def _with_eval(path: Path, labels: Sequence[str], multi_label: bool, request: ExportRequest) -> Rows:
    rows = _read(path, request)
    return Rows(
        texts=[row.text for row in rows],
        targets=_targets(rows, path, labels, request.label_separator if multi_label else None),
        source=str(path),
        calibration_texts=[],
        calibration_source="",
    )


def _without_eval(calibration: Path | None, request: ExportRequest) -> Rows:
    """No labels: parity can still be judged, on the calibration texts or on made-up ones."""
    note = "Accuracy is not measured: no --eval-data was given."
    if calibration is not None:
        texts = _sample(_calibration_texts(calibration, request), request.seed)
        return Rows(
            texts=texts,
            targets=None,
            source=str(calibration),
            calibration_texts=[],
            calibration_source="",
            notes=(note,),
        )
    generator = random.Random(request.seed)
    texts = [" ".join(generator.choices(_PROBE_WORDS, k=generator.randint(0, 12))) for _ in range(_PROBE_ROWS)]
    return Rows(
        texts=texts, targets=None, source="generated", calibration_texts=[], calibration_source="", notes=(note,)
    )


def _split(rows: Rows, seed: int) -> Rows:
    calibrating = [hashlib.sha256(text.encode()).digest()[0] % _CALIBRATION_SHARE == 0 for text in rows.texts]
    if all(calibrating) or not any(calibrating):
        raise InputError(
            f"{rows.source} has too few different texts to calibrate and measure with. "
            f"Received: {len(set(rows.texts))}; give --calibration-data FILE."
        )
    kept = np.flatnonzero(~np.array(calibrating))
    texts = [text for text, taken in zip(rows.texts, calibrating, strict=True) if taken]
    sampled = _sample(texts, seed)
    note = f"{rows.source} was split by text: {len(kept)} rows measure, {len(sampled)} of the other {len(texts)} calibrate."
    return Rows(
        texts=[rows.texts[i] for i in kept],
        targets=None if rows.targets is None else rows.targets[kept],
        source=rows.source,
        calibration_texts=sampled,
        calibration_source=rows.source,
        notes=(*rows.notes, note),
    )


def _sample(texts: list[str], seed: int) -> list[str]:
    if len(texts) <= MAX_CALIBRATION_ROWS:
        return texts
    picked = sorted(random.Random(seed).sample(range(len(texts)), MAX_CALIBRATION_ROWS))
    return [texts[i] for i in picked]


def _calibration_texts(path: Path, request: ExportRequest) -> list[str]:
    texts = [row.text for row in _read(path, request, labelled=False) if row.text.strip()]
    if not texts:
        raise InputError(f"{path} must have texts to calibrate with. Received: only empty ones.")
    return texts


def _read(path: Path, request: ExportRequest, *, labelled: bool = True) -> list[Row]:
    rows = list(read_table(path, request.text_column, request.label_column, labelled=labelled))
    if not rows:
        raise InputError(f"{path} must have rows under its header. Received: none.")
    # JSON can hold half of a surrogate pair, which no runtime can be given.
    return [dataclasses.replace(row, text=row.text.encode("utf-8", "replace").decode()) for row in rows]


def _targets(rows: list[Row], path: Path, labels: Sequence[str], separator: str | None) -> np.ndarray:
    """Label numbers; with a separator, which several labels a row have between them, a table of 0 and 1."""
    number = {label: i for i, label in enumerate(labels)}
    parts = [labels_of(row, path, separator) for row in rows]
    for row, names in zip(rows, parts, strict=True):
        for name in names:
            if name not in number:
                raise InputError(f"{path} row {row.line}: the model has no label {name!r}. It has {_shorten(labels)}.")
    if len({name for names in parts for name in names}) < 2 and len(labels) > 1:
        raise InputError(
            f"{path} must have at least 2 different labels to measure accuracy. Received: {parts[0]} only."
        )
    if separator is None:
        return np.array([number[names[0]] for names in parts], np.int64)
    table = np.zeros((len(rows), len(labels)), bool)
    for i, names in enumerate(parts):
        table[i, [number[name] for name in names]] = True
    return table


def _shorten(labels: Sequence[str], limit: int = 10) -> str:
    shown = ", ".join(labels[:limit])
    return shown if len(labels) <= limit else f"{shown} and {len(labels) - limit} more"
