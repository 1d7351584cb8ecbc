"""`Judge`: compares the outputs of two runners on the same rows, and tells rounding from error.

Two kinds of difference are no fault of a file: a row whose ranking of tokens is a tie (`UNDECIDED_MARGIN`), and what
float32 itself does to a network with large activations, measured by a run in float64 (`ROUNDINGS`). Both are looked
into only where a limit does not hold.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from exporters.data.rows import Examples
from exporters.formats.runners import Outputs, Runner
from exporters.verification.parity import UNDECIDED_MARGIN, Parity, compare, wider

# Rows of the run in float64. Those that differ most are taken: others would say nothing about them.
ROUNDED_ROWS = 4


@dataclass(frozen=True, kw_only=True)
class Judge:
    """What all comparisons of a run share.

    `margins` say how clearly the reference chose its tokens; None where it chooses none. `precisions` are pairs of
    runners, of one network in float32 and in float64.
    """

    examples: Examples
    margins: np.ndarray | None = None
    precisions: Sequence[tuple[Runner, Runner]] = ()

    def compare(
        self,
        candidate: str,
        outputs: Outputs,
        reference: str,
        expected: Outputs,
        *,
        limit: float | None,
        relative: bool,
    ) -> Parity:
        """On the rows that both have. Rows with hardly any margin count only if their answers agree."""

        def judge(rows: Sequence[int], limit: float | None, *, relative: bool = False) -> Parity:
            answers, wanted = (self._answers(rows, part) for part in (outputs, expected))
            found = compare(candidate, answers, reference, wanted, limit=limit, relative=relative)
            return found if self.examples.chooses else replace(found, argmax_agreement=None)

        count = min(rows_of(outputs), rows_of(expected))
        parity = judge(range(count), limit, relative=relative)
        if parity.passed:
            return parity
        rest = list(range(count))
        if self.margins is not None:
            close = np.flatnonzero(self.margins[:count] <= UNDECIDED_MARGIN)
            undecided = {int(row) for row in close if not judge([int(row)], parity.limit).passed}
            decided = [row for row in rest if row not in undecided]
            if undecided and decided:
                rest = decided
                parity = replace(judge(rest, parity.limit), scale=parity.scale, undecided=len(undecided))
        if parity.passed or parity.too_many_undecided or not relative or not np.isfinite(parity.max_abs):
            return parity
        rounding = self._rounding(_worst(rest, outputs, expected))
        return parity if rounding is None else wider(parity, rounding)

    def _answers(self, rows: Sequence[int], outputs: Outputs) -> np.ndarray:
        picked = list(rows)
        return self.examples.take(picked).answers({name: values[picked] for name, values in outputs.items()})

    def _rounding(self, rows: Sequence[int]) -> float | None:
        """The largest difference of float32 from float64 on these rows; None where there is nothing to measure."""
        if self.margins is not None:  # at a tie, float64 keeps other tokens: that is no rounding of an answer
            rows = [row for row in rows if self.margins[row] > UNDECIDED_MARGIN]
        if not self.precisions or not rows:
            return None
        chosen = self.examples.take(rows)
        feed = next(iter(chosen.chunks(len(rows))))
        found = [[chosen.answers(runner(feed)).astype(np.float64) for runner in pair] for pair in self.precisions]
        return max(float(np.abs(rounded - exact).max()) for rounded, exact in found)


def rows_of(outputs: Outputs) -> int:
    return len(next(iter(outputs.values())))


def _worst(rows: Sequence[int], outputs: Outputs, expected: Outputs) -> list[int]:
    """The rows that differ most, in their order."""
    picked = np.asarray(rows)
    differences = [np.abs(outputs[name][picked] - expected[name][picked]).reshape(len(picked), -1) for name in outputs]
    largest = np.max([part.max(axis=1) for part in differences], axis=0)
    return sorted(picked[np.argsort(-largest, kind="stable")[:ROUNDED_ROWS]].tolist())
