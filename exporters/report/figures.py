"""The numbers of a report as people read them: terminal, Markdown and HTML all take them from here."""

from collections.abc import Mapping
from dataclasses import dataclass

from exporters.report.report import FileRecord, Latency, Report, StageScore
from exporters.verification.quality import StageQuality
from models_tf.tasks.score import Score, metric_title, metric_unit

UNTRAINED = "untrained: random weights, for size and speed only"
_OF_VECTORS = ("nearest_neighbors", "mean_cosine")
LATENCY_NOTE = "One thread of the machine that exported, median; it ranks files, it does not predict a phone."


@dataclass(frozen=True, kw_only=True)
class FileLine:
    """A model file with its own accuracy and its time at its own length, where they were measured."""

    file: FileRecord
    stage: StageScore | None
    latency: Latency | None


def file_lines(report: Report) -> list[FileLine]:
    """One for each model file, in the order of the report."""
    length = report.model["max_seq_len"]
    times = {row.file: row for row in report.latency if row.seq_len == length}
    return [
        FileLine(
            file=file,
            stage=next((stage for stage in report.accuracy if stage.stage.startswith(file.name)), None),
            # A report made by hand may have other lengths only.
            latency=times.get(file.name) or next((row for row in report.latency if row.file == file.name), None),
        )
        for file in report.model_files()
    ]


def title(report: Report) -> str:
    return " ".join(filter(None, (report.model["name"], report.model.get("task"), report.quantize)))


def verdict(report: Report) -> str:
    return "passed" if report.passed else f"FAILED ({', '.join(sorted({failure.gate for failure in report.failures}))})"


def metric_name(report: Report) -> str:
    """Of the first stage, with its threshold where a text may have several labels."""
    if not report.accuracy:
        return ""
    score = report.accuracy[0].score
    return metric_title(score.metric, score.label_threshold)


def further_metrics(report: Report) -> tuple[str, ...]:
    """The names of what `more` of each score holds."""
    return tuple(report.accuracy[0].score.more) if report.accuracy else ()


def further_titles(report: Report) -> tuple[str, ...]:
    """The heads of their columns."""
    return tuple(map(metric_title, further_metrics(report)))


def of_vectors(report: Report) -> tuple[str, ...]:
    """The metrics that compare vectors with those of the reference; none for other tasks."""
    return tuple(name for name in _OF_VECTORS if name in further_metrics(report))


def points(score: Score) -> str:
    return f"{score.value:.2f}{metric_unit(score.metric)}"


def interval(score: Score) -> str:
    """The 95 % interval; nothing where none is known."""
    return "" if score.interval is None else "{:.2f} to {:.2f}".format(*score.interval)


def change(stage: StageScore) -> str:
    """Against the reference, in points."""
    return f"{0.0 - stage.drop:+.2f}"


def count(value: int | None) -> str:
    return "" if value is None else f"{value:,}"


def milliseconds(value: float) -> str:
    return f"{value:.3f}"


def quartiles(row: Latency) -> str:
    return "" if row.quartiles_ms is None else "{:.3f} to {:.3f}".format(*row.quartiles_ms)


def short_size(size: int) -> str:
    """Three digits, for headlines; 1 KB is 1024 bytes, as in `--max-size`."""
    for unit in ("bytes", "KB", "MB", "GB"):
        if size < 1000 or unit == "GB":
            break
        size /= 1024  # type: ignore[assignment]
    return f"{size} bytes" if unit == "bytes" else f"{size:.3g} {unit}"


def zero_share(file: FileRecord) -> str:
    return f"{100 * (file.zero_weights or 0.0):.1f} %"


def most_flipped(report: Report) -> StageQuality | None:
    """The stage with most answers that differ from the reference; None if there are none at all."""
    found = [one for one in report.quality if one.flipped is not None and one.flipped.total]
    return max(found, key=lambda one: one.flipped.total if one.flipped else 0, default=None)


def compared_qualities(report: Report) -> list[StageQuality]:
    """Before and after: the reference and the first file, if that answers anything else."""
    by_name = {one.stage: one for one in report.quality}
    lines = file_lines(report)
    stage = lines[0].stage if lines else None
    after = by_name.get(stage.stage) if stage is not None else None
    if after is not None and after.same_as is not None:
        after = by_name[after.same_as]
    found = [*report.quality[:1], *([] if after is None else [after])]
    return found[:1] if len(found) == 2 and found[0] is found[1] else found


def counts(found: Mapping[str, int]) -> str:
    """Names with how often they occur, the most frequent first."""
    return ", ".join(f"{name} {number}" for name, number in sorted(found.items(), key=lambda one: (-one[1], one[0])))


def runtime_plan(file: FileRecord) -> str:
    """What the runtime does with the file, in words; nothing if it was not asked."""
    plan = file.runtime_plan
    if plan is None:
        return ""
    if plan["problem"]:
        return str(plan["problem"])
    if plan["partitions"] is not None:
        taken, left = (sum(plan[name].values()) for name in ("delegated", "kept"))
        pieces = f"{plan['partitions']} partition{'s' * (plan['partitions'] != 1)}"
        return f"{plan['delegate']} takes {taken} of {taken + left} operators in {pieces}"
    fused = {name.removeprefix("com.microsoft."): number for name, number in plan["fused"].items()}
    return f"fused: {counts(fused)}" if fused else "nothing fused"
