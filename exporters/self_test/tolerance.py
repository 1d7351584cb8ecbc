"""How far an answer on another device may be from the one that the exporting machine got from the same file.

A float32 file: the limit of the parity gate, since other kernels only sum in another order. Any other file: what the
file differs by from the float model on the evaluation rows. Kernels of another processor may round an activation to the
step beside, which is an error of the same kind and smaller than quantization itself; a wrong kernel, a wrong scale or
inputs in the wrong order are off by more.
"""

import math
from collections.abc import Mapping, Sequence

from exporters.formats.artifacts import Placed
from exporters.formats.runners import PADDED, ROW_BY_ROW
from exporters.formats.tensor_names import MEDIAPIPE, SIGNATURE
from exporters.verification.label_outputs import PROBABILITY_ATOL
from exporters.verification.parity import Parity
from quantize.recipe import EXACT, FLOAT_ATOL

# int8 logits were seen one step apart on x86 and ARM (docs/android.md); two are allowed, however small the error above.
_STEPS = 2
# No probability of a softmax moves by more than half of the largest change of a logit.
_SOFTMAX = 0.5


def tolerances(placed: Sequence[Placed], parities: Sequence[Parity]) -> dict[str, float | None]:
    """By file name; None if a file gave numbers that are not finite."""
    found = {parity.candidate: parity for parity in parities}
    return {one.name: _tolerance(one, found) for one in placed}


def _tolerance(one: Placed, parities: Mapping[str, Parity]) -> float | None:
    parity = parities[one.runner_name]
    # Probabilities: that of the usual file's logits, which are off by at least twice as much. Bytes-in: that of the
    # text-in file. Text-in: that of the features-in file, fed with padded rows, and so that of the same file as it is.
    same = (PADDED, ROW_BY_ROW)
    while (
        parity.limit in (EXACT, PROBABILITY_ATOL) or parity.candidate.endswith(same)
    ) and parity.reference in parities:
        parity = parities[parity.reference]
    limit = max(parity.max_abs, _least(one)) if parity.limit is None else max(parity.limit, FLOAT_ATOL)
    if one.graph == MEDIAPIPE:  # answers with probabilities alone
        limit = max(limit * _SOFTMAX, FLOAT_ATOL)
    return float(f"{limit:.6g}") if math.isfinite(limit) else None


def _least(one: Placed) -> float:
    signatures = one.file.signatures
    signature = signatures.get(SIGNATURE) or next(iter(signatures.values()))
    return max((_STEPS * (output.scale or 0.0) for output in signature.outputs), default=0.0) or FLOAT_ATOL
