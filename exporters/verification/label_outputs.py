"""Are the probabilities and the label of a file those of its own logits? On every row."""

from collections.abc import Iterator

import numpy as np

from exporters.formats.runners import Outputs
from exporters.formats.tensor_names import LABEL, LOGITS, PROBABILITIES
from exporters.verification.parity import Parity, compare
from quantize.recipe import EXACT

SOFTMAX, SIGMOID = "softmax", "sigmoid"
# Runtimes approximate exp, XNNPACK to some units of the last place of float32; a probability is at most 1.
PROBABILITY_ATOL = 1e-5


def label_parities(name: str, outputs: Outputs, activation: str) -> Iterator[Parity]:
    """The probabilities against those of the logits, and the logit of the label against the largest one: of equal
    logits any may be the best.
    """
    logits = outputs[LOGITS].astype(np.float64)
    yield compare(
        f"{name}, {PROBABILITIES}",
        outputs[PROBABILITIES],
        f"{activation} of its logits",
        _probabilities(logits, activation),
        limit=PROBABILITY_ATOL,
    )
    labels = outputs[LABEL].astype(np.int64).reshape(-1, 1)
    known = (labels >= 0) & (labels < logits.shape[1])
    chosen = np.where(known, np.take_along_axis(logits, np.where(known, labels, 0), axis=1), np.nan)
    yield compare(
        f"{name}, logit of the {LABEL}", chosen, "its largest logit", logits.max(1, keepdims=True), limit=EXACT
    )


def probability_parity(name: str, outputs: Outputs, reference: str, expected: Outputs) -> Parity:
    """Probabilities against those of the logits of the same network in another file, on the rows that both have."""
    rows = min(len(outputs[PROBABILITIES]), len(expected[LOGITS]))
    wanted = _probabilities(expected[LOGITS][:rows].astype(np.float64), SOFTMAX)
    return compare(name, outputs[PROBABILITIES][:rows], reference, wanted, limit=PROBABILITY_ATOL)


def _probabilities(logits: np.ndarray, activation: str) -> np.ndarray:
    if activation == SIGMOID:
        return np.asarray(1 / (1 + np.exp(-logits)))
    shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=1, keepdims=True))
