"""Do two implementations compute the same logits? Differences as numbers, and the limits the gate holds them to.

Pure functions on arrays; the pipeline decides what is compared with what.
"""

from dataclasses import dataclass

import numpy as np

# Float conversion only reorders float32 sums. A logit is a sum of some hundred terms of size 1 to 10, so the error is
# about sqrt(500) * 10 * 2**-24 = 1.3e-5; 1e-4 leaves a factor of seven and is far below any label's margin.
FLOAT_ATOL = 1e-4
# Text-in is the features-in graph with one op in front; on the same runtime there is nothing to differ.
EXACT = 0.0


@dataclass(frozen=True, kw_only=True)
class Parity:
    """Candidate against reference, over all rows and labels. `limit` is None where nothing is demanded."""

    candidate: str
    reference: str
    rows: int
    max_abs: float
    mean_abs: float
    argmax_agreement: float
    limit: float | None = None

    @property
    def passed(self) -> bool:
        # `not >` would let NaN through
        return self.limit is None or self.max_abs <= self.limit

    def failure(self) -> str:
        """One line for the gate."""
        limit = "exactly equal" if self.limit == EXACT else f"max-abs at most {self.limit:g}"
        return (
            f"{self.candidate} against {self.reference}: expected {limit}. "
            f"Received: max-abs {self.max_abs:.3g} over {self.rows} rows."
        )


def compare(
    candidate: str, logits: np.ndarray, reference: str, expected: np.ndarray, *, limit: float | None = None
) -> Parity:
    """Compare `logits` with `expected`, both [rows, labels]."""
    if logits.shape != expected.shape or logits.ndim != 2 or not logits.size:
        raise ValueError(f"Logits must have one shape [rows, labels]. Received: {logits.shape} and {expected.shape}.")
    if np.isfinite(logits).all() and np.isfinite(expected).all():
        difference = np.abs(logits.astype(np.float64) - expected.astype(np.float64))
        max_abs, mean_abs = float(difference.max()), float(difference.mean())
    else:  # also where both are NaN: no model may answer so
        max_abs = mean_abs = float("inf")
    return Parity(
        candidate=candidate,
        reference=reference,
        rows=len(logits),
        max_abs=max_abs,
        mean_abs=mean_abs,
        argmax_agreement=float((logits.argmax(axis=1) == expected.argmax(axis=1)).mean()),
        limit=limit,
    )
