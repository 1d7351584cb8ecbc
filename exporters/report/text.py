"""The report for people: report.md, and the short summary that the command prints."""

from collections.abc import Iterable, Mapping
from typing import Any

from exporters.explanation import text as explain_text
from exporters.explanation.chart import CHART
from exporters.formats import zeros
from exporters.report import tables
from exporters.report.report import FileRecord, Report
from exporters.report.tables import Table
from models_tf.tasks.score import Score, metric_title, metric_unit

UNTRAINED = "untrained: random weights, for size and speed only"
LATENCY_NOTE = "One thread of the machine that exported, median; it ranks files, it does not predict a phone."


def markdown(report: Report) -> str:
    """report.md."""
    model = report.model
    parts = [
        f"# {model['name']} {model.get('task') or ''} {report.quantize}".replace("  ", " "),
        f"**{_verdict(report)}**",
        tables.markdown(
            ("", ""),
            [
                ("command", f"`{report.command}`"),
                *_model(model),
                ("measured on", f"{report.data['eval_rows']} rows of {report.data['eval_source']}"),
                ("calibrated on", f"{report.data['calibration_rows']} rows of {report.data['calibration_source']}"),
                ("seed", str(report.seed)),
            ],
        ),
    ]
    if report.failures:
        parts += ["## Failed", _list(f"{failure.gate}: {failure.message}" for failure in report.failures)]
    if report.notes:
        parts += ["## Notes", _list(report.notes)]
    parts += ["## Files", "Sizes in bytes; overhead is all that is not weights.", _files(report), *_zeros(report)]
    parts += ["## Accuracy", _accuracy(report) if report.accuracy else "Not measured."]
    parts += ["## Parity", "Differences of logits on the same rows, from the files on disk.", _parity(report)]
    if report.latency:
        parts += ["## Latency", f"{LATENCY_NOTE} CPU: {report.latency_cpu}.", _latency(report)]
    parts += _explained(report)
    parts += ["## Inside the files", _inside(report)]
    parts += [
        "## Gates",
        tables.markdown(("gate", "limit"), [(key, _plain(value)) for key, value in report.gates.items()]),
    ]
    parts += ["## Versions", tables.markdown(("package", "version"), list(report.versions.items()))]
    parts += [
        "## Time",
        tables.markdown(("stage", "s"), [(key, f"{value:.1f}") for key, value in report.seconds.items()]),
    ]
    return "\n\n".join(parts) + "\n"


def _model(model: Mapping[str, Any]) -> list[tuple[str, str]]:
    rows = [
        ("labels", str(model["num_labels"])),
        ("parameters", f"{model['parameters']:,}"),
        ("tokens", str(model["max_seq_len"])),
    ]
    if model.get("retention"):
        rows.append(("tokens kept", f"{' '.join(map(str, model['retention']))}, by {model['retention_by']}"))
    if "features" in model:
        return [*rows, ("features", f"{model['feature_size']} ({model['features']})")]
    removed = [("compressed", _compression(model["compression"]))] if "compression" in model else []
    return [
        ("weights", "trained" if model["trained"] else f"**{UNTRAINED}**"),
        *removed,
        *rows,
        ("inputs", ", ".join(model["inputs"])),
        ("rewrites", f"{model['fold']}: {', '.join(model['rewrites']) or 'none'}"),
        ("mask value", f"{model['mask_value']:g}"),
    ]


def _compression(record: Mapping[str, Any]) -> str:
    """What the export itself removed and added; the full record is in report.json."""
    before, after = record["parameters"]["before"], record["parameters"]["after"]
    layers, ghosts = record["layers"], record["ghosts"]
    parts = [
        f"{len(layers['kept'])} of {len(layers['kept']) + len(layers['dropped'])} layers",
        f"heads {' '.join(str(len(heads)) for heads in record['heads']['kept'])}",
        f"FFN {' '.join(map(str, record['neurons']['kept_counts']))}",
    ]
    if ghosts["heads"] or ghosts["folds"]:
        parts.append(f"ghosts {' '.join(map(str, ghosts['heads']))} and {' '.join(map(str, ghosts['folds']))}")
    if "shared_layers" in record:
        parts.append(f"layers share weights {' '.join(map(str, record['shared_layers']))}")
    for name, title in (("embedding", "word embedding"), ("vocabulary", "vocabulary")):
        if name in record:
            parts.append(f"{title} {record[name]['before']} -> {record[name]['after']}")
    if "retention" in record:
        parts.append(f"tokens by {record['retention']['by']} {' '.join(map(str, record['retention']['kept']))}")
    return f"{', '.join(parts)}; parameters {before:,} -> {after:,}, not trained since"


