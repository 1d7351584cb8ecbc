"""Verification: compares every written file, on the same rows, with what it must equal.

Float files are compared with Keras, text-in with features-in, bytes-in with text-in, quantized with float or Keras, so
that conversion error and quantization error stay apart. Rows go through in chunks and only outputs are kept, so memory
hardly grows.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import zip_longest

from exporters.data.rows import Examples
from exporters.formats.runners import Feed, Outputs, Runner, RunnerError, joined
from exporters.formats.tensor_names import MARGIN
from exporters.report.report import StageScore
from exporters.verification.judge import Judge
from exporters.verification.label_outputs import label_parities, probability_parity
from exporters.verification.parity import Parity
from exporters.verification.quality import Answers, StageQuality, qualities

# Of token models; features of projection models take more room, and come in smaller chunks.
_CHUNK_ROWS = 2048
_PROBED_ROWS = 256
_WORKERS = 2
# Two runtimes may round an int8 value differently; a runtime that cannot run a file gives something else altogether
# (zeros were seen), which is near chance. Half of the rows is far from both.
_SAME_MODEL = 0.5


@dataclass(frozen=True, kw_only=True)
class Check:
    """A runner, the name of its reference (None for the first reference), and the largest difference allowed.

    A `relative` limit is a share of the reference's largest answer. `most` rows are run, all when None; a check that is
    not `scored` has no accuracy. `precisions` of the first reference are pairs of runners, of one network in float32
    and in float64: they tell how much of a difference is rounding. With an `activation` (softmax or sigmoid) the runner
    also answers probabilities and a label, which must be those of its own logits. A runner that answers probabilities
    alone has `logits_of`, the name of the one that answers their logits.
    """

    runner: Runner
    against: str | None
    limit: float | None = None
    relative: bool = False
    most: int | None = None
    scored: bool = True
    precisions: tuple[tuple[Runner, Runner], ...] = ()
    activation: str | None = None
    logits_of: str | None = None


@dataclass(frozen=True, kw_only=True)
class Verification:
    """`refused` says which probes failed, or answered something else, and what of."""

    parities: tuple[Parity, ...]
    scores: tuple[StageScore, ...]
    notes: tuple[str, ...]
    refused: tuple[str, ...] = ()
    quality: tuple[StageQuality, ...] = ()


def verify(
    checks: Sequence[Check],
    probes: Sequence[Check],
    examples: Examples,
    *,
    seed: int = 0,
    numbers: Sequence[int] = (),
) -> Verification:
    """Runs `checks` on all rows and `probes` (other runtimes, each start costly) on the first rows.

    A check is compared with an earlier one. Accuracy drops are counted from the first. `numbers` are those of the rows
    in their file.
    """
    parts: dict[str, list[Outputs]] = {check.runner.name: [] for check in checks}
    probed: list[Outputs | str] = []
    done = 0
    with ThreadPoolExecutor(_WORKERS) as pool:
        for feed in examples.chunks(_CHUNK_ROWS):
            pending = [] if done else [pool.submit(_attempt, probe, feed) for probe in probes]
            wanted = [check for check in checks if check.most is None or done < check.most]
            jobs = {
                check.runner.name: pool.submit(check.runner, _first(feed, check.most, done)) for check in _apart(wanted)
            }
            for name, job in jobs.items():
                parts[name].append(job.result())
            probed += [job.result() for job in pending]
            done += _rows(feed)
    whole = {name: joined(chunks) for name, chunks in parts.items()}
    # The reference may say how clearly it chose its tokens.
    margins = next((outputs.pop(MARGIN) for outputs in whole.values() if MARGIN in outputs), None)
    judge = Judge(examples=examples, margins=margins, precisions=checks[0].precisions)
    parities = [
        _compare(judge, check, whole[check.runner.name], check.against, whole)
        for check in checks
        if check.against is not None
    ]
    for check in checks:
        if check.activation is not None:
            parities += label_parities(check.runner.name, whole[check.runner.name], check.activation)
        if check.logits_of is not None:
            name = check.runner.name
            parities.append(probability_parity(name, whole[name], check.logits_of, whole[check.logits_of]))
    judged, refused = _judge_probes(judge, probes, probed, whole)
    notes = list(refused)
    notes += [_undecided(parity) for parity in (*parities, *judged) if parity.undecided]
    notes += [remark for parity in (*parities, *judged) if (remark := parity.remark())]
    scored = {check.runner.name: whole[check.runner.name] for check in checks if check.scored}
    return Verification(
        parities=(*parities, *judged),
        scores=_scores(scored, examples, seed) if examples.labelled else (),
        notes=tuple(notes),
        refused=tuple(refused),
        quality=_quality(scored, examples, numbers) if examples.labelled else (),
    )


def _apart(checks: Sequence[Check]) -> list[Check]:
    """The checks in the order of their start: float files that are not kept, of which one is loaded at a time, have
    others between them.
    """
    scored, others = ([check for check in checks if check.scored is wanted] for wanted in (True, False))
    return scored[:1] + [check for pair in zip_longest(others, scored[1:]) for check in pair if check is not None]


def _rows(values: Feed) -> int:
    return len(next(iter(values.values())))


def _first(feed: Feed, most: int | None, done: int = 0) -> Feed:
    """The rows of a feed that a check still needs."""
    if most is None or _rows(feed) <= most - done:
        return feed
    return {name: values[: most - done] for name, values in feed.items()}


def _compare(judge: Judge, check: Check, outputs: Outputs, reference: str, whole: Mapping[str, Outputs]) -> Parity:
    return judge.compare(
        check.runner.name, outputs, reference, whole[reference], limit=check.limit, relative=check.relative
    )


def _undecided(parity: Parity) -> str:
    return (
        f"{parity.candidate}: {parity.undecided} of {parity.rows + parity.undecided} rows are undecided: "
        f"the last token that {parity.reference} keeps and the first that it drops differ by rounding only, "
        "and the answers differ."
    )


def _scores(outputs: dict[str, Outputs], examples: Examples, seed: int) -> tuple[StageScore, ...]:
    reference = next(iter(outputs.values()))
    scores = {}
    for name, rows in outputs.items():
        own = examples.score(rows, seed=seed)
        scores[name] = replace(own, more={**own.more, **examples.compared(rows, reference)})
    first = next(iter(scores.values()))
    return tuple(StageScore(stage=name, score=value, drop=first.value - value.value) for name, value in scores.items())


def _quality(outputs: dict[str, Outputs], examples: Examples, numbers: Sequence[int]) -> tuple[StageQuality, ...]:
    answers = {
        name: Answers(judged=examples.judge(rows), decisions=examples.decisions(rows)) for name, rows in outputs.items()
    }
    return qualities(answers, numbers)


def _attempt(probe: Check, feed: Feed) -> Outputs | str:
    try:
        return probe.runner(_first(feed, probe.most or _PROBED_ROWS))
    except RunnerError as error:
        return str(error)


def _judge_probes(
    judge: Judge, probes: Sequence[Check], answers: Sequence[Outputs | str], outputs: dict[str, Outputs]
) -> tuple[list[Parity], list[str]]:
    parities, notes = [], []
    for probe, answer in zip(probes, answers, strict=True):
        if isinstance(answer, str):
            notes.append(f"Not verified there: {answer}")
            continue
        reference = probe.against or next(iter(outputs))
        parity = _compare(judge, probe, answer, reference, outputs)
        parities.append(parity)
        if not _is_same_model(parity):
            notes.append(f"{probe.runner.name} answers something else than {reference}: do not ship the file for it.")
    return parities, notes


def _is_same_model(parity: Parity) -> bool:
    if parity.argmax_agreement is None:  # a score: zeros differ from it by its whole size
        return parity.max_abs <= _SAME_MODEL * parity.scale
    return parity.argmax_agreement >= _SAME_MODEL
