"""Verification: every file written, on the same rows, against what it must equal.

Float files are held against Keras, text-in against features-in, quantized against float, so that conversion error and
quantization error stay apart. Rows go through in chunks: memory does not grow with their number. Only logits are kept.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from exporters.evaluate import score
from exporters.parity import Parity, compare
from exporters.report import StageScore
from exporters.runners import FEATURES, Runner, RunnerError

CHUNK_ROWS = 256
_WORKERS = 2
# Two runtimes may round an int8 value differently; a runtime that cannot run a file answers with something else
# altogether (zeros were seen), which is near chance: half of the rows is far from both.
_SAME_MODEL = 0.5


@dataclass(frozen=True, kw_only=True)
class Check:
    """A runner, the name of the runner it is held against (None for the reference of all), and the largest difference."""

    runner: Runner
    against: str | None
    limit: float | None = None


@dataclass(frozen=True, kw_only=True)
class Verification:
    parities: tuple[Parity, ...]
    scores: tuple[StageScore, ...]
    notes: tuple[str, ...]


def verify(
    checks: Sequence[Check],
    texts: Sequence[str],
    targets: np.ndarray | None,
    *,
    project: Callable[[Sequence[bytes]], np.ndarray],
    probes: Sequence[Check] = (),
    chunk_rows: int = CHUNK_ROWS,
    seed: int = 0,
) -> Verification:
    """Runs `checks` on all rows and `probes` (other runtimes, each start costly) on the first chunk.

    A check is held against an earlier one. The first is what accuracy drops are counted from.
    """
    logits: dict[str, list[np.ndarray]] = {check.runner.name: [] for check in checks}
    parities: list[Parity] = []
    notes: list[str] = []
    with ThreadPoolExecutor(_WORKERS) as pool:
        for start in range(0, len(texts), chunk_rows):
            encoded = [text.encode() for text in texts[start : start + chunk_rows]]
            features = project(encoded)

            def run(check: Check, features: np.ndarray = features, encoded: list[bytes] = encoded) -> np.ndarray:
                return check.runner(features if check.runner.takes == FEATURES else encoded)

            pending = [pool.submit(_attempt, run, probe) for probe in probes] if start == 0 else []
            for check, rows in zip(checks, pool.map(run, checks), strict=True):
                logits[check.runner.name].append(rows)
            for probe, job in zip(probes, pending, strict=bool(pending)):
                parity, note = _judge_probe(probe, job.result(), logits)
                parities += [parity] if parity else []
                notes += [note] if note else []
    whole = {name: np.concatenate(parts) for name, parts in logits.items()}
    parities = [
        compare(check.runner.name, whole[check.runner.name], check.against, whole[check.against], limit=check.limit)
        for check in checks
        if check.against is not None
    ] + parities
    return Verification(
        parities=tuple(parities),
        scores=() if targets is None else _scores(checks, whole, targets, seed),
        notes=tuple(notes),
    )


def _scores(
    checks: Sequence[Check], logits: dict[str, np.ndarray], targets: np.ndarray, seed: int
) -> tuple[StageScore, ...]:
    scores = {check.runner.name: score(logits[check.runner.name], targets, seed=seed) for check in checks}
    first = next(iter(scores.values()))
    return tuple(StageScore(stage=name, score=value, drop=first.value - value.value) for name, value in scores.items())


def _attempt(run: Callable[[Check], np.ndarray], probe: Check) -> np.ndarray | str:
    try:
        return run(probe)
    except RunnerError as error:
        return str(error)


def _judge_probe(
    probe: Check, answer: np.ndarray | str, logits: dict[str, list[np.ndarray]]
) -> tuple[Parity | None, str | None]:
    if isinstance(answer, str):
        return None, f"Not verified there: {answer}"
    reference = probe.against or next(iter(logits))
    parity = compare(probe.runner.name, answer, reference, logits[reference][0], limit=probe.limit)
    if parity.argmax_agreement < _SAME_MODEL:
        return parity, f"{probe.runner.name} answers something else than {reference}: do not ship the file for it."
    return parity, None
