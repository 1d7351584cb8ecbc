"""The model card: what the model is, how to call it, how good it is, what it cannot do. Filled from the report.

Everything that a user or a file named is escaped. Leaves out what only the data's owner knows: how it was collected,
who it is for.
"""

import functools
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from exporters.formats.artifacts import Placed
from exporters.formats.model_file import Signature, TensorInfo
from exporters.formats.tensor_names import FEATURES, TEXT
from exporters.formats.texts import takes_bytes
from exporters.model_card import calls
from exporters.model_card.front_matter import front_matter, pipeline_tag, shipped_stages
from exporters.report import figures, tables
from exporters.report.escaping import markdown_code, markdown_text
from exporters.report.report import Report
from models_tf.tasks.judged import CORRELATIONS
from models_tf.tasks.score import metric_title

FILE = "README.md"
_SHOWN_LABELS = 20
_WHAT = {
    "text-classification": "classifies texts",
    "token-classification": "tags the words of a text",
    "question-answering": "finds the answer to a question in a passage",
    "feature-extraction": "turns texts into vectors",
    "sentence-similarity": "turns a text into one vector; the cosine of two vectors says how similar the texts are",
}
_TEXTS = {
    "token-classification": '["some", "words"], is_pretokenized=True',
    "question-answering": '"a question", "a passage"',
}
_CHECK = (
    "`export-mobile verify .` compares every file with `manifest.json`. `examples.json` has 16 inputs with the answers "
    "of each file and a tolerance, for a self-test on the device."
)
_SEVERAL = (
    "A text may have several labels, or none: each label has a probability of its own, the sigmoid of its logit. A "
    "logit of 0 is a probability of 0.5."
)
_LICENSE = "The license of the weights is not known to the exporter: `--license` and `--language` write them here."


def of_export(report: Report, placed: Sequence[Placed], beside: Mapping[str, str | bytes]) -> str:
    """The card of an export that is written now; `beside` are the files beside the models."""
    labels = str(beside.get("labels.txt", "")).split("\n")[:-1]  # not splitlines(): a label may hold U+2028
    return model_card(report, {one.name: next(iter(one.file.signatures.values())) for one in placed}, labels)


def model_card(report: Report, files: Mapping[str, Signature], labels: Sequence[str]) -> str:
    """README.md. `files` are the model files with the first signature of each, `labels` those of `labels.txt`."""
    model, trained = report.model, bool(report.model.get("trained", True))
    task = str(model.get("task") or "")
    name = "-".join(filter(None, (model["name"], task, report.quantize)))
    parts = [
        front_matter(report, name=name, task=task),
        f"# {markdown_text(name)}",
        _about(report, task, labels),
        "## Files",
        _files(report),
        "## Inputs and outputs",
        _interface(files),
        *_beside(files, trained=trained),
        *(_use(report, files, task) if trained else []),
        "## Accuracy",
        *_accuracy(report),
        "## Limits",
        _list(_limits(report, files)),
        "## Check it",
        _CHECK,
    ]
    return "\n\n".join(parts) + "\n"


def _about(report: Report, task: str, labels: Sequence[str]) -> str:
    model, pipeline = report.model, pipeline_tag(task)
    what = "predicts a number for a text" if task == "regression" else _WHAT[pipeline]
    version = report.versions.get("export-mobile", "")
    lines = [
        f"A {markdown_text(model['name'])} model that {what}: {model['parameters']:,} parameters, at most "
        f"{model['max_seq_len']} tokens, recipe {markdown_text(report.quantize)}. Exported to "
        f"{' and '.join(report.target)} with export-mobile {markdown_text(version)}".rstrip()
        + ("; every check passed." if report.passed else "; **a gate FAILED**, see `report.md`.")
    ]
    if not model.get("trained", True):
        lines.append("**The weights are random: for size and speed only.**")
    if labels and task != "regression":
        shown = ", ".join(markdown_text(label) for label in labels[:_SHOWN_LABELS])
        more = f" and {len(labels) - _SHOWN_LABELS} more (`labels.txt`)" if len(labels) > _SHOWN_LABELS else ""
        lines.append(f"{len(labels)} labels: {shown}{more}.")
    if _gives_several(report):
        lines.append(_SEVERAL)
    return "\n\n".join(lines)


def _files(report: Report) -> str:
    length = report.model["max_seq_len"]
    times = {row.file: f"{row.median_ms:.3f}" for row in report.latency if row.seq_len == length}
    rows = [
        (markdown_text(file.name), f"{file.size_bytes:,}", times.get(file.name, ""), _text(file.min_runtime))
        for file in report.model_files()
    ]
    header = ("file", "bytes", f"ms at {length} tokens", "oldest runtime")
    about = (
        f"Times: median of one row on one thread of {markdown_text(report.latency_cpu)}; they do not predict a phone."
    )
    return f"{tables.markdown(header, rows)}\n\n{about}"


