"""`check`: scores shipped files on labelled rows and judges them. Needs no TensorFlow."""

import dataclasses
import hashlib
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from exporters.checking import baseline as baselines
from exporters.checking import gates, speed
from exporters.checking.baseline import Baseline, Entry
from exporters.checking.paired import Drop, exact, resampled
from exporters.checking.request import CheckRequest
from exporters.checking.result import CheckedFile, CheckResult
from exporters.console.progress import Progress
from exporters.data.rows import Examples
from exporters.formats.isolated import IsolatedRunner
from exporters.formats.runners import Outputs, RunnerError, joined, with_logits
from exporters.request_fields import check_request
from exporters.shipped import rows as shipped_rows
from exporters.shipped.bundled import bundled_rows
from exporters.shipped.model import Shipped, model_files, open_one
from exporters.verification.quality import Flipped, flipped
from models_tf.bounded_files import what_is
from models_tf.errors import InputError, naming_fields
from models_tf.tasks.judged import CORRELATIONS, STATISTICS, Judged
from models_tf.tasks.rows import Columns
from models_tf.tasks.score import Score, metric_title

_CHUNK_ROWS = 256
_MOST_FLIPS = 10


@naming_fields()
def check(request: CheckRequest, *, progress: Progress | None = None) -> CheckResult:
    """Score every file, compare it with the baseline or the other file, judge the gates.

    A gate that fails is not an error: see `result.passed` and `result.raise_for_failures()`.

    Args:
        request: which files, rows, comparison and limits.
        progress: shows the files as they are scored; by default nothing is shown.

    Raises:
        InputError: a file, the rows, the baseline or what lies beside a file cannot be used; in one line.
    """
    check_request(request, CheckRequest)
    progress = progress or Progress(quiet=True)
    paths = model_files(request.model)
    data = _data(request, paths)
    sha256 = baselines.data_sha256(data)
    known = _known(request, data, sha256)
    kept = _kept(request, sha256)
    others = _others(request, paths)
    reader = _Rows(request=request, data=data)
    found, entries, notes = [], {}, list[str]()
    for path in paths:
        with progress.stage(f"score {path.name}"):
            shipped = open_one(path)
            examples = reader.read(shipped)
            other = others.get(path)
            entry = known.entry(path.name, Path(str(request.baseline))) if known is not None else None
            scored = _score(shipped, examples, reader=reader, other=other, entry=entry)
        found.append(scored.file)
        entries[path.name] = scored.entry
        notes += [note for note in (*examples.notes, *scored.notes) if note not in notes]
    if request.update_baseline and request.baseline is not None:
        made = Baseline(data_name=data.name, data_sha256=sha256, rows=request.rows, files={**kept, **entries})
        baselines.write(request.baseline, made)
    return CheckResult(
        files=tuple(found),
        data=str(data),
        data_sha256=sha256,
        compared="" if request.update_baseline else str(request.baseline or request.against or ""),
        updated=str(request.baseline) if request.update_baseline else "",
        notes=tuple(notes),
    )


@dataclass(frozen=True, kw_only=True)
class _Scored:
    file: CheckedFile
    entry: Entry
    notes: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class _Rows:
    """Reads the data file for each of the files."""

    request: CheckRequest
    data: Path
    _known: dict[str, Examples] = field(default_factory=dict, init=False)

    def read(self, shipped: Shipped) -> Examples:
        """Files that take the same rows share them: a large file is read once."""
        key = repr((shipped.folder, shipped.labels, shipped.multi_label, shipped.task, shipped.max_seq_len,
                    shipped.vocab_size, shipped.projection))  # fmt: skip
        if key not in self._known:
            self._known[key] = self._new(shipped)
        return self._known[key]

    def _new(self, shipped: Shipped) -> Examples:
        request = self.request
        columns = Columns(text=request.text_column, pair=request.text_pair_column, label=request.label_column)
        examples = shipped_rows.read(
            shipped,
            self.data,
            columns=columns,
            label_separator=request.label_separator,
            label_threshold=request.label_threshold,
        )
        if not examples.labelled:
            raise InputError(f"--data must have answers to score with. Received: {self.data}, which has none.")
        if request.rows is None or request.rows * examples.rows_each >= len(examples):
            return examples
        return examples.take(range(request.rows * examples.rows_each))


def _score(shipped: Shipped, examples: Examples, *, reader: _Rows, other: Path | None, entry: Entry | None) -> _Scored:
    request = reader.request
    timed = request.update_baseline or request.max_latency_ratio is not None
    with ExitStack() as open_files:
        own = _Open.of(shipped, examples, open_files)
        outputs = own.outputs()
        judged, score = own.judge(outputs, request.seed)
        before, second, beside = entry, None, tuple[str, ...]()
        if other is not None:
            opened = open_one(other)
            second = _Open.of(opened, reader.read(opened), open_files)
            reference = second.outputs()
            before = _entry(opened, *second.judge(reference, request.seed), None)
            beside = _beside(shipped, opened, own.examples.compared(outputs, reference))
        measured = speed.measure(own.times, None if second is None else second.times) if timed else None
    after = _entry(shipped, judged, score, None if measured is None else measured.speed)
    drop = None if before is None else _drop(before, after, judged, request, shipped.path.name)
    changed = None if before is None else _changed(before, judged)
    timing, notes = (None, ()) if measured is None else speed.compare(measured, None if entry is None else entry.speed)
    low, high = score.interval or (score.value, score.value)
    file = CheckedFile(
        name=shipped.path.name,
        sha256=hashlib.sha256(shipped.file.content).hexdigest(),
        size_bytes=shipped.file.size_bytes,
        metric=judged.metric,
        value=judged.value(),
        low=low,
        high=high,
        n=len(judged),
        verdicts=gates.judge(request, shipped, drop, timing),
        drop=drop,
        flips=() if changed is None else changed.shown[: min(changed.worse, _MOST_FLIPS)],
        flipped=0 if changed is None else changed.worse,
        timing=timing,
        more=_more(score),
        label_threshold=score.label_threshold,
    )
    return _Scored(file=file, entry=after, notes=(*beside, *notes))


