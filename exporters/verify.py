"""Verification: every file written, on the same rows, against what it must equal.

Float files are held against Keras, text-in against features-in, quantized against float, so that conversion error and
quantization error stay apart. Rows go through in chunks: memory does not grow with their number. Only logits are kept.
"""

import functools
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from exporters.evaluate import score
from exporters.parity import Parity, compare
from exporters.report import StageScore
from exporters.rows import Rows
from exporters.runners import Runner, RunnerError
from exporters.tensor_names import FEATURES

# Texts -> features int8 [rows, time, feature].
Project: TypeAlias = Callable[[Sequence[bytes]], np.ndarray]

_CHUNK_ROWS = 256
_CHUNK_BYTES = 1 << 26
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
    checks: Sequence[Check], probes: Sequence[Check], data: Rows, project: Project, *, seed: int = 0
) -> Verification:
    """Runs `checks` on all rows and `probes` (other runtimes, each start costly) on the first chunk.

    A check is held against an earlier one. The first is what accuracy drops are counted from.
    """
    parts: dict[str, list[np.ndarray]] = {check.runner.name: [] for check in checks}
    answers: list[np.ndarray | str] = []
    with ThreadPoolExecutor(_WORKERS) as pool:
        for texts in _chunks(data.texts, project):
            run = functools.partial(_run, texts=texts, features=project(texts))
            pending = [] if answers else [pool.submit(_attempt, run, probe) for probe in probes]
            for check, logits in zip(checks, pool.map(run, checks), strict=True):
                parts[check.runner.name].append(logits)
            answers += [job.result() for job in pending]
    whole = {name: np.concatenate(chunks) for name, chunks in parts.items()}
    parities = [
        compare(check.runner.name, whole[check.runner.name], check.against, whole[check.against], limit=check.limit)
        for check in checks
        if check.against is not None
    ]
    probed, notes = _judge_probes(probes, answers, whole)
    return Verification(
        parities=(*parities, *probed),
        scores=() if data.targets is None else _scores(whole, data.targets, seed),
        notes=tuple(notes),
    )


def _chunks(texts: Sequence[str], project: Project) -> Iterator[list[bytes]]:
    """Texts whose features fill at most `_CHUNK_BYTES`."""
    size = max(1, min(_CHUNK_ROWS, _CHUNK_BYTES // project([b""]).nbytes))
    for start in range(0, len(texts), size):
        yield [text.encode() for text in texts[start : start + size]]


def _run(check: Check, *, texts: list[bytes], features: np.ndarray) -> np.ndarray:
    return check.runner(features if check.runner.takes == FEATURES else texts)


def _scores(logits: dict[str, np.ndarray], targets: np.ndarray, seed: int) -> tuple[StageScore, ...]:
    scores = {name: score(rows, targets, seed=seed) for name, rows in logits.items()}
    first = next(iter(scores.values()))
    return tuple(StageScore(stage=name, score=value, drop=first.value - value.value) for name, value in scores.items())


def _attempt(run: Callable[[Check], np.ndarray], probe: Check) -> np.ndarray | str:
    try:
        return run(probe)
    except RunnerError as error:
        return str(error)


def _judge_probes(
    probes: Sequence[Check], answers: Sequence[np.ndarray | str], logits: dict[str, np.ndarray]
) -> tuple[list[Parity], list[str]]:
    parities, notes = [], []
    for probe, answer in zip(probes, answers, strict=True):
        if isinstance(answer, str):
            notes.append(f"Not verified there: {answer}")
            continue
        reference = probe.against or next(iter(logits))
        parity = compare(probe.runner.name, answer, reference, logits[reference][: len(answer)], limit=probe.limit)
        parities.append(parity)
        if parity.argmax_agreement < _SAME_MODEL:
            notes.append(f"{probe.runner.name} answers something else than {reference}: do not ship the file for it.")
    return parities, notes
