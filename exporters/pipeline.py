"""`export`: one model, from a checkpoint to verified files with a report.

The whole job in order; each step is its own module. Only this and the command touch the file system.
"""

import dataclasses
from contextlib import ExitStack

from exporters.console.progress import Progress
from exporters.data import rows
from exporters.formats import artifacts, trials
from exporters.model_card import card
from exporters.report.inputs import input_records
from exporters.report.report import Report
from exporters.report.versions import cpu_name, versions
from exporters.request import ExportRequest
from exporters.request_fields import check_request
from exporters.request_record import to_record
from exporters.self_test import document
from exporters.sources import base as sources
from exporters.verification import gate, inspection, latency, min_runtime, verify
from models_tf import extras, memory
from models_tf.errors import naming_fields
from models_tf.folders.output_folder import OutputFolder
from quantize.recipe import RECIPES


@naming_fields()
def export(request: ExportRequest, *, progress: Progress | None = None, command: str = "") -> Report:
    """Convert, quantize, verify, measure, report.

    The output folder appears complete, or not at all when an error is raised. A failed gate is not an error: the files
    are written and the report says so (`report.passed`, `report.raise_for_failures()`).

    Args:
        request: which model, recipe, formats and rows, and where to write.
        progress: shows the stages; by default nothing is shown.
        command: the command line, for the report.

    Raises:
        InputError: the checkpoint, the rows or the output folder cannot be used; in one line.
        ExportError: a runtime cannot run a file that was made; in one line, and nothing is written.
    """
    check_request(request, ExportRequest)
    extras.require(extras.EXPORT, "An export")
    progress = progress or Progress(quiet=True)
    recipe = RECIPES[request.quantize]
    with (
        OutputFolder(request.output_folder, command="export", force=request.force, inputs=request.inputs) as folder,
        ExitStack() as until_written,
    ):
        with progress.stage("read checkpoint and rows"):
            source = sources.load(request)
            data = source.rows(calibrate=recipe.needs_calibration)
            inputs = input_records(request, source.files, data)

        with progress.stage("load TensorFlow, build model"):
            until_written.enter_context(memory.set_aside("tensorflow", "tf_keras"))
            model, source_notes = source.build(data).on_disk(folder.scratch), source.notes
        del source
        memory.give_back()

        kept, references = _make(request, model, data, folder, progress)

        with progress.stage("try files"):
            trials.try_files([*references, *kept], lambda name: next(iter(model.timed_rows(name).values())))
        with progress.stage("inspect files"):
            records, problems = inspection.inspect(kept)
            beside = model.side_files(kept)
            records += inspection.others([folder.write(name, content) for name, content in beside.items()])
            artifacts.forget(kept)
        progress.release()  # input, recipe and disk have proved fine

        with progress.stage(f"verify on {rows.count(data, request.kind)}"):
            verified = verify.verify(
                *model.checks(references, kept), data.evaluation, seed=request.seed, numbers=data.numbers
            )
            explained = model.explain(data)
            described = model.describe()
            examples = document.examples_file(model.worked_examples(data), kept, verified.parities, model=described)
            records += inspection.others([folder.write(document.FILE, examples)])
            model.forget()

        with progress.stage("measure latency"):
            times, not_timed = latency.latencies(kept, model.timed_rows, own=described["max_seq_len"])

        report = Report(
            model=described,
            quantize=recipe.name,
            target=request.target,
            output=str(request.output_folder),
            command=command,
            seed=request.seed,
            data=data.describe(),
            files=records,
            accuracy=verified.scores,
            parity=verified.parities,
            latency=times,
            latency_cpu=cpu_name(),
            gates={"max_drop": request.max_drop, "max_size_bytes": request.max_size_bytes},
            failures=gate.judge(request, verified, files=records, scheme_problems=problems),
            notes=(
                *source_notes,
                *data.notes,
                *rows.few_rows(data),
                *min_runtime.notes(request, refused=bool(verified.refused)),
                *verified.notes,
                *not_timed,
                *gate.remarks(verified),
            ),
            versions=versions(),
            seconds=dict(progress.seconds),
            request=to_record(request),
            explained=explained,
            inputs=inputs,
            quality=verified.quality,
        )
        for name, text in report.documents().items():
            folder.write(name, text)
        folder.write(card.FILE, card.of_export(report, kept, beside))
        folder.commit()
    return report


def _make(
    request: ExportRequest, model: sources.Built, data: rows.Rows, folder: OutputFolder, progress: Progress
) -> tuple[list[artifacts.Placed], list[artifacts.Placed]]:
    """The files that are kept, and those that are only compared with: one format at a time."""
    recipe, is_float = RECIPES[request.quantize], request.quantize == artifacts.FLOAT.name
    calibration = rows.calibration_feeds(data, model.graph.input_names)
    kept, references = list[artifacts.Placed](), list[artifacts.Placed]()
    for target in artifacts.usable(request.target, artifacts.FLOAT, recipe):
        with progress.stage(f"convert to {target.name}"):
            converted = artifacts.convert(
                dataclasses.replace(model.graph, strip_names=request.strip_names, io=request.io), target
            )
            memory.give_back()  # the graph is gone, and its weights with it
            if is_float:
                made = converted.quantize(recipe)
            else:
                references += artifacts.place(converted.references(), folder.scratch_write)
        if not is_float:
            with progress.stage(f"quantize {target.name}: {recipe.name}"):
                made = converted.quantize(recipe, calibration)
        kept += artifacts.place([one for one in made if model.is_kept(one.graph)], folder.write)
        references += artifacts.place([one for one in made if not model.is_kept(one.graph)], folder.scratch_write)
        del converted, made  # from here on, only the files on disk count
        min_runtime.check(kept, request)
        artifacts.forget(kept)
    return kept, references
