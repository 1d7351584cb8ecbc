"""The gate: which of the measured values fail the run. Collects all failures, not only the first."""

from collections.abc import Iterable, Sequence

from exporters.errors import AccuracyError, ParityError, SchemeError, SizeError
from exporters.parity import Parity
from exporters.report import Failure, FileRecord, StageScore

# 100 * (1 - 278/280) and 100 * 2/280 differ in the last bits.
_ROUNDING = 1e-9


def judge(
    *,
    parities: Iterable[Parity],
    scheme_problems: Iterable[str],
    scores: Sequence[StageScore],
    files: Iterable[FileRecord],
    max_drop: float | None,
    max_size_bytes: int | None,
) -> tuple[Failure, ...]:
    """Failures in the order of their weight. Parity and scheme are always judged, the others when asked for."""
    failures = [Failure(gate=ParityError.gate, message=parity.failure()) for parity in parities if not parity.passed]
    failures += [Failure(gate=SchemeError.gate, message=problem) for problem in scheme_problems]
    if max_drop is not None:
        failures += [
            Failure(
                gate=AccuracyError.gate,
                message=f"{stage.stage}: expected a drop of at most {max_drop:g} points. Received: {stage.drop:.2f} "
                f"({stage.score.value:.2f} % of {stage.score.n} rows).",
            )
            for stage in scores
            if not stage.drop <= max_drop + _ROUNDING
        ]
    if max_size_bytes is not None:
        failures += [
            Failure(
                gate=SizeError.gate,
                message=f"{file.name}: expected at most {max_size_bytes} bytes. Received: {file.size_bytes}.",
            )
            for file in files
            if file.target and file.size_bytes > max_size_bytes
        ]
    return tuple(failures)
