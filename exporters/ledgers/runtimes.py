"""The table of runtimes that a ledger asks, in the order of its columns: what each needs, and how it runs files."""

import functools
import importlib.metadata
import importlib.util
import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from exporters.ledgers.result import RuntimeRecord
from exporters.runtimes import arm64, litert_js, ort_web, row_jobs, rules
from exporters.runtimes.row_jobs import Answer
from exporters.shipped.prepared import OP_LIBRARIES, REFERENCES, Prepared
from models_tf.ops.projection import tflite_loader

_EMULATED, _WEB = "arm64, emulated", "WebAssembly"
_TFLITE_RUNTIME = "tflite-runtime (pip install 'export-mobile[tflite-runtime]')"


@dataclass(frozen=True, kw_only=True)
class Runtime:
    """`kind` is its name in `rules`. `missing` and `version` look now; `run` answers for each file."""

    name: str
    kind: str
    processor: str
    missing: Callable[[], str]
    version: Callable[[], str]
    run: Callable[[Sequence[Prepared]], list[Answer]]

    @property
    def title(self) -> str:
        return f"{rules.TITLES[self.kind]}{', ARM64' if self.processor == _EMULATED else ''}"

    @property
    def is_reference(self) -> bool:
        return self.name in REFERENCES.values()

    def record(self) -> RuntimeRecord:
        lacking = self.missing()
        return RuntimeRecord(
            name=self.name,
            title=self.title,
            processor=self.processor,
            version="" if lacking else self.version(),
            missing=lacking,
        )


def _here(runtime: str, files: Sequence[Prepared]) -> list[Answer]:
    return row_jobs.run_rows([one.here() for one in files], runtime=runtime)


def _elsewhere(run: Callable[[Sequence[row_jobs.Job]], list[Answer]], files: Sequence[Prepared]) -> list[Answer]:
    return run([one.job() for one in files])


def _emulated(runtime: str, files: Sequence[Prepared]) -> list[Answer]:
    libraries = [arm64.projection_library(OP_LIBRARIES[one.file.format]) if one.needs_op else None for one in files]
    lacking = {number: library for number, library in enumerate(libraries) if isinstance(library, str)}
    able = [number for number in range(len(files)) if number not in lacking]
    jobs = [files[number].job(library if isinstance(library := libraries[number], Path) else None) for number in able]
    answers = dict(zip(able, arm64.run_rows(jobs, runtime=runtime) if jobs else [], strict=True))
    return [answers.get(number) or Answer(error=lacking[number]) for number in range(len(files))]


def _openvino() -> str:
    return "" if importlib.util.find_spec("openvino") is not None else "openvino (pip install openvino)"


def _tflite_runtime() -> str:
    if tflite_loader.installed_version(rules.TFLITE_RUNTIME) is None:
        return _TFLITE_RUNTIME
    numpy = importlib.metadata.version("numpy")
    return "" if numpy.startswith("1.") else f"numpy below 2 for tflite-runtime (received {numpy})"


def _row(kind: str, distribution: str, missing: Callable[[], str] = str) -> Runtime:
    return Runtime(
        name=kind,
        kind=kind,
        processor=platform.machine(),
        missing=missing,
        version=functools.partial(importlib.metadata.version, distribution),
        run=functools.partial(_here, kind),
    )


def _arm_row(kind: str) -> Runtime:
    return Runtime(
        name=f"{kind}-arm64",
        kind=kind,
        processor=_EMULATED,
        missing=arm64.missing,
        version=lambda: arm64.wheels()[arm64.DISTRIBUTIONS[kind]],
        run=functools.partial(_emulated, kind),
    )


RUNTIMES = (
    _row(rules.LITERT, "ai-edge-litert"),
    _row(rules.TFLITE_RUNTIME, "tflite-runtime", _tflite_runtime),
    _arm_row(rules.LITERT),
    _arm_row(rules.TFLITE_RUNTIME),
    Runtime(
        name=rules.LITERT_JS,
        kind=rules.LITERT_JS,
        processor=_WEB,
        missing=litert_js.missing,
        version=litert_js.version,
        run=functools.partial(_elsewhere, litert_js.run_rows),
    ),
    _row(rules.ONNXRUNTIME, "onnxruntime"),
    _arm_row(rules.ONNXRUNTIME),
    Runtime(
        name=rules.ORT_WEB,
        kind=rules.ORT_WEB,
        processor=_WEB,
        missing=ort_web.missing,
        version=ort_web.version,
        run=functools.partial(_elsewhere, ort_web.run_rows),
    ),
    _row(rules.OPENVINO, "openvino", _openvino),
)