def blocks(report: Report) -> list[str | Table]:
    """What the command prints at the end."""
    found: list[str | Table] = []
    if "compression" in report.model:
        found.append(f"compressed: {_compression(report.model['compression'])}")
    if report.accuracy:
        first = report.accuracy[0]
        found.append(
            f"{first.stage:<34} {metric_title(first.score.metric)} {_points(first.score)}, n = {first.score.n}"
        )
    found.append(_summary_of_files(report))
    float_rows = [row.max_abs / row.scale for row in report.parity if row.limit]
    if float_rows:
        relative = " of the largest answer" if any(row.scale != 1 for row in report.parity if row.limit) else ""
        found.append(f"{'float parity, largest difference':<34} {max(float_rows):.1e}{relative}")
    if any(file.compressed_bytes is not None for file in report.files):
        found.append(f"note: {zeros.NOTE}")
    found += [f"note: {note}" for note in report.notes]
    untrained = "" if report.model.get("trained", True) else f" ({UNTRAINED})"
    found.append(f"{_verdict(report)}{untrained}: {report.output}")
    return found


def _summary_of_files(report: Report) -> Table:
    scores = {stage.stage: stage for stage in report.accuracy}
    rows, lines = [], []
    for file in report.model_files():
        stage = next((scores[name] for name in scores if name.startswith(file.name)), None)
        score = f"{stage.score.value:.2f}{metric_unit(stage.score.metric)}" if stage else ""
        change = f"{0.0 - stage.drop:+.2f}" if stage else ""
        rows.append((file.name, f"{file.size_bytes:,}", score, change))
        accuracy = (" " * (6 - len(f"{stage.score.value:.2f}")) + f"{score} ({change})") if stage else ""
        lines.append(f"{file.name:<34} {file.size_bytes:>9,} bytes  {accuracy}".rstrip())
        if file.compressed_bytes is not None:
            zero = f"{_percent(file)} of the weights are zero"
            rows.append((f"  compressed; {zero}", f"{file.compressed_bytes:,}", "", ""))
            lines.append(f"{'':<34} {file.compressed_bytes:>9,} compressed; {zero}")
    metric = metric_title(report.accuracy[0].score.metric) if report.accuracy else ""
    return Table(header=("file", "bytes", metric, "change" if metric else ""), rows=rows, plain=lines)


def _verdict(report: Report) -> str:
    return "passed" if report.passed else f"FAILED ({', '.join(sorted({failure.gate for failure in report.failures}))})"


def _files(report: Report) -> str:
    rows = [
        (
            file.name,
            f"{file.size_bytes:,}",
            _number(file.parameters),
            _number(file.weight_bytes),
            _number(file.overhead_bytes),
            f"`{file.sha256[:16]}`",
        )
        for file in report.files
    ]
    return tables.markdown(("file", "total", "parameters", "weights", "overhead", "sha256"), rows)


def _zeros(report: Report) -> list[str]:
    """Of pruned files: what is stored, dense and compressed."""
    files = [file for file in report.files if file.compressed_bytes is not None]
    rows = [(file.name, _percent(file), f"{file.size_bytes:,}", f"{file.compressed_bytes:,}") for file in files]
    return [zeros.NOTE, tables.markdown(("file", "zero weights", "stored", "compressed"), rows)] if rows else []


def _percent(file: FileRecord) -> str:
    return f"{100 * (file.zero_weights or 0.0):.1f} %"


def _accuracy(report: Report) -> str:
    rows = []
    for stage in report.accuracy:
        exact = "" if stage.score.exact_match is None else f" (exact match {stage.score.exact_match:.2f})"
        value = _points(stage.score) + exact
        more = [f"{number:.2f}" for number in stage.score.more.values()]
        rows.append((stage.stage, value, f"{stage.drop:+.2f}", str(stage.score.n), *more))
    first = report.accuracy[0].score
    names = map(metric_title, first.more)
    return tables.markdown(("stage", f"{metric_title(first.metric)}, standard error", "drop", "n", *names), rows)


def _explained(report: Report) -> list[str]:
    """Of models that drop tokens: some texts, and what is left of them in each layer."""
    if not report.explained:
        return []
    drawings = []
    for text in report.explained:
        lines = [*explain_text.drawing(text), *explain_text.notes(text)]
        drawings.append("\n".join(lines).replace("```", "'''"))  # a text may hold what ends a block
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
            "" if row.limit is None else "equal" if row.limit == 0 else f"{row.limit:g}",
            "" if row.limit is None else "yes" if row.passed else "**no**",
        )
        for row in report.parity
    ]
    return tables.markdown(("file", "against", "max-abs", "mean-abs", "same argmax", "limit", "holds"), rows)


def _latency(report: Report) -> str:
    lengths = sorted({row.seq_len for row in report.latency})
    times = {(row.file, row.seq_len): f"{row.median_ms:.3f}" for row in report.latency}
    names = list(dict.fromkeys(row.file for row in report.latency))
    rows = [(name, *(times.get((name, length), "") for length in lengths)) for name in names]
    return tables.markdown(("ms for one row", *(f"{length} tokens" for length in lengths)), rows)


def _inside(report: Report) -> str:
    rows = [
        (file.name, _counts(file.ops), _counts(file.dtypes), file.min_runtime or "") for file in report.model_files()
    ]
    return tables.markdown(("file", "ops", "tensors", "oldest runtime"), rows)


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def _points(score: Score) -> str:
    return f"{score.value:.2f}{metric_unit(score.metric)} ± {score.standard_error:.2f}"


def _number(value: int | None) -> str:
    return "" if value is None else f"{value:,}"


def _plain(value: object) -> str:
    return "not asked for" if value is None else str(value)


def _list(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)
