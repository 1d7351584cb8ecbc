"""`compare`: reports side by side. Reads nothing but the reports: no model file is opened."""

from collections.abc import Iterator, Sequence

from exporters.comparison import frontier
from exporters.comparison.candidate import Candidate
from exporters.comparison.frontier import Limits
from exporters.comparison.reading import read_reports
from exporters.comparison.request import CompareRequest
from exporters.comparison.result import Comparison
from exporters.request_fields import check_request
from models_tf.errors import InputError, naming_fields


@naming_fields()
def compare(request: CompareRequest) -> Comparison:
    """Compare the model files of several exports.

    Args:
        request: the export folders or reports, and the limits within which files are picked.

    Raises:
        InputError: a report cannot be read, the reports have different metrics, or no file is left to compare.
    """
    check_request(request, CompareRequest)
    found = [one for one in read_reports(request.reports) if not request.target or one.target in request.target]
    if not found:
        wanted = f" for {', '.join(request.target)}" if request.target else ""
        raise InputError(f"compare needs reports with model files{wanted}. Received: none in {len(request.reports)}.")
    limits = Limits(
        max_size_bytes=request.max_size_bytes,
        max_latency_ms=request.max_latency_ms,
        min_accuracy=request.min_accuracy,
    )
    metric = _metric(found)
    picks = frontier.picks(found, limits)
    return Comparison(
        metric=metric,
        candidates=tuple(found),
        frontier=tuple(frontier.frontier(found)),
        limits=limits,
        picks=picks,
        notes=tuple(_notes(found, picks)),
    )


def _metric(found: Sequence[Candidate]) -> str | None:
    """The one metric of all; two of them have no common axis."""
    metrics = {one.accuracy.metric: one for one in found if one.accuracy is not None}
    if len(metrics) > 1:
        received = ", ".join(f"{metric} ({one.source.name})" for metric, one in metrics.items())
        raise InputError(f"compare needs reports with one metric. Received: {received}. Compare those of one task.")
    return next(iter(metrics), None)


def _notes(found: Sequence[Candidate], picks: dict[str, int]) -> Iterator[str]:
    sources = list({one.source.path: one.source for one in found}.values())
    measured = list({one.source.path: one.source for one in found if one.accuracy is not None}.values())
    if len({source.data for source in measured}) > 1:
        shown = "; ".join(f"{source.name}: {source.data_source}" for source in measured)
        yield f"The accuracies were measured on different data, so they do not rank the files: {shown}."
    if len({source.cpu for source in sources}) > 1:
        yield f"The times are of different machines, so they do not rank the files: {_each(sources, 'cpu')}."
    if len({source.seq_len for source in sources}) > 1:
        yield f"The files take different numbers of tokens: {_each(sources, 'seq_len')}."
    for name, measure in (("accuracy", "accuracy"), ("latency", "latency_ms")):
        missing = [one.name for one in found if getattr(one, measure) is None]
        if missing and len(missing) < len(found):
            yield f"Without {name}, and so not judged for the frontier: {', '.join(missing)}."
    for source in sources:
        if not source.passed:
            yield f"{source.name} failed a gate of its export."
        if not source.trained:
            yield f"{source.name} has random weights: its size and times are real, its answers are not."
    if not picks:
        yield "No file is within all limits."


def _each(sources: Sequence[object], field: str) -> str:
    return "; ".join(f"{source.name}: {getattr(source, field)}" for source in sources)  # type: ignore[attr-defined]
