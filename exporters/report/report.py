"""`Report`: what one export measured, as values. report.json is this, word for word.

How it reads for people is in `text.py` and `html.py`; what makes a failure is in `verification/gate.py`.
"""

import dataclasses
import json
from dataclasses import dataclass, field
from typing import Any

from exporters.errors import GATES, exit_code
from exporters.explanation.run import ExplainedText
from exporters.report.inputs import InputRecord
from exporters.report.json_lists import short_lists
from exporters.verification.evaluate import Score
from exporters.verification.parity import Parity
from exporters.verification.quality import StageQuality

# Changes with the meaning of a field. A new field changes the schema of the version, `schema/report-2.json`.
REPORT_VERSION = 2
# The layer that is none: operators, shapes, scales, names.
GRAPH = "graph"
FORMAT = f"export-mobile-report/{REPORT_VERSION}"


@dataclass(frozen=True, kw_only=True)
class Failure:
    """A gate that did not hold."""

    gate: str
    message: str


@dataclass(frozen=True, kw_only=True)
class LayerBytes:
    """Bytes of one layer, as `export-mobile inspect` finds it; `GRAPH` is all that is no constant."""

    name: str
    bytes: int


@dataclass(frozen=True, kw_only=True)
class FileRecord:
    """A file of the output folder. The fields after `gzip_bytes` are for model files, `compressed_bytes` only where
    many of the weights are zero. The bytes of `layers` add up to `size_bytes`.
    """

    name: str
    size_bytes: int
    sha256: str
    gzip_bytes: int | None = None
    target: str | None = None
    graph: str | None = None
    parameters: int | None = None
    weight_bytes: int | None = None
    overhead_bytes: int | None = None
    zero_weights: float | None = None  # share of the weights
    compressed_bytes: int | None = None
    ops: dict[str, int] = field(default_factory=dict)
    dtypes: dict[str, int] = field(default_factory=dict)
    min_runtime: str | None = None
    layers: tuple[LayerBytes, ...] = ()
    # What the runtime does with the file: partitions, operators that a delegate takes or that were fused.
    runtime_plan: dict[str, Any] | None = None


@dataclass(frozen=True, kw_only=True)
class StageScore:
    """Accuracy of one implementation; `drop` is what it lost against the Keras model, in points."""

    stage: str
    score: Score
    drop: float


@dataclass(frozen=True, kw_only=True)
class Latency:
    """Median time of one row and its quartiles, in milliseconds, on one thread of the machine that exported."""

    file: str
    seq_len: int
    median_ms: float
    runs: int
    quartiles_ms: tuple[float, float] | None = None


@dataclass(frozen=True, kw_only=True)
class Report:
    """The outcome of an export. `passed` is false when a gate did not hold; the files are written all the same."""

    model: dict[str, Any]
    quantize: str
    target: tuple[str, ...]
    output: str
    command: str
    seed: int
    data: dict[str, Any]
    files: tuple[FileRecord, ...]
    accuracy: tuple[StageScore, ...]
    parity: tuple[Parity, ...]
    latency: tuple[Latency, ...]
    latency_cpu: str
    gates: dict[str, Any]
    failures: tuple[Failure, ...]
    notes: tuple[str, ...]
    versions: dict[str, str]
    seconds: dict[str, float]
    request: dict[str, Any] = field(default_factory=dict)  # as `request_record` writes it: the export can be made again
    explained: tuple[ExplainedText, ...] = ()  # of models that drop tokens: some rows, and which words went on
    inputs: tuple[InputRecord, ...] = ()
    quality: tuple[StageQuality, ...] = ()
    report_version: int = REPORT_VERSION

    @property
    def passed(self) -> bool:
        return not self.failures

    @property
    def exit_code(self) -> int:
        """That of the most fundamental failure, in the order of `errors.GATES`."""
        return exit_code(failure.gate for failure in self.failures)

    def raise_for_failures(self) -> None:
        """For Python callers that want an exception: raises that of the most fundamental failure, naming all."""
        failed = {failure.gate for failure in self.failures}
        for kind in GATES:
            if kind.gate in failed:
                raise kind("; ".join(failure.message for failure in self.failures))

    def model_files(self) -> tuple[FileRecord, ...]:
        return tuple(file for file in self.files if file.target)

    def to_dict(self) -> dict[str, Any]:
        values = dataclasses.asdict(self)
        for row, parity in zip(values["parity"], self.parity, strict=True):
            row["passed"] = parity.passed
        return {"format": FORMAT, "passed": self.passed, "exit_code": self.exit_code, **values}

    def to_json(self) -> str:
        return short_lists(json.dumps(_finite(self.to_dict()), indent=2, ensure_ascii=False))

    def to_markdown(self) -> str:
        from exporters.report.text import markdown

        return markdown(self)

    def to_html(self) -> str:
        """A page of its own: no file beside it, no network. Needs the extra `export`, which draws the charts."""
        from exporters.report.html import page

        return page(self)

    def documents(self) -> dict[str, str]:
        """The files that hold the report."""
        found = {"report.json": self.to_json() + "\n", "report.md": self.to_markdown(), "report.html": self.to_html()}
        if self.explained:
            from exporters.explanation.chart import CHART, svg

            found[CHART] = svg(self.explained)
        return found

    def summary(self) -> str:
        """What the command prints, as plain text."""
        from exporters.report.summary import blocks
        from exporters.report.tables import plain

        return plain(blocks(self))


def _finite(value: Any) -> Any:
    """JSON has no infinity: null stands for it."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if isinstance(value, float) and value - value != 0:
        return None
    return value