@dataclass(frozen=True, kw_only=True)
class _Open:
    """A file that runs, and its rows."""

    run: IsolatedRunner
    examples: Examples

    @classmethod
    def of(cls, shipped: Shipped, examples: Examples, files: ExitStack) -> "_Open":
        return cls(run=files.enter_context(IsolatedRunner(shipped.path, inputs=shipped.inputs)), examples=examples)

    def outputs(self) -> Outputs:
        try:
            return joined([with_logits(self.run(feed)) for feed in self.examples.chunks(_CHUNK_ROWS)])
        except RunnerError as error:
            raise InputError(f"The file must run in its runtime. Received: {error}.") from error

    def judge(self, outputs: Outputs, seed: int) -> tuple[Judged, Score]:
        return self.examples.judge(outputs), self.examples.score(outputs, seed=seed)

    def times(self, rounds: int) -> Outputs:
        return self.run.times(next(iter(self.examples.chunks(1))), rounds)


def _more(score: Score) -> dict[str, float]:
    exact = {} if score.exact_match is None else {"exact_match": score.exact_match}
    return {**score.more, **exact}


def _drop(before: Entry, after: Entry, judged: Judged, request: CheckRequest, name: str) -> Drop:
    titles = [metric_title(one.metric, one.label_threshold) for one in (before, after)]
    if titles[0] != titles[1] or len(before.counts) != len(judged):
        raise InputError(
            f"{name} must be scored like what it is compared with: {titles[0]} of {len(before.counts)} rows. "
            f"Received: {titles[1]} of {len(judged)}."
        )
    limit = request.max_drop or 0.0
    if judged.right_or_wrong:
        return exact(before.counts[:, 0] > 0, judged.counts[:, 0] > 0, limit=limit)
    return resampled(before.counts, judged.counts, STATISTICS[judged.metric], limit=limit, seed=request.seed)


def _beside(shipped: Shipped, other: Shipped, found: Mapping[str, float]) -> tuple[str, ...]:
    """What is said of vectors beside those of the other file."""
    if not found:
        return ()
    figures = ", ".join(f"{name.replace('_', ' ')} {value:.2f} %" for name, value in found.items())
    return (f"{shipped.path.name} beside {other.path}: {figures}.",)


def _changed(before: Entry, judged: Judged) -> Flipped | None:
    """Answers that changed, the worse ones first. Every number of a regression changes a little: none of them flips."""
    if judged.metric in CORRELATIONS:
        return None
    return flipped(dataclasses.replace(judged, answers=before.answers, counts=before.counts), judged)


def _entry(shipped: Shipped, judged: Judged, score: Score, measured: baselines.Speed | None) -> Entry:
    return Entry(
        sha256=hashlib.sha256(shipped.file.content).hexdigest(),
        size_bytes=shipped.file.size_bytes,
        metric=judged.metric,
        value=judged.value(),
        answers=judged.answers,
        counts=judged.counts,
        speed=measured,
        label_threshold=score.label_threshold,
    )


def _data(request: CheckRequest, paths: Sequence[Path]) -> Path:
    if request.data is not None:
        if not request.data.is_file() and not request.data.is_dir():
            raise InputError(
                f"--data must be a file with labelled rows. Received: {request.data} ({what_is(request.data)})."
            )
        return request.data
    found = bundled_rows(paths[0].parent)
    if found is None:
        raise InputError(
            "A check needs rows with labels: give --data FILE. Only exports of a bundled model bring some."
        )
    return found


def _kept(request: CheckRequest, sha256: str) -> dict[str, Entry]:
    """What an update leaves alone. A baseline that cannot be written is found before the files run."""
    if request.baseline is None or not request.update_baseline:
        return {}
    baselines.check_place(request.baseline)
    return baselines.kept(request.baseline, sha256=sha256, rows=request.rows)


def _known(request: CheckRequest, data: Path, sha256: str) -> Baseline | None:
    if request.baseline is None or request.update_baseline:
        return None
    known = baselines.read(request.baseline)
    if known.data_sha256 != sha256:
        raise InputError(
            f"--data must be the rows of the baseline, {known.data_name} with SHA-256 {known.data_sha256[:12]}…. "
            f"Received: {data} with {sha256[:12]}…. Write a new baseline with --update-baseline."
        )
    if known.rows != request.rows:
        raise InputError(
            f"--rows must be as in the baseline, {known.rows or 'all'}. Received: {request.rows or 'all'}. "
            "Write a new baseline with --update-baseline."
        )
    return known


def _others(request: CheckRequest, paths: Sequence[Path]) -> dict[Path, Path]:
    """The file that each one is compared with: the one given, or that of the same name in the folder given."""
    if request.against is None:
        return {}
    against = model_files(request.against)
    if request.against.is_file():
        return dict.fromkeys(paths, against[0])
    named = {file.name: file for file in against}
    missing = [path.name for path in paths if path.name not in named]
    if missing:
        raise InputError(f"--against must hold {missing[0]} too. Received: {', '.join(named)} in {request.against}.")
    return {path: named[path.name] for path in paths}
