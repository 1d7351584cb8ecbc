"""`check_arch`: exported files on an emulated phone processor, compared with this machine. Needs no TensorFlow."""

import hashlib
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from exporters.arch_check import baseline
from exporters.arch_check.baseline import Counts
from exporters.arch_check.request import DEFAULT_RATIO, CheckArchRequest
from exporters.arch_check.result import ArchFile, CheckArchResult, Run, RuntimeVerdict
from exporters.checking.baseline import check_place, data_sha256
from exporters.console.progress import Progress
from exporters.errors import InstructionsError, ParityError
from exporters.request_fields import check_request
from exporters.runtimes import agreement, arm64, rules
from exporters.runtimes.row_jobs import Answer, Job
from exporters.shipped import prepared
from exporters.shipped.inputs import EXAMPLES_FILE
from exporters.shipped.model import model_files
from exporters.shipped.prepared import OP_LIBRARIES, Prepared
from models_tf.errors import InputError, naming_fields
from models_tf.ops.projection import tflite_loader
from models_tf.tasks.rows import Columns


@naming_fields()
def check_arch(request: CheckArchRequest, *, progress: Progress | None = None) -> CheckArchResult:
    """Run every file in every runtime that takes it, and compare answers with this machine's and cost with a baseline.

    A difference is not an error: see `result.passed` and `result.raise_for_failures()`. A file that crashes an emulated
    runtime is a failed verdict.

    Args:
        request: which files, rows and baseline.
        progress: shows the files as they are run; by default nothing is shown.

    Raises:
        InputError: the emulator is not set up, or a file, the rows or the baseline cannot be used; in one line.
    """
    check_request(request, CheckArchRequest)
    progress = progress or Progress(quiet=True)
    paths = model_files(request.model)
    arm64.need()
    with progress.stage("read rows"):
        files = [_prepared(path, request) for path in paths]
    sha256 = _rows_sha256(request, paths)
    if request.update_baseline and request.baseline is not None:
        check_place(request.baseline)  # before anything runs
    known = _known(request, sha256)
    with progress.stage("run on this processor"):
        expected = prepared.references(files)
    plugin = arm64.counting_plugin()
    runs: list[list[tuple[Run, Answer | None]]] = [[] for _ in files]
    for runtime in arm64.RUNTIMES:
        with progress.stage(f"run in {rules.TITLES[runtime]} on {request.arch}"):
            for number, run, answer in _runs(files, runtime, plugin if isinstance(plugin, Path) else None):
                runs[number].append((run, answer))
    made = [
        _judge(one, reference, own, request, known) for one, reference, own in zip(files, expected, runs, strict=True)
    ]
    notes = _notes(made, known, plugin)
    if request.update_baseline and request.baseline is not None:
        gone = baseline.write(request.baseline, request.arch, _counts(made, sha256, request.rows))
        if gone:
            notes.append(f"The baseline had instructions of {', '.join(gone)} on other rows: they are gone.")
    return CheckArchResult(
        arch=request.arch,
        processor=arm64.PROCESSOR,
        emulator=_emulator(),
        files=tuple(made),
        data=files[0].inputs.source,
        compared="" if request.update_baseline else str(request.baseline or ""),
        updated=str(request.baseline) if request.update_baseline else "",
        notes=tuple(notes),
    )


def _prepared(path: Path, request: CheckArchRequest) -> Prepared:
    columns = Columns(text=request.text_column, pair=request.text_pair_column, label=request.label_column)
    return prepared.prepare(
        path, data=request.data, rows=request.rows, columns=columns, label_separator=request.label_separator
    )


def _runs(files: Sequence[Prepared], runtime: str, plugin: Path | None) -> list[tuple[int, Run, Answer | None]]:
    """One emulated process for all files of the runtime."""
    version = arm64.wheels()[arm64.DISTRIBUTIONS[runtime]]
    title = rules.TITLES[runtime]
    jobs, skipped = dict[int, Job](), dict[int, str]()
    for number, one in enumerate(files):
        if not rules.reads(runtime, one.file):
            continue
        library = _library(one, runtime, version) if one.needs_op else None
        reason = rules.not_for(runtime, one.file) or (library if isinstance(library, str) else "")
        if reason:
            skipped[number] = reason
        else:
            jobs[number] = one.job(library if isinstance(library, Path) else None)
    answers = arm64.run_rows(list(jobs.values()), runtime=runtime, plugin=plugin) if jobs else []
    found: list[tuple[int, Run, Answer | None]] = [
        (number, Run(runtime=title, version=version, skipped=reason), None) for number, reason in skipped.items()
    ]
    for number, answer in zip(jobs, answers, strict=True):
        run = Run(runtime=title, version=version, error=answer.error, instructions=answer.instructions)
        found.append((number, run, answer))
    return found


def _library(one: Prepared, runtime: str, version: str) -> Path | str:
    """The op enters TFLite runtimes by private ABI: only into versions that it was run with."""
    table = tflite_loader.RUNTIMES.get(runtime)
    if table is not None and ".".join(version.split(".")[:2]) not in table.known_versions:
        return f"the projection op was not tested with {table.distribution} {version}"
    return arm64.projection_library(OP_LIBRARIES[one.file.format])


