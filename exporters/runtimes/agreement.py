"""How far the answers of one runtime are from those of another on the same file and rows: numbers and labels."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from exporters.formats.tensor_names import LABEL, LOGITS, PROBABILITIES
from models_tf.spec import END_LOGITS, START_LOGITS

Row = dict[str, np.ndarray]


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """Of `labels` choices `same` are equal, and `close` are too near a tie to be judged: the two best numbers of the
    reference differ by less than the tolerance. `flipped` are others, which should be equal and are not. `labels` is 0
    where no label is chosen.
    """

    max_abs: float
    mean_abs: float
    labels: int
    same: int
    close: int
    flipped: int

    def within(self, tolerance: float) -> bool:
        return self.max_abs <= tolerance and not self.flipped


def compare(
    reference: Sequence[Row], found: Sequence[Row], *, tolerance: float, lengths: Sequence[int], multi_label: bool
) -> Agreement:
    """`lengths` are the tokens of each row, 0 if unknown; what is answered for padding is not compared. An output that
    only one side has is no answer at all: the difference is infinite.
    """
    worst, total, values, labels, same, close, flipped = 0.0, 0.0, 0, 0, 0, 0, 0
    for before, after, length in zip(reference, found, lengths, strict=True):
        for name, expected in before.items():
            if name == LABEL:  # it follows from the logits
                continue
            one, two = tokens_only(name, expected, length), after.get(name)
            two = None if two is None else tokens_only(name, two, length)
            if two is None or two.shape != one.shape:
                worst = np.inf
                continue
            # Equal infinities are no difference, though inf - inf is no number.
            gap = np.where(one == two, 0.0, np.abs(one.astype(np.float64) - two))
            gap = np.where(np.isnan(gap), np.inf, gap)
            worst, total, values = max(worst, float(gap.max(initial=0.0))), total + float(gap.sum()), values + gap.size
            chosen = choices(name, one, multi_label=multi_label)
            if chosen is not None:
                picks, margins = chosen
                others = choices(name, two, multi_label=multi_label)
                equal = picks == (others[0] if others is not None else -1)
                near = margins < tolerance
                labels, same = labels + picks.size, same + int(equal.sum())
                close, flipped = close + int(near.sum()), flipped + int((~equal & ~near).sum())
    mean = total / values if values and np.isfinite(total) else float(np.inf if values else 0.0)
    return Agreement(max_abs=worst, mean_abs=mean, labels=labels, same=same, close=close, flipped=flipped)


def choices(name: str, values: np.ndarray, *, multi_label: bool) -> tuple[np.ndarray, np.ndarray] | None:
    """The labels that an output chooses, and by how much each is ahead of the next; None if it chooses none."""
    if name in (START_LOGITS, END_LOGITS):
        return _best(values.reshape(1, -1))
    if name != LOGITS or values.shape[-1] < 2:
        return None
    if multi_label:
        return (values > 0).ravel().astype(np.int64), np.abs(values).ravel()
    return _best(values.reshape(-1, values.shape[-1]))


def tokens_only(name: str, values: np.ndarray, length: int) -> np.ndarray:
    """Without what is answered for padding: outputs [1, time, ...], and positions of answers [1, time]."""
    timed = values.ndim == 3 or name in (START_LOGITS, END_LOGITS)
    return values[:, :length] if timed and length and name != PROBABILITIES else values


def _best(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if values.shape[-1] < 2:
        return values.argmax(-1), np.full(len(values), np.inf)
    two = np.partition(values, -2, axis=-1)[:, -2:]
    return values.argmax(-1), two[:, 1] - two[:, 0]
