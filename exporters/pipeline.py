"""`export`: one model, from a checkpoint folder to verified files with a report.

The whole job in order; each step is a module of its own. Only this and the command touch the file system.
"""

from exporters.console.progress import Progress
from exporters.data import rows
from exporters.formats import artifacts
from exporters.report.report import Report
from exporters.report.versions import cpu_name, versions
from exporters.request import ExportRequest
from exporters.sources import base as subject
from exporters.verification import gate, inspection, verify
from exporters.verification import latency as bench
from models_tf import extras
from models_tf.folders.output_folder import OutputFolder
from quantize.recipe import RECIPES


def export(request: ExportRequest, *, progress: Progress | None = None, command: str = "") -> Report:
    """Convert, quantize, verify, measure, report.

    The output folder appears complete, or not at all when an error is raised. A gate that does not hold is not an error:
    the files are written and the report says so (`report.passed`, `report.raise_for_failures()`).

    Args:
        request: which model, recipe, formats and rows, and where to.
        progress: shows the stages; by default nothing is shown.
        command: what the report says it was made with.

    Raises:
        InputError: the checkpoint, the rows or the output folder cannot be used; in one line.
    """
    extras.require(extras.EXPORT, "An export")
    progress = progress or Progress(quiet=True)
    recipe, is_float = RECIPES[request.quantize], request.quantize == artifacts.FLOAT.name
    with OutputFolder(request.output_folder, command="export", force=request.force, inputs=request.inputs) as folder:
        with progress.stage("read checkpoint and rows"):
            source = subject.load(request)
            data = source.rows(calibrate=recipe.needs_calibration)

        with progress.stage("load TensorFlow, build model"):
            model = source.build(data)

        with progress.stage("convert to " + " and ".join(request.target)):
            converted = artifacts.convert(model.graph, request.target)
            floats = artifacts.build(converted, artifacts.FLOAT, model.graph)

        with progress.stage(f"quantize: {recipe.name}"):
            calibration = rows.calibration_feeds(data, model.graph.input_names)
            files = floats if is_float else artifacts.build(converted, recipe, model.graph, calibration)

        with progress.stage("write and inspect files"):
            references = [] if is_float else [(file, folder.scratch_write(file.name, file.content)) for file in floats]
            placed = [(file, folder.write(file.name, file.content)) for file in files]
            beside = model.side_files(placed)
            for name, content in beside.items():
                folder.write(name, content)
            records, problems = inspection.inspect(placed, recipe, others=tuple(beside))
        progress.release()  # what can be wrong with the input, the recipe or the disk has had its say

        with progress.stage(f"verify on {rows.count(data, request.kind)}"):
            verified = verify.verify(*model.checks(references, placed), data.evaluation, seed=request.seed)
            explained = model.explain(data)

        with progress.stage("measure latency"):
            described = model.describe()
            latency, not_timed = bench.latencies(files, model.timed_rows, own=described["max_seq_len"])

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
            latency=latency,
            latency_cpu=cpu_name(),
            gates={"max_drop": request.max_drop, "max_size_bytes": request.max_size_bytes},
            failures=gate.judge(request, verified, files=records, scheme_problems=problems),
            notes=(*data.notes, *rows.few_rows(data), *verified.notes, *not_timed, *gate.remarks(verified)),
            versions=versions(),
            seconds=dict(progress.seconds),
            explained=explained,
        )
        for name, text in report.documents().items():
            folder.write(name, text)
        folder.commit()
    return report
