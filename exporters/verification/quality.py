"""What is behind an accuracy: confusions, flipped answers, reliability, accuracy by length. Pure functions on answers.

All stages are cut into the same bins, so that they can be laid side by side. Confusions and reliability are of single
choices (a text, or a word of a text), the rest is of what the score counts (a text, a sentence, a question). Leaves out
numbers and vectors, whose answers are neither right nor wrong.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from models_tf.tasks import metrics
from models_tf.tasks.decisions import Decisions
from models_tf.tasks.judged import CORRELATIONS, STATISTICS, Judged, share

# More labels than this make no matrix that can be read; the largest confusions are listed for any number.
MATRIX_LABELS = 30
TOP_CONFUSIONS = 20
SHOWN_FLIPS = 50
LONGEST_TEXT = 200
RELIABILITY_BINS = 10
# Up to five lengths, with this many decisions each at least: ten have an interval of thirty points each way.
LENGTH_BINS, FEWEST_IN_BIN = 5, 20


@dataclass(frozen=True, kw_only=True)
class Confused:
    """`count` decisions for `label` were answered with `answer`."""

    label: str
    answer: str
    count: int


@dataclass(frozen=True, kw_only=True)
class Confusion:
    """`counts` by label (rows) and answer (columns), as many as `labels`; both None with too many labels.

    `top` are the most frequent confusions, the largest first. `unanswered` decisions are in none of them.
    """

    labels: tuple[str, ...] | None
    counts: tuple[tuple[int, ...], ...] | None
    top: tuple[Confused, ...]
    unanswered: int = 0


@dataclass(frozen=True, kw_only=True)
class Flip:
    """An answer that differs from the reference's. `row` is that of the data file, from 1; a long `text` is cut."""

    row: int
    text: str
    label: str
    before: str
    after: str


@dataclass(frozen=True, kw_only=True)
class Flipped:
    """All answers that differ from the reference's: those that are worse now come first, `shown` are at most fifty."""

    total: int
    worse: int
    better: int
    shown: tuple[Flip, ...]


@dataclass(frozen=True, kw_only=True)
class Bin:
    """Answers with a value from `low` to `high`. `accuracy` and `interval` (95 %) in points; both None if n is 0."""

    low: float
    high: float
    n: int
    accuracy: float | None
    interval: tuple[float, float] | None = None
    confidence: float | None = None  # mean of the probabilities, in points


@dataclass(frozen=True, kw_only=True)
class Reliability:
    """How often an answer of a given probability is right. `calibration_error` is the expected one (ECE), in points."""

    calibration_error: float
    bins: tuple[Bin, ...]


@dataclass(frozen=True, kw_only=True)
class ByLength:
    """Accuracy by the length of the text, in `unit`."""

    unit: str
    bins: tuple[Bin, ...]


@dataclass(frozen=True, kw_only=True)
class StageQuality:
    """One implementation. `flipped` is None for the reference itself; `same_as` names an earlier one that gave the same
    answers and probabilities, and then there is nothing else.
    """

    stage: str
    same_as: str | None = None
    confusion: Confusion | None = None
    flipped: Flipped | None = None
    reliability: Reliability | None = None
    by_length: ByLength | None = None


@dataclass(frozen=True, kw_only=True)
class Answers:
    """The answers of one stage; `decisions` is None where no label is chosen."""

    judged: Judged
    decisions: Decisions | None = None


def qualities(stages: Mapping[str, Answers], numbers: Sequence[int] = ()) -> tuple[StageQuality, ...]:
    """Of each stage; the first is the reference. `numbers` are those of the rows in their file, from 1."""
    found: list[StageQuality] = []
    seen: dict[str, Answers] = {}
    for stage, one in stages.items():
        if one.judged.metric in CORRELATIONS:
            continue
        twin = next((name for name, other in seen.items() if _equal(one, other)), None)
        if twin is not None:
            found.append(StageQuality(stage=stage, same_as=twin))
            continue
        reference = next(iter(seen.values()), None)
        seen[stage] = one
        choices = one.decisions
        found.append(
            StageQuality(
                stage=stage,
                confusion=None if choices is None else confusion(choices),
                flipped=None if reference is None else flipped(reference.judged, one.judged, numbers),
                reliability=None if choices is None else reliability(choices.confidence, right_choices(choices)),
                by_length=by_length(one.judged),
            )
        )
    return tuple(found)


