"""`ledger`: the same rows through every runtime that is installed, each in a process of its own, compared by file."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from exporters.console.progress import Progress
from exporters.ledgers import keras
from exporters.ledgers.request import LedgerRequest
from exporters.ledgers.result import NOT_RUN, RAN, REFERENCE, REFUSED, Entry, Ledger
from exporters.ledgers.runtimes import RUNTIMES, Runtime
from exporters.request_fields import check_request
from exporters.runtimes import agreement, rules
from exporters.runtimes.row_jobs import Answer
from exporters.shipped import prepared
from exporters.shipped.bundled import bundled_rows
from exporters.shipped.inputs import Feeds
from exporters.shipped.model import REPORT_FILE, model_files
from exporters.shipped.prepared import Prepared
from models_tf.checkpoints.json_text import read_json_file
from models_tf.errors import InputError, naming_fields
from models_tf.spec import IDS
from models_tf.tasks.rows import Columns

_KERAS = "Keras"


@naming_fields()
def ledger(request: LedgerRequest, *, progress: Progress | None = None) -> Ledger:
    """Run every file of an export in every runtime that reads its format.

    A disagreement is not an error: see `result.passed` and `result.raise_for_failures()`. A runtime that refuses a file
    fails only where the file was meant for it (`exporters/runtimes/rules.py`).

    Args:
        request: which export and rows.
        progress: shows the runtimes as they are asked; by default nothing is shown.

    Raises:
        InputError: the folder, a file or the rows cannot be used; in one line.
    """
    check_request(request, LedgerRequest)
    progress = progress or Progress(quiet=True)
    paths = model_files(request.folder)
    folder = paths[0].parent
    data = request.data or bundled_rows(folder)
    columns = Columns(text=request.text_column, pair=request.text_pair_column, label=request.label_column)
    with progress.stage("read rows"):
        files = [
            prepared.prepare(
                path, data=data, rows=request.rows, columns=columns, label_separator=request.label_separator
            )
            for path in paths
        ]
    with progress.stage("run the references"):
        references = prepared.references(files)
    with progress.stage("run Keras"):
        trained = keras.answers(folder, _canonical(files))
    records = [runtime.record() for runtime in RUNTIMES]
    entries: list[Entry] = []
    for runtime, record in zip(RUNTIMES, records, strict=True):
        own = [number for number, one in enumerate(files) if rules.reads(runtime.kind, one.file)]
        if record.missing or not own:
            continue
        with progress.stage(f"run {record.title}"):
            if runtime.is_reference:
                answers = [references[number] for number in own]
            else:
                answers = runtime.run([files[number] for number in own])
        for number, answer in zip(own, answers, strict=True):
            entries.append(_entry(files[number], runtime, answer, references[number], trained))
    order = {path.name: place for place, path in enumerate(paths)}
    entries.sort(key=lambda entry: order[entry.file])
    return Ledger(
        folder=request.folder.name,
        model=_model(folder),
        data=files[0].inputs.source if data is None else Path(data).name,
        rows=len(files[0].inputs.rows),
        runtimes=tuple(records),
        entries=tuple(entries),
        keras=trained if isinstance(trained, str) else "",
        notes=tuple(_notes(files, trained)),
    )


def _entry(
    one: Prepared,
    runtime: Runtime,
    answer: Answer,
    reference: Answer,
    trained: Sequence[Mapping[str, np.ndarray]] | str,
) -> Entry:
    reason = rules.not_for(runtime.kind, one.file)
    limit, _ = one.limit(reference.rows)
    if answer.error:
        # Only our own side may be lacking: a compiler for the op.
        status = NOT_RUN if answer.error.startswith("needs ") else REFUSED
        return Entry(
            file=one.path.name,
            runtime=runtime.name,
            status=status,
            meant=not reason,
            reason=reason,
            message=answer.error,
            tolerance=limit,
            passed=bool(reason) or status == NOT_RUN,
        )
    found = agreement.compare(
        reference.rows, answer.rows, tolerance=limit, lengths=one.inputs.lengths, multi_label=one.multi_label
    )
    within = found.within(limit)
    message = "" if within else f"expected at most {limit:.4g} from the reference. Received: {found.max_abs:.4g}"
    if found.flipped:
        message += f"{'; ' if message else ''}{found.flipped} labels differ beyond a tie"
    return Entry(
        file=one.path.name,
        runtime=runtime.name,
        status=REFERENCE if runtime.is_reference else RAN,
        meant=not reason,
        reason=reason,
        message=message,
        tolerance=limit,
        max_abs=found.max_abs,
        mean_abs=found.mean_abs,
        labels=found.labels,
        same=found.same,
        close=found.close,
        keras_same=_keras_same(trained, answer, one),
        passed=within or bool(reason),
    )


def _keras_same(trained: Sequence[Mapping[str, np.ndarray]] | str, answer: Answer, one: Prepared) -> int | None:
    if isinstance(trained, str):
        return None
    shared = [
        {name: values for name, values in row.items() if name in found}
        for row, found in zip(trained, answer.rows, strict=True)
    ]
    lengths = one.inputs.lengths
    return agreement.compare(shared, answer.rows, tolerance=0.0, lengths=lengths, multi_label=one.multi_label).same


def _canonical(files: Sequence[Prepared]) -> Feeds:
    """The rows as the Keras model takes them: of a file that takes features or ids, if there is one."""
    best = max(files, key=lambda one: len(one.feeds.rows[0]) + (IDS in one.feeds.rows[0]))
    return best.feeds


def _model(folder: Path) -> str:
    path = folder / REPORT_FILE
    if not path.is_file():
        return ""
    document = read_json_file(path)
    model = document.get("model") if isinstance(document, dict) else None
    if not isinstance(model, dict):
        raise InputError(f"{path} must be the report of an export. Received: another kind of JSON.")
    return " ".join(str(model[name]) for name in ("name", "task") if model.get(name))


def _notes(files: Sequence[Prepared], trained: object) -> list[str]:
    notes = []
    if isinstance(trained, str):
        notes.append(f"{_KERAS} was not asked: {trained}")
    if any(one.tolerance is None for one in files):
        notes.append("Without the examples.json of an export, 2 % of the range of the answers are the tolerance.")
    return notes
