"""`TaskRows`: the rows of one task as model inputs, with what is needed to score a model on them."""

import abc
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np

from models_tf.errors import InputError
from models_tf.spec import IDS, MASK, SEGMENTS
from models_tf.tasks.decisions import Decisions
from models_tf.tasks.judged import Judged
from models_tf.tasks.score import Score


@dataclass(frozen=True, kw_only=True)
class Columns:
    """Which columns to read; None is guessed from the header."""

    text: str | None = None
    pair: str | None = None
    label: str | None = None


GUESSED = Columns()
# A number for each of the files that are compared at once.
_ANSWER_BYTES = 16
_VECTOR = 768  # channels of most embeddings, or fewer
# Of the number of a label; Python itself refuses numbers of some thousands.
_MOST_DIGITS = 9
# Gets the number of rows and says which of them to take.
Pick: TypeAlias = Callable[[int], Sequence[int]]


@dataclass(frozen=True, kw_only=True)
class TaskRows(abc.ABC):
    """Inputs int32 [rows, length] by name. `keys` are the texts that decide a split: equal keys stay together.

    `targets` are what a loss needs, by output name, or None if unknown. `notes` go into the report.
    """

    task: ClassVar[str]
    chooses: ClassVar[bool] = True  # whether the largest of a row's answers means something
    inputs: dict[str, np.ndarray]
    keys: list[str]
    source: str
    labels: tuple[str, ...] = ()
    targets: dict[str, np.ndarray] | None = None
    pairs: bool = False
    notes: tuple[str, ...] = ()
    numbers: tuple[int, ...] = ()  # of the rows in their file, from 1; empty if they are all of its rows

    def __post_init__(self) -> None:
        shapes = {self.inputs[name].shape for name in (IDS, MASK, SEGMENTS)}
        if len(shapes) != 1 or len(self.inputs[IDS]) != len(self.keys):
            raise ValueError(f"Inputs and keys must have the same rows. Received: {shapes}, {len(self.keys)} keys.")

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def labelled(self) -> bool:
        """Whether the rows can be scored."""
        return self.targets is not None

    @property
    def rows_each(self) -> int:
        """How many rows make one of those that a file has and that the score counts."""
        return 1

    @property
    def max_len(self) -> int:
        return int(self.inputs[IDS].shape[1])

    def texts(self, row: int) -> tuple[str, str | None]:
        """The text of a row, and the second text of a pair."""
        one, _, two = self.keys[row].partition("\t")
        return (one, two) if self.pairs else (self.keys[row], None)

    def take(self, indices: Sequence[int] | np.ndarray) -> "TaskRows":
        """The rows with these numbers, in this order."""
        picked = np.asarray(indices, np.int64)
        targets = None if self.targets is None else {name: values[picked] for name, values in self.targets.items()}
        changed: dict[str, Any] = {
            "inputs": {name: values[picked] for name, values in self.inputs.items()},
            "keys": [self.keys[i] for i in picked],
            "targets": targets,
            "numbers": tuple(self.numbers[i] for i in picked) if self.numbers else (),
        }
        return dataclasses.replace(self, **changed, **self._taken(picked))

    def _taken(self, picked: np.ndarray) -> dict[str, Any]:  # noqa: ARG002 - for tasks with fields of their own
        return {}

    @abc.abstractmethod
    def score(self, outputs: Mapping[str, np.ndarray], *, seed: int = 0) -> Score:
        """The quality of a model's outputs on these rows. Needs labelled rows."""

    @abc.abstractmethod
    def judge(self, outputs: Mapping[str, np.ndarray]) -> Judged:
        """What was answered and what it counts, row by row. Needs labelled rows."""

    def decisions(self, outputs: Mapping[str, np.ndarray]) -> Decisions | None:  # noqa: ARG002 - for tasks with labels
        """Every choice of a label on these rows; None for a task that chooses none. Needs labelled rows."""
        return None

    @abc.abstractmethod
    def answers(self, outputs: Mapping[str, np.ndarray]) -> np.ndarray:
        """The logits that decide, [decisions, choices]: what two files of one model must agree on."""

    def compared(
        self,
        outputs: Mapping[str, np.ndarray],  # noqa: ARG002 - for tasks with vectors
        reference: Mapping[str, np.ndarray],  # noqa: ARG002
    ) -> dict[str, float]:
        """Further metrics of a model beside the reference, in percent by name."""
        return {}

    def _check_outputs(self, outputs: Mapping[str, np.ndarray], *names: str) -> None:
        for name in names:
            if name not in outputs or len(outputs[name]) != len(self):
                received = f"{len(outputs[name])} rows" if name in outputs else f"only {', '.join(outputs)}"
                raise ValueError(f"Outputs must have {name!r} with {len(self)} rows. Received: {received}.")

    def _need_targets(self) -> dict[str, np.ndarray]:
        if self.targets is None or not len(self):
            raise ValueError("A score needs labelled rows, at least 1. Received: none.")
        return self.targets


def row_bytes(task: str, labels: int, max_len: int) -> int:
    """What a row takes in memory besides its texts: ids, mask and segments, and the answers of some files."""
    answers = {"token-classification": labels * max_len, "question-answering": 2 * max_len}.get(task, labels)
    if task == "embedding":  # two texts, each with a vector
        return 2 * (12 * max_len + _ANSWER_BYTES * _VECTOR)
    return 12 * max_len + _ANSWER_BYTES * answers


def shorten(names: Sequence[str], limit: int = 10) -> str:
    """Names for a message."""
    shown = ", ".join(names[:limit])
    return shown if len(names) <= limit else f"{shown} and {len(names) - limit} more"


def number_labels(
    found: Sequence[tuple[str, int]], labels: Sequence[str], path: object
) -> tuple[list[int], tuple[str, ...]]:
    """Numbers of the labels (name, line of the file), and a note if they were matched by number.

    A name that the head lacks is an error, unless the file holds only numbers in range and the head only other names.
    """
    numbers = {label: i for i, label in enumerate(labels)}
    names = {name for name, _ in found}
    if not names <= set(labels) and _are_numbers(names, labels):
        note = (
            f"{path} has numbers for labels: taken as the model's "
            f"{shorten([f'{i} {n}' for i, n in enumerate(labels)])}."
        )
        return [int(name) for name, _ in found], (note,)
    unknown = [(name, line) for name, line in found if name not in numbers]
    if unknown:
        # In a file of numbers, blame the one out of range, not the first one.
        name, line = next((entry for entry in unknown if not _are_numbers({entry[0]}, labels)), unknown[0])
        raise InputError(
            f"{path} line {line}: the model has no label {name!r}. It has {shorten(labels)}. "
            f"Give data with these labels, or with their numbers, 0 to {len(labels) - 1}, in all rows."
        )
    return [numbers[name] for name, _ in found], ()


def _are_numbers(names: set[str], labels: Sequence[str]) -> bool:
    digits = (name.isascii() and name.isdecimal() and len(name) <= _MOST_DIGITS for name in names)
    in_range = all(digits) and all(int(name) < len(labels) for name in names)
    return in_range and not any(label.strip().lstrip("+-").isdecimal() for label in labels)


def cut_rows(inputs: Mapping[str, np.ndarray], path: object) -> tuple[str, ...]:
    """A note if rows fill the sequence length, since anything longer is lost."""
    rows, length = inputs[MASK].shape
    full = int(inputs[MASK].all(axis=1).sum())
    return (
        (f"{path}: {full} of {rows} rows fill the sequence length of {length}; what was longer is cut.",)
        if full
        else ()
    )