def right(judged: Judged) -> np.ndarray:
    """How right each answer is, 0 to 1: a share where the metric is one, else whether all of it is right."""
    if STATISTICS[judged.metric] is share:
        shares: np.ndarray = judged.counts[:, 0] / np.maximum(judged.counts[:, 1], 1)
        return shares
    return np.array([one == two for one, two in zip(judged.expected, judged.answers, strict=True)], np.float64)


def right_choices(decisions: Decisions) -> np.ndarray:
    return np.asarray(decisions.answers == decisions.targets, np.float64)


def confusion(decisions: Decisions) -> Confusion:
    """Counts of all choices."""
    labels, count = decisions.labels, len(decisions.labels)
    table = metrics.confusion(decisions.answers, decisions.targets, count)
    wrong = [(int(n), one, two) for (one, two), n in np.ndenumerate(table[:, :count]) if n and one != two]
    wrong.sort(key=lambda entry: (-entry[0], *entry[1:]))
    shown = count <= MATRIX_LABELS
    return Confusion(
        labels=labels if shown else None,
        counts=tuple(tuple(map(int, row)) for row in table[:, :count]) if shown else None,
        top=tuple(Confused(label=labels[one], answer=labels[two], count=n) for n, one, two in wrong[:TOP_CONFUSIONS]),
        unanswered=int(table[:, count].sum()),
    )


def flipped(before: Judged, after: Judged, numbers: Sequence[int] = ()) -> Flipped:
    """Answers that changed. A question has a number of its own, since it may have several rows."""
    changed = [i for i in range(len(after)) if before.answers[i] != after.answers[i]]
    change = right(after) - right(before)
    changed.sort(key=lambda i: (change[i], i))
    shown = tuple(
        Flip(
            row=numbers[i] if len(numbers) == len(after) else i + 1,
            text=cut(after.texts[i]),
            label=cut(after.expected[i]),
            before=cut(before.answers[i]),
            after=cut(after.answers[i]),
        )
        for i in changed[:SHOWN_FLIPS]
    )
    worse, better = (int((sign * change[changed] > 0).sum()) for sign in (-1, 1))
    return Flipped(total=len(changed), worse=worse, better=better, shown=shown)


def reliability(confidence: np.ndarray, right: np.ndarray) -> Reliability:
    """Bins of equal width; the right end belongs to a bin."""
    edges = np.linspace(0, 1, RELIABILITY_BINS + 1)
    places = np.clip(np.ceil(confidence * RELIABILITY_BINS).astype(int) - 1, 0, RELIABILITY_BINS - 1)
    bins, error = [], 0.0
    for number in range(RELIABILITY_BINS):
        inside = places == number
        one = _bin(100 * float(edges[number]), 100 * float(edges[number + 1]), right[inside], confidence[inside])
        bins.append(one)
        if one.n and one.accuracy is not None and one.confidence is not None:
            error += one.n / len(right) * abs(one.accuracy - one.confidence)
    return Reliability(calibration_error=error, bins=tuple(bins))


def by_length(judged: Judged) -> ByLength:
    """Bins with about as many texts each; equal lengths stay together."""
    lengths, correct = np.array([len(text.split()) for text in judged.texts]), right(judged)
    wanted = max(1, min(LENGTH_BINS, len(lengths) // FEWEST_IN_BIN))
    ends = sorted({int(end) for end in np.quantile(lengths, np.arange(1, wanted + 1) / wanted, method="higher")})
    bins, low = [], int(lengths.min())
    for end in ends:
        inside = (lengths >= low) & (lengths <= end)
        bins.append(_bin(low, end, correct[inside]))
        low = end + 1
    return ByLength(unit="words", bins=tuple(bins))


def cut(text: str) -> str:
    return text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 1] + "…"


def _bin(low: float, high: float, right: np.ndarray, confidence: np.ndarray | None = None) -> Bin:
    n = len(right)
    if not n:
        return Bin(low=low, high=high, n=0, accuracy=None)
    whole = bool(np.isin(right, (0, 1)).all())  # a share of right words has another spread
    return Bin(
        low=low,
        high=high,
        n=n,
        accuracy=100 * float(right.mean()),
        interval=metrics.wilson(int(right.sum()), n) if whole else None,
        confidence=None if confidence is None else 100 * float(confidence.mean()),
    )


def _equal(one: Answers, other: Answers) -> bool:
    if one.judged.answers != other.judged.answers or (one.decisions is None) != (other.decisions is None):
        return False
    if one.decisions is None or other.decisions is None:
        return True
    return np.array_equal(one.decisions.confidence, other.decisions.confidence)