def _judge(
    one: Prepared,
    reference: Answer,
    runs: Sequence[tuple[Run, Answer | None]],
    request: CheckArchRequest,
    known: Counts | None,
) -> ArchFile:
    limit, origin = one.limit(reference.rows)
    made, verdicts = [], []
    for run, answer in runs:
        found = run
        if run.error:
            message = f"expected the answers of this machine. Received: {run.error}"
            verdicts.append(RuntimeVerdict(gate=ParityError.gate, passed=False, message=message, runtime=run.runtime))
        elif answer is not None:
            compared = agreement.compare(
                reference.rows,
                answer.rows,
                tolerance=limit,
                lengths=one.inputs.lengths,
                multi_label=one.multi_label,
            )
            before = None if known is None else known.files.get(one.path.name, {}).get(run.runtime)
            ratio = None if before is None or run.instructions is None else run.instructions / before
            found = Run(
                runtime=run.runtime,
                version=run.version,
                max_abs=compared.max_abs,
                mean_abs=compared.mean_abs,
                labels=compared.labels,
                same=compared.same,
                close=compared.close,
                instructions=run.instructions,
                ratio=ratio,
            )
            verdicts.append(_parity(found, compared, limit))
            if before is not None and ratio is not None:
                verdicts.append(_instructions(found, before, ratio, request))
        made.append(found)
    return ArchFile(
        name=one.path.name,
        sha256=one.sha256,
        size_bytes=one.file.size_bytes,
        rows=len(one.inputs.rows),
        tolerance=limit,
        tolerance_from=origin,
        runs=tuple(made),
        verdicts=tuple(verdicts),
    )


def _parity(run: Run, compared: agreement.Agreement, limit: float) -> RuntimeVerdict:
    labels = "no labels"
    if compared.labels:
        labels = f"{compared.same} of {compared.labels} labels equal, {compared.close} too near a tie to judge"
    message = f"expected at most {limit:g} from this machine's answers. Received: {compared.max_abs:.4g}; {labels}"
    return RuntimeVerdict(gate=ParityError.gate, passed=compared.within(limit), message=message, runtime=run.runtime)


def _instructions(run: Run, before: int, ratio: float, request: CheckArchRequest) -> RuntimeVerdict:
    limit = request.max_instruction_ratio or DEFAULT_RATIO
    message = (
        f"expected at most {limit:g} times the {before:,} instructions of the baseline. "
        f"Received: {run.instructions:,}, {ratio:.3f} times"
    )
    return RuntimeVerdict(gate=InstructionsError.gate, passed=ratio <= limit, message=message, runtime=run.runtime)


def _rows_sha256(request: CheckArchRequest, paths: Sequence[Path]) -> str:
    """Instructions depend on the length of the row: those of other rows are no comparison."""
    if request.data is not None:
        return data_sha256(request.data)
    return hashlib.sha256((paths[0].parent / EXAMPLES_FILE).read_bytes()).hexdigest()


def _known(request: CheckArchRequest, sha256: str) -> Counts | None:
    if request.baseline is None or request.update_baseline:
        return None
    known = baseline.read(request.baseline, request.arch)
    if known.rows != request.rows:
        raise InputError(
            f"--rows must be as in the baseline, {known.rows or 'all'}. Received: {request.rows or 'all'}. "
            "Write a new baseline with --update-baseline."
        )
    if request.data is not None and known.sha256 != sha256:
        raise InputError(
            f"--data must be the rows of the baseline, with SHA-256 {known.sha256[:12]}…. "
            f"Received: {request.data} with {sha256[:12]}…. Write a new baseline with --update-baseline."
        )
    return known


def _counts(files: Sequence[ArchFile], sha256: str, rows: int | None) -> Counts:
    counts: Mapping[str, Mapping[str, int]] = {
        file.name: {run.runtime: run.instructions for run in file.runs if run.instructions is not None}
        for file in files
    }
    versions = {run.runtime: run.version for file in files for run in file.runs}
    return Counts(sha256=sha256, rows=rows, versions=versions, files=counts)


def _notes(files: Sequence[ArchFile], known: Counts | None, plugin: Path | str) -> list[str]:
    notes = []
    if isinstance(plugin, str):
        notes.append(f"Instructions were not counted: {plugin}.")
    if known is not None:
        new = [file.name for file in files if file.name not in known.files]
        if new:
            notes.append(f"The baseline has no instructions of {', '.join(new)}: write them with --update-baseline.")
        now = {run.runtime: run.version for file in files for run in file.runs}
        changed = [
            f"{name} {one} then, {now[name]} now" for name, one in known.versions.items() if now.get(name, one) != one
        ]
        if changed:
            notes.append(f"Other versions than in the baseline: {'; '.join(changed)}.")
    return notes


def _emulator() -> str:
    done = subprocess.run([arm64.EMULATOR, "--version"], capture_output=True, text=True, check=False)
    return (done.stdout.splitlines() or [arm64.EMULATOR])[0]
