"""`export`: one model, from a checkpoint folder to verified files with a report.

The whole job in order; each step is a module of its own. Only this and the command touch the file system.
"""

from exporters import artifacts, bench, checks, gate, inspection, rows, source
from exporters.output import OutputFolder
from exporters.progress import Progress
from exporters.report import Report
from exporters.request import ExportRequest
from exporters.verify import verify
from exporters.versions import cpu_name, versions
from quantize.recipe import RECIPES


def export(request: ExportRequest, *, progress: Progress | None = None, command: str = "") -> Report:
    """Export, quantize, verify, measure, report.

    The output folder appears complete, or not at all when an error is raised. A gate that does not hold is no error:
    the files are written and the report says so (`report.passed`, `report.raise_for_failures()`).
    """
    progress = progress or Progress(quiet=True)
    recipe = RECIPES[request.quantize]
    with OutputFolder(request.output_folder, force=request.force) as folder:
        with progress.stage("read checkpoint and rows"):
            origin = source.load(request)
            data = rows.load(
                request, labels=origin.labels, multi_label=origin.config.multi_label, calibrate=recipe.needs_calibration
            )
        with progress.stage("load TensorFlow, build model"):
            model = source.build(origin)
        with progress.stage("convert to " + " and ".join(request.target)):
            floats = artifacts.convert(model, request.target)
        with progress.stage(f"quantize: {recipe.name}"):
            projection = source.projection(origin)
            float_files = artifacts.build(floats, artifacts.FLOAT, projection.config)
            calibration = source.calibration(projection, data.calibration_texts)
            files = (
                float_files
                if recipe is artifacts.FLOAT
                else artifacts.build(floats, recipe, projection.config, calibration)
            )
        with progress.stage("write and inspect files"):
            placed = [(file, folder.write(file.name, file.content)) for file in files]
            helpers = [
                (file, folder.scratch_write(file.name, file.content)) for file in float_files if file not in files
            ]
            folder.write("labels.txt", "".join(label + "\n" for label in origin.labels))
            folder.write("projection.json", inspection.projection_json(projection, placed))
            records, problems = inspection.inspect(placed, recipe, others=("labels.txt", "projection.json"))
        with progress.stage(f"verify on {len(data.texts)} rows"):
            planned, probes = checks.plan(model, [*helpers, *placed])
            verified = verify(
                planned,
                data.texts,
                data.targets,
                project=source.projector(projection),
                probes=probes,
                seed=request.seed,
            )
        with progress.stage("measure latency"):
            latency = bench.latencies(files, config=projection.config, text=data.texts[0].encode())
        report = Report(
            model=source.describe(origin, request),
            quantize=recipe.name,
            target=request.target,
            output=str(request.output_folder),
            command=command,
            seed=request.seed,
            data=data.describe(),
            files=records,
            accuracy=verified.scores,
            parity=verified.parities,
            latency=tuple(latency),
            latency_cpu=cpu_name(),
            gates={"max_drop": request.max_drop, "max_size_bytes": request.max_size_bytes},
            failures=gate.judge(
                parities=verified.parities,
                scheme_problems=problems,
                scores=verified.scores,
                files=records,
                max_drop=request.max_drop,
                max_size_bytes=request.max_size_bytes,
            ),
            notes=(*data.notes, *verified.notes),
            versions=versions(),
            seconds=dict(progress.seconds),
        )
        folder.write("report.json", report.to_json() + "\n")
        folder.write("report.md", report.to_markdown())
        folder.commit()
    return report
