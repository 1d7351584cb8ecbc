"""The rows of a run: some measure accuracy and parity, others calibrate.

Bundled models bring both. `--eval-data` alone is split by a hash of the text, so that no text is on both sides.
Leaves out what a row is: texts of projection models are in `text_rows.py`, ids of token models in `token_rows.py`.
"""

import dataclasses
import hashlib
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from exporters.formats.runners import Feed, Outputs
from exporters.request import ExportRequest
from models_tf.errors import InputError
from models_tf.registry import TOKENS
from models_tf.tasks.decisions import Decisions
from models_tf.tasks.judged import Judged
from models_tf.tasks.rows import Pick
from models_tf.tasks.score import Score

# Ranges of activations settle after some hundred rows; more only costs time.
MAX_CALIBRATION_ROWS = 300
# Fewer rows than this get a note.
FEW_ROWS = 100
# From here on a token model takes minutes per file.
MANY_ROWS = 2000
GENERATED = "generated"
# One text in five calibrates when one file serves both.
_CALIBRATION_SHARE = 5


class Examples(Protocol):
    """Rows of one kind of model. The split goes by `keys`; `score` needs `labelled` rows."""

    @property
    def keys(self) -> Sequence[str]: ...

    @property
    def labelled(self) -> bool: ...

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes of the reader, for the report."""
        ...

    @property
    def numbers(self) -> tuple[int, ...]:
        """Those of the rows in their file, from 1, if they are a sample of it; empty if they are all of its rows."""
        ...

    @property
    def rows_each(self) -> int:
        """How many rows make one of those that a file has and that the score counts."""
        ...

    @property
    def chooses(self) -> bool:
        """Whether the largest of the numbers that `answers` gives for a row means something."""
        ...

    def __len__(self) -> int: ...

    def take(self, indices: Sequence[int]) -> "Examples": ...

    def chunks(self, most: int) -> Iterator[Feed]:
        """Inputs of all rows by name, at most `most` rows at a time, fewer if they are large."""
        ...

    def answers(self, outputs: Outputs) -> np.ndarray:
        """The numbers that decide, [n, labels]: what parity compares."""
        ...

    def score(self, outputs: Outputs, *, seed: int) -> Score: ...

    def compared(self, outputs: Outputs, reference: Outputs) -> dict[str, float]:
        """Further metrics of a model beside the reference, by name."""
        ...

    def judge(self, outputs: Outputs) -> Judged:
        """What was answered and what it counts, row by row."""
        ...

    def decisions(self, outputs: Outputs) -> Decisions | None:
        """Every choice of a label on `labelled` rows; None where none is chosen."""
        ...


class Reader(Protocol):
    """Makes examples for one model."""

    def read(self, path: Path) -> Examples:
        """Rows with labels."""
        ...

    def read_texts(self, path: Path, pick: Pick | None = None) -> Examples:
        """Rows for calibration, without labels and empty texts; all, or those that `pick` takes."""
        ...

    def generate(self, seed: int) -> Examples:
        """Made-up rows, good enough to judge parity."""
        ...


@dataclass(frozen=True, kw_only=True)
class Rows:
    """Rows to verify on and rows to calibrate on (None: the recipe needs none).

    `numbers` are those of the rows to verify on in their file, from 1; empty if they are all of its rows.
    """

    evaluation: Examples
    source: str
    calibration: Examples | None
    calibration_source: str
    notes: tuple[str, ...] = ()
    numbers: tuple[int, ...] = ()

    def describe(self) -> dict[str, Any]:
        """For the report."""
        return {
            "eval_source": self.source,
            "eval_rows": _units(self.evaluation),
            "labelled": self.evaluation.labelled,
            "calibration_source": self.calibration_source,
            "calibration_rows": _count(self.calibration),
        }


def _units(examples: Examples) -> int:
    """Rows as a file has them."""
    return len(examples) // examples.rows_each


def _count(examples: Examples | None) -> int:
    return 0 if examples is None else len(examples)


def count(rows: Rows, kind: str) -> str:
    """How many rows measure, and how to use fewer: a token model needs a tenth of a second per row."""
    many = kind == TOKENS and len(rows.evaluation) > MANY_ROWS
    return f"{_units(rows.evaluation)} rows" + (" (for fewer: --eval-rows N)" if many else "")


def few_rows(rows: Rows) -> tuple[str, ...]:
    """What a small number of rows cannot show."""
    notes = []
    measuring, calibrating = _units(rows.evaluation), _count(rows.calibration)
    if rows.evaluation.labelled and measuring < FEW_ROWS:
        notes.append(
            f"Only {measuring} rows measure: one more or less that is right makes some {100 / measuring:.1f} points."
        )
    if 0 < calibrating < FEW_ROWS and rows.calibration_source != GENERATED:
        notes.append(
            f"Only {calibrating} rows calibrate: values outside of their range will be clipped. "
            f"Give {FEW_ROWS} or more."
        )
    return tuple(notes)


def load(
    request: ExportRequest,
    reader: Reader,
    *,
    calibrate: bool,
    bundled: Path | None = None,
    calibrating: int = MAX_CALIBRATION_ROWS,
) -> Rows:
    """The rows of a request. `calibrate`: the recipe needs calibration rows, at most `calibrating`. `bundled` is a
    folder with both kinds.
    """
    loaded = _load(request, reader, calibrate=calibrate, bundled=bundled, calibrating=calibrating)
    return _first(loaded, request.eval_rows)


def _load(request: ExportRequest, reader: Reader, *, calibrate: bool, bundled: Path | None, calibrating: int) -> Rows:
    evaluation, calibration = request.eval_data, request.calibration_data
    if bundled is not None:
        calibration = calibration or (bundled / "calibration.tsv" if evaluation is None else None)
        evaluation = evaluation or bundled / "eval.tsv"
    if evaluation is None and calibrate and calibration is None and not request.random_init:
        raise InputError(
            f"Recipe {request.quantize} needs example texts: "
            "give --calibration-data FILE, or --eval-data FILE to split."
        )
    if evaluation is None and request.max_drop is not None:
        raise InputError("--max-drop needs rows to measure accuracy on: give --eval-data FILE.")
    if evaluation is None:
        loaded = _without_eval(calibration, reader, request.seed)
    else:
        examples = reader.read(evaluation)
        loaded = Rows(
            evaluation=examples,
            source=str(evaluation),
            calibration=None,
            calibration_source="not needed",
            notes=examples.notes,
            numbers=examples.numbers,
        )
    if not calibrate:
        return loaded
    if calibration is not None:
        examples = reader.read_texts(calibration, _some(request.seed, calibrating))
        return dataclasses.replace(loaded, calibration=examples, calibration_source=str(calibration))
    if evaluation is None:
        note = "Ranges of activations come from generated rows: sizes and times are real, answers are not."
        return dataclasses.replace(
            loaded,
            calibration=reader.generate(request.seed + 1),
            calibration_source=GENERATED,
            notes=(*loaded.notes, note),
        )
    return _split(loaded, request.seed, calibrating)


def calibration_feeds(rows: Rows, inputs: Sequence[str]) -> Callable[[], Iterator[Mapping[str, np.ndarray]]] | None:
    """A function that gives the calibration rows one at a time, with only the named inputs."""
    calibration = rows.calibration
    if calibration is None:
        return None
    return lambda: ({name: np.asarray(feed[name]) for name in inputs} for feed in calibration.chunks(1))


def _without_eval(calibration: Path | None, reader: Reader, seed: int) -> Rows:
    """Without labels, parity is judged on the calibration texts or on made-up ones."""
    examples = (
        reader.generate(seed)
        if calibration is None
        else reader.read_texts(calibration, _some(seed, MAX_CALIBRATION_ROWS))
    )
    return Rows(
        evaluation=examples,
        source=GENERATED if calibration is None else str(calibration),
        calibration=None,
        calibration_source="not needed",
        notes=("Accuracy is not measured: no --eval-data was given.",),
    )


def _split(rows: Rows, seed: int, most: int) -> Rows:
    keys = rows.evaluation.keys
    calibrating = np.array([hashlib.sha256(key.encode()).digest()[0] % _CALIBRATION_SHARE == 0 for key in keys])
    if calibrating.all() or not calibrating.any():
        raise InputError(
            f"{rows.source} has too few different texts to calibrate and measure with. "
            f"Received: {len(set(keys))}; give --calibration-data FILE."
        )
    kept, taken = (np.flatnonzero(chosen).tolist() for chosen in (~calibrating, calibrating))
    each = rows.evaluation.rows_each
    sampled = rows.evaluation.take([taken[i] for i in _some(seed, most)(len(taken))])
    part = f"the other {len(taken)}" if len(sampled) == len(taken) else f"{len(sampled)} of the other {len(taken)}"
    note = (
        f"{rows.source} was split by text: {len(kept) // each} rows measure, "
        f"{part} {'texts' if each > 1 else 'rows'} calibrate."
    )
    return dataclasses.replace(
        rows,
        evaluation=rows.evaluation.take(kept),
        calibration=sampled,
        calibration_source=rows.source,
        notes=(*rows.notes, note),
        numbers=tuple(rows.numbers[row] if rows.numbers else row + 1 for row in kept),
    )


def _first(rows: Rows, most: int | None) -> Rows:
    """At most `most` rows to measure on, plus rows with the last one's key: windows of a question stay together."""
    keys = rows.evaluation.keys
    each = rows.evaluation.rows_each
    if most is None or most * each >= len(keys):
        return rows
    most *= each
    while most < len(keys) and keys[most] == keys[most - 1]:
        most += 1
    note = f"Measured on the first {most // each} of {len(keys) // each} rows, as --eval-rows asks for."
    return dataclasses.replace(
        rows,
        evaluation=rows.evaluation.take(range(most)),
        notes=(*rows.notes, note),
        numbers=rows.numbers[:most],
    )


def _some(seed: int, most: int) -> Pick:
    """Takes at most `most` rows, in their order: tokens of a hundred thousand texts take seconds to make."""

    def pick(count: int) -> Sequence[int]:
        return range(count) if count <= most else sorted(random.Random(seed).sample(range(count), most))

    return pick
