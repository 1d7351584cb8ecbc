"""`Candidate`: one model file of a report, with what is compared; `Source`: the report it comes from."""

from dataclasses import dataclass

from models_tf.tasks import metrics


@dataclass(frozen=True, kw_only=True)
class Accuracy:
    """In points, with a 95 % interval."""

    metric: str
    value: float
    n: int
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class Source:
    """`name` is short and differs between the reports of one comparison; `data` is a hash, or a path where none is."""

    name: str
    path: str
    model: str
    quantize: str
    seq_len: int
    data: str
    data_source: str
    cpu: str
    passed: bool
    trained: bool


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A model file. `accuracy` and `latency_ms` are None where they were not measured."""

    source: Source
    file: str
    target: str
    size_bytes: int
    accuracy: Accuracy | None
    latency_ms: float | None

    @property
    def name(self) -> str:
        return f"{self.source.name}/{self.file}"


def interval(metric: str, value: float, n: int, standard_error: float) -> tuple[float, float]:
    """For reports that have none: of shares of rows by Wilson, of other metrics by their standard error."""
    if metric == "accuracy" and 0 <= value <= 100 and n > 0:
        return metrics.wilson(round(value / 100 * n), n)
    return value - metrics.Z * standard_error, value + metrics.Z * standard_error