def _interface(files: Mapping[str, Signature]) -> str:
    rows = [
        (markdown_text(name), ", ".join(map(_tensor, one.inputs)), ", ".join(map(_tensor, one.outputs)))
        for name, one in files.items()
    ]
    return tables.markdown(("file", "inputs", "outputs"), rows)


def _tensor(info: TensorInfo) -> str:
    scale = "" if info.scale is None else f", scale {info.scale:.6g}, zero point {info.zero_point}"
    return markdown_text(f"{info.name}: {info.dtype} ({', '.join(map(str, info.shape))}){scale}")


def _beside(files: Mapping[str, Signature], *, trained: bool) -> list[str]:
    """What an app must do before it can feed the files."""
    inputs = [info for one in files.values() for info in one.inputs]
    names = {info.name for info in inputs}
    lines = []
    if any(map(takes_bytes, inputs)):
        lines.append(
            "`text` of type uint8 is the UTF-8 bytes of one text, with zeros behind it where the size is fixed. These "
            "files compute the features by builtin operators and run in stock runtimes."
        )
    if FEATURES in names:
        lines.append("`projection.json` says how a text becomes features, for files that take these.")
    if _needs_op(files):
        lines.append("Files that take `text` as a string hold one custom op, which the app must register.")
    if not names & {FEATURES, TEXT}:
        known = "`model.json` and the tokenizer's files say how a text becomes ids."
        lines.append(known if trained else "There is no tokenizer: `model.json` says which ids there are.")
    if any(info.scale is not None for one in files.values() for info in one.outputs):
        lines.append("An int8 output `q` stands for `(q - zero_point) * scale`.")
    return lines


def _use(report: Report, files: Mapping[str, Signature], task: str) -> list[str]:
    longest = report.model["max_seq_len"]
    python = calls.python(
        files, max_seq_len=longest, text=_TEXTS.get(task, '"some text"'), multi_label=_gives_several(report)
    )
    kotlin = calls.kotlin(files, max_seq_len=longest)
    parts = ["### Python", *(f"```python\n{call}```" for call in python)] if python else []
    parts += [] if kotlin is None else ["### Kotlin", f"```kotlin\n{kotlin}```"]
    return ["## Use it", *parts] if parts else []


def _accuracy(report: Report) -> list[str]:
    if not report.accuracy:
        return ["Not measured."]
    further = figures.of_vectors(report)
    rows = [
        (
            markdown_text(stage.stage),
            figures.points(stage.score),
            figures.interval(stage.score),
            figures.change(stage),
            str(stage.score.n),
            *(f"{stage.score.more[name]:.2f}" for name in further),
        )
        for stage in shipped_stages(report)
    ]
    header = ("stage", figures.metric_name(report), "95 % interval", "change", "n", *map(metric_title, further))
    return [
        f"On {report.data['eval_rows']} rows of {markdown_code(Path(report.data['eval_source']).name)}.",
        tables.markdown(header, rows),
    ]


def _limits(report: Report, files: Mapping[str, Signature]) -> list[str]:
    length = report.model["max_seq_len"]
    size = report.model.get("max_bytes")
    found = [f"A text beyond {length} tokens{f' or {size} bytes' if size else ''} is cut."]
    if report.accuracy:
        n = report.accuracy[0].score.n
        share = f": one of them is {100 / n:.2f} points" if report.accuracy[0].score.metric not in CORRELATIONS else ""
        found.append(f"The accuracy is that of {n} rows{share}.")
    found.append("Other texts than those of the data, other languages among them, were not measured.")
    if _needs_op(files):
        found.append("Files that take text as a string need the projection op on the device.")
    found += [markdown_text(f"{failure.gate}: {failure.message}") for failure in report.failures]
    sources = [str(report.data[key]) for key in ("eval_source", "calibration_source") if key in report.data]
    for note in report.notes:  # without the folders of who exports
        named = functools.reduce(lambda text, source: text.replace(source, Path(source).name), sources, note)
        found.append(markdown_text(named))
    return found if report.request.get("license") else [*found, _LICENSE]


def _needs_op(files: Mapping[str, Signature]) -> bool:
    return any(info.name == TEXT and not takes_bytes(info) for one in files.values() for info in one.inputs)


def _gives_several(report: Report) -> bool:
    return bool(report.model.get("multi_label"))


def _text(value: str | None) -> str:
    return markdown_text(value or "")


def _list(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)
