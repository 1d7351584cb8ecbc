"""Do two implementations compute the same logits? Differences as numbers, and whether they are within the limit.

Pure functions on arrays. Limits are in `quantize/recipe.py`; `checks.py` says what is compared with what.
"""

from dataclasses import dataclass, replace

import numpy as np

from quantize.recipe import EXACT, ROUNDING_MOST, ROUNDINGS

# A token-dropping model ranks tokens first. If the last one kept and the first one dropped differ only by rounding, two
# correct implementations may keep different ones and answer differently: such a row is undecided. Summing in another
# order changed the significance of a token by up to 4e-6 (6 layers, 256 tokens), so two of them differ by up to 8e-6.
UNDECIDED_MARGIN = 2e-5
# Of 256 rows of a trained model (6 layers, 256 tokens), 2 were undecided. More than this share, and than two, is a bug.
UNDECIDED_SHARE, _FEW_UNDECIDED = 0.05, 2
# Smaller answers are differences of larger numbers and carry their rounding.
_SMALLEST_SCALE = 1e-2


@dataclass(frozen=True, kw_only=True)
class Parity:
    """A candidate compared with its reference, over all rows and labels. `limit` is None if there is none.

    `scale` is the base of a relative limit, 1 for an absolute one. `argmax_agreement` is None with one number per row,
    and for vectors.
    `undecided` rows differ by more than the limit and are left out: see `UNDECIDED_MARGIN`. `rounding` is what float32
    itself changes in the answers of this network, if that was measured: see `wider`.
    """

    candidate: str
    reference: str
    rows: int
    max_abs: float
    mean_abs: float
    argmax_agreement: float | None
    limit: float | None = None
    scale: float = 1.0
    undecided: int = 0
    rounding: float | None = None

    @property
    def passed(self) -> bool:
        # `not >` would let NaN through
        return self.limit is None or (self.max_abs <= self.limit and not self.too_many_undecided)

    @property
    def too_many_undecided(self) -> bool:
        return self.undecided > max(_FEW_UNDECIDED, UNDECIDED_SHARE * (self.rows + self.undecided))

    def failure(self) -> str:
        """One line for the gate."""
        if self.too_many_undecided:
            return (
                f"{self.candidate} against {self.reference}: "
                f"expected at most {100 * UNDECIDED_SHARE:g} % of the rows to keep other tokens. "
                f"Received: {self.undecided} of {self.rows + self.undecided}."
            )
        limit = "exactly equal" if self.limit == EXACT else f"max-abs at most {self.limit:.3g}"
        return (
            f"{self.candidate} against {self.reference}: expected {limit}{self._origin()}. "
            f"Received: max-abs {self.max_abs:.3g} over {self.rows} rows."
        )

    def remark(self) -> str | None:
        """One line for the report if it takes float32's own rounding to explain the difference."""
        if not self._by_rounding or not self.passed:
            return None
        return (
            f"{self.candidate} against {self.reference}: the limit is {self.limit:.3g}{self._origin()}. "
            f"The largest difference is {self.max_abs:.3g}."
        )

    @property
    def _by_rounding(self) -> bool:
        """Whether the limit is that of `wider`, and not the recipe's."""
        return self.rounding is not None and self.limit == _widest(self.rounding, self.scale)

    def _origin(self) -> str:
        """What float32's own rounding says of the limit."""
        if self.rounding is None:
            return ""
        own = f"float32 itself differs from float64 by {self.rounding:.3g} here"
        if not self._by_rounding:
            return f" ({own})"
        capped = ROUNDINGS * self.rounding > ROUNDING_MOST * self.scale
        return f" ({own}, {'and more is never' if capped else f'{ROUNDINGS:g} times that is'} allowed)"


def compare(
    candidate: str,
    logits: np.ndarray,
    reference: str,
    expected: np.ndarray,
    *,
    limit: float | None = None,
    relative: bool = False,
) -> Parity:
    """Compare `logits` with `expected`, both [rows, labels]; a `relative` limit is a share of the largest expected."""
    if logits.shape != expected.shape or logits.ndim != 2 or not logits.size:
        raise ValueError(f"Logits must have one shape [rows, labels]. Received: {logits.shape} and {expected.shape}.")
    if np.isfinite(logits).all() and np.isfinite(expected).all():
        difference = np.abs(logits.astype(np.float64) - expected.astype(np.float64))
        max_abs, mean_abs = float(difference.max()), float(difference.mean())
    else:  # also if both are NaN: no model may answer that
        max_abs = mean_abs = float("inf")
    scale = max(float(np.abs(expected[np.isfinite(expected)]).max(initial=0.0)), _SMALLEST_SCALE) if relative else 1.0
    return Parity(
        candidate=candidate,
        reference=reference,
        rows=len(logits),
        max_abs=max_abs,
        mean_abs=mean_abs,
        argmax_agreement=_agreement(logits, expected),
        limit=None if limit is None else limit * scale,
        scale=scale,
    )


def wider(parity: Parity, rounding: float) -> Parity:
    """The parity with a limit that float32 itself can keep, where that of the recipe is smaller.

    `rounding` is the largest difference of this network in float32 from the same network in float64.
    """
    if parity.limit is None or not np.isfinite(rounding):
        return parity
    return replace(parity, limit=max(parity.limit, _widest(rounding, parity.scale)), rounding=rounding)


def _widest(rounding: float, scale: float) -> float:
    return min(ROUNDINGS * rounding, ROUNDING_MOST * scale)


def _agreement(logits: np.ndarray, expected: np.ndarray) -> float | None:
    if logits.shape[1] == 1:
        return None
    return float((logits.argmax(axis=1) == expected.argmax(axis=1)).mean())
