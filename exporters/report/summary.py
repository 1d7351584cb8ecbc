"""What the export command prints at the end."""

from exporters.formats import zeros
from exporters.report import figures
from exporters.report.compression import compression_line
from exporters.report.report import Report
from exporters.report.tables import Table
from models_tf.tasks.score import metric_title


def blocks(report: Report) -> list[str | Table]:
    """Lines and a table; the verdict comes last, where a terminal leaves the eye."""
    found: list[str | Table] = []
    if "compression" in report.model:
        found.append(f"compressed: {compression_line(report.model['compression'])}")
    if report.accuracy:
        first = report.accuracy[0]
        score = f"{figures.metric_name(report)} {figures.points(first.score)}{_interval(figures.interval(first.score))}"
        found.append(f"{first.stage:<34} {score}, n = {first.score.n}")
    found.append(_files(report))
    flips = _flips(report)
    if flips:
        found.append(flips)
    vectors = _vectors(report)
    if vectors:
        found.append(vectors)
    float_rows = [row.max_abs / row.scale for row in report.parity if row.limit]
    if float_rows:
        relative = " of the largest answer" if any(row.scale != 1 for row in report.parity if row.limit) else ""
        found.append(f"{'float parity, largest difference':<34} {max(float_rows):.1e}{relative}")
    if any(file.compressed_bytes is not None for file in report.files):
        found.append(f"note: {zeros.NOTE}")
    found += [f"note: {note}" for note in report.notes]
    untrained = "" if report.model.get("trained", True) else f" ({figures.UNTRAINED})"
    found.append(f"{figures.verdict(report)}{untrained}: {report.output}")
    return found


def _interval(text: str) -> str:
    return f" (95 % interval {text})" if text else ""


def _files(report: Report) -> Table:
    rows: list[tuple[str, ...]] = []
    metric = figures.metric_name(report)
    for line in figures.file_lines(report):
        file, stage = line.file, line.stage
        score = (
            (figures.points(stage.score), figures.interval(stage.score), figures.change(stage)) if stage else ("",) * 3
        )
        time = "" if line.latency is None else figures.milliseconds(line.latency.median_ms)
        measured = score if metric else ()
        rows.append((file.name, figures.count(file.size_bytes), figures.count(file.gzip_bytes), *measured, time))
        if file.compressed_bytes is not None:
            name = f"  compressed; {figures.zero_share(file)} of the weights are zero"
            rows.append((name, figures.count(file.compressed_bytes), *("",) * (len(rows[0]) - 2)))
    header = ("file", "bytes", "gzip", *((metric, "95 % interval", "change") if metric else ()), "ms")
    return Table(header=header, rows=rows)


def _vectors(report: Report) -> str:
    """How near the vectors of the file that changed most are to the reference's."""
    names = figures.of_vectors(report)
    if not names or len(report.accuracy) < 2:
        return ""
    worst = min(report.accuracy[1:], key=lambda stage: stage.score.more[names[-1]])
    shown = ", ".join(f"{metric_title(name)} {worst.score.more[name]:.2f}" for name in names)
    return f"{'vectors beside the reference':<34} {shown} in {worst.stage}"


def _flips(report: Report) -> str:
    """How many answers quantization changed, of the file that changed most."""
    worst = figures.most_flipped(report)
    if worst is None or worst.flipped is None:
        return ""
    flips = worst.flipped
    return f"{'answers that changed':<34} {flips.total} ({flips.worse} worse, {flips.better} better) in {worst.stage}"
