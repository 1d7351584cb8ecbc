"""report.md: the verdict and the table of files first, short enough for a comment on a pull request; details fold away.

Text of users (labels, texts, paths, the command) goes through `escaping.py`.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from exporters.console.cleaning import clean_line
from exporters.explanation import text as explain_text
from exporters.explanation.chart import CHART
from exporters.formats import zeros
from exporters.report import figures, tables
from exporters.report.compression import compression_line
from exporters.report.escaping import markdown_code, markdown_text
from exporters.report.report import Report
from exporters.verification.quality import Flip

_SHOWN_FLIPS, _SHOWN_CONFUSIONS = 10, 5
# Texts in a comment; report.html shows more of them.
_LONGEST_TEXT = 120


def markdown(report: Report) -> str:
    """The whole document."""
    parts = [f"# {markdown_text(figures.title(report))}", _headline(report), _files(report)]
    if report.failures:
        parts += [
            "## Failed",
            _list(f"{failure.gate}: {markdown_text(failure.message)}" for failure in report.failures),
        ]
    if report.notes:
        parts += ["## Notes", _list(map(markdown_text, report.notes))]
    parts += _flips(report)
    parts += _folded("Accuracy", _accuracy(report) if report.accuracy else "Not measured.", *_confusions(report))
    parts += _folded("Parity", "Differences of logits on the same rows, from the files on disk.", _parity(report))
    if report.latency:
        note = f"{figures.LATENCY_NOTE} CPU: {markdown_text(report.latency_cpu)}."
        parts += _folded("Latency", note, _latency(report))
    parts += _explained(report)
    parts += _folded("Inside the files", _sizes(report), _inside(report), *_zeros(report))
    parts += _folded("How it was made", *_made(report))
    return "\n\n".join(parts) + "\n"


def _headline(report: Report) -> str:
    """The verdict and three numbers: of the first file, which the table names first."""
    parts = [f"**{figures.verdict(report)}**"]
    lines = figures.file_lines(report)
    if lines:
        first = lines[0]
        parts.append(f"{figures.count(first.file.size_bytes)} bytes")
        if first.stage is not None:
            parts.append(
                f"{figures.metric_name(report)} {figures.points(first.stage.score)} ({figures.change(first.stage)})"
            )
        if first.latency is not None:
            parts.append(f"{figures.milliseconds(first.latency.median_ms)} ms")
    if not report.model.get("trained", True):
        parts.append(f"**{figures.UNTRAINED}**")
    return " · ".join(parts)


def _files(report: Report) -> str:
    metric = figures.metric_name(report)
    rows = []
    for line in figures.file_lines(report):
        stage = line.stage
        score = (
            (figures.points(stage.score), figures.interval(stage.score), figures.change(stage)) if stage else ("",) * 3
        )
        time = "" if line.latency is None else figures.milliseconds(line.latency.median_ms)
        sizes = figures.count(line.file.size_bytes), figures.count(line.file.gzip_bytes)
        rows.append((line.file.name, *sizes, *(score if metric else ()), time))
    header = ("file", "bytes", "gzip", *((metric, "95 % interval", "change") if metric else ()), "ms")
    return tables.markdown(header, rows)


def _flips(report: Report) -> list[str]:
    """Of the file with most of them."""
    worst = figures.most_flipped(report)
    if worst is None or worst.flipped is None:
        return []
    flips = worst.flipped
    what = f"{flips.total} answers of {worst.stage} changed: {flips.worse} worse, {flips.better} better."
    rows = [_flip(flip) for flip in flips.shown[:_SHOWN_FLIPS]]
    return ["## Changed answers", what, tables.markdown(("row", "text", "label", "before", "after"), rows)]


def _flip(flip: Flip) -> tuple[str, ...]:
    text = flip.text if len(flip.text) <= _LONGEST_TEXT else flip.text[: _LONGEST_TEXT - 1] + "…"
    return str(flip.row), *(markdown_code(part) for part in (text, flip.label, flip.before, flip.after))


def _accuracy(report: Report) -> str:
    rows = []
    for stage in report.accuracy:
        exact = "" if stage.score.exact_match is None else f" (exact match {stage.score.exact_match:.2f})"
        more = [f"{number:.2f}" for number in stage.score.more.values()]
        value = figures.points(stage.score) + exact
        rows.append(
            (stage.stage, value, figures.interval(stage.score), figures.change(stage), str(stage.score.n), *more)
        )
    names = figures.further_titles(report)
    return tables.markdown(("stage", figures.metric_name(report), "95 % interval", "change", "n", *names), rows)


def _confusions(report: Report) -> list[str]:
    last = next(iter(figures.compared_qualities(report)[-1:]), None)
    if last is None or last.confusion is None or not last.confusion.top:
        return []
    rows = [
        (markdown_code(one.label), markdown_code(one.answer), str(one.count))
        for one in last.confusion.top[:_SHOWN_CONFUSIONS]
    ]
    return [f"Most frequent confusions of {last.stage}:", tables.markdown(("label", "answer", "rows"), rows)]


def _explained(report: Report) -> list[str]:
    """Of models that drop tokens: some texts, and what is left of them in each layer."""
    if not report.explained:
        return []
    drawings = []
    for text in report.explained:
        lines = [*explain_text.drawing(text), *explain_text.notes(text)]
        drawings.append("\n".join(map(clean_line, lines)).replace("```", "'''"))  # a text may hold what ends a block
    what = f"Tokens that go on from each layer of the float model. {explain_text.LEGEND}."
    return ["## Words", what, f"![words that go on]({CHART})", *(f"```\n{drawn}\n```" for drawn in drawings)]


def _parity(report: Report) -> str:
    rows = [
        (
            row.candidate,
            row.reference,
            f"{row.max_abs:.2e}",
            f"{row.mean_abs:.2e}",
            "" if row.argmax_agreement is None else f"{100 * row.argmax_agreement:.2f} %",
            "" if row.limit is None else "equal" if row.limit == 0 else f"{row.limit:.3g}",
            "" if row.limit is None else "yes" if row.passed else "**no**",
        )
        for row in report.parity
    ]
    return tables.markdown(("file", "against", "max-abs", "mean-abs", "same argmax", "limit", "holds"), rows)


def _latency(report: Report) -> str:
    rows = [
        (row.file, str(row.seq_len), figures.milliseconds(row.median_ms), figures.quartiles(row), str(row.runs))
        for row in report.latency
    ]
    return tables.markdown(("one row of", "tokens", "ms", "quartiles", "runs"), rows)


def _sizes(report: Report) -> str:
    rows = [
        (
            file.name,
            figures.count(file.size_bytes),
            figures.count(file.gzip_bytes),
            figures.count(file.parameters),
            figures.count(file.weight_bytes),
            f"`{file.sha256[:16]}`",
        )
        for file in report.files
    ]
    return tables.markdown(("file", "bytes", "gzip", "parameters", "weights", "sha256"), rows)


def _inside(report: Report) -> str:
    rows = [
        (
            file.name,
            figures.counts(file.ops),
            figures.counts(file.dtypes),
            figures.runtime_plan(file),
            file.min_runtime or "",
        )
        for file in report.model_files()
    ]
    return tables.markdown(("file", "ops", "tensors", "in the runtime", "oldest runtime"), rows)


def _zeros(report: Report) -> list[str]:
    """Of pruned files: what is stored, dense and compressed."""
    files = [file for file in report.files if file.compressed_bytes is not None]
    rows = [
        (file.name, figures.zero_share(file), figures.count(file.size_bytes), figures.count(file.compressed_bytes))
        for file in files
    ]
    return [zeros.NOTE, tables.markdown(("file", "zero weights", "stored", "compressed"), rows)] if rows else []


def _made(report: Report) -> list[str]:
    data = report.data
    facts = [
        ("command", markdown_code(report.command)),
        *((name, markdown_text(value)) for name, value in model_facts(report.model)),
        ("measured on", markdown_text(f"{data['eval_rows']} rows of {data['eval_source']}")),
        ("calibrated on", markdown_text(f"{data['calibration_rows']} rows of {data['calibration_source']}")),
        ("seed", str(report.seed)),
        *((f"limit {key}", "not asked for" if value is None else str(value)) for key, value in report.gates.items()),
    ]
    inputs = [(one.role, markdown_code(one.path), f"`{one.sha256[:16]}`") for one in report.inputs]
    return [
        tables.markdown(("", ""), facts),
        *([tables.markdown(("input", "file", "sha256"), inputs)] if inputs else []),
        tables.markdown(("package", "version"), [(name, markdown_text(one)) for name, one in report.versions.items()]),
        tables.markdown(("stage", "s"), [(key, f"{value:.1f}") for key, value in report.seconds.items()]),
    ]


def model_facts(model: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The model in plain words, for Markdown and HTML."""
    rows = [
        ("labels", str(model["num_labels"])),
        ("parameters", f"{model['parameters']:,}"),
        ("tokens", str(model["max_seq_len"])),
    ]
    if model.get("retention"):
        rows.append(("tokens kept", f"{' '.join(map(str, model['retention']))}, by {model['retention_by']}"))
    if "max_bytes" in model:
        rows.append(("bytes of a text", str(model["max_bytes"])))
    if "features" in model:
        return [*rows, ("features", f"{model['feature_size']} ({model['features']})")]
    removed = [("compressed", compression_line(model["compression"]))] if "compression" in model else []
    return [
        ("weights", "trained" if model["trained"] else figures.UNTRAINED),
        *removed,
        *rows,
        ("inputs", ", ".join(model["inputs"])),
        ("rewrites", f"{model['fold']}: {', '.join(model['rewrites']) or 'none'}"),
        ("mask value", f"{model['mask_value']:g}"),
    ]


def _folded(title: str, *parts: str) -> list[str]:
    return [f"<details><summary><b>{title}</b></summary>", *parts, "</details>"]


def _list(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)
