"""The gate: which of the measured values fail the run. Collects all failures, not only the first."""

from collections.abc import Iterable

from exporters.errors import AccuracyError, ExportError, ParityError, SchemeError, SizeError
from exporters.report.report import Failure, FileRecord
from exporters.request import ExportRequest
from exporters.verification.verify import Verification

# 100 * (1 - 278/280) and 100 * 2/280 differ in the last bits.
_ROUNDING = 1e-9
# A loss that deserves a line even when no limit was given.
_REMARKABLE_DROP = 1.0


def judge(
    request: ExportRequest, verified: Verification, *, files: Iterable[FileRecord], scheme_problems: Iterable[str]
) -> tuple[Failure, ...]:
    """Failures in the order of their weight. Parity and scheme are always judged, the others when asked for."""
    failures = [_failure(ParityError, parity.failure()) for parity in verified.parities if not parity.passed]
    if request.min_runtime is not None:
        wanted = f"expected the same answers in TensorFlow Lite {request.min_runtime}"
        failures += [_failure(ParityError, f"{wanted}. Received: {reason}") for reason in verified.refused]
    failures += [_failure(SchemeError, problem) for problem in scheme_problems]
    if request.max_drop is not None:
        limit = f"expected a drop of at most {request.max_drop:g} points"
        for stage in verified.scores:
            if not stage.drop <= request.max_drop + _ROUNDING:
                received = f"{stage.drop:.2f} ({stage.score.value:.2f} % of {stage.score.n} rows)"
                failures.append(_failure(AccuracyError, f"{stage.stage}: {limit}. Received: {received}."))
    if request.max_size_bytes is not None:
        limit = f"expected at most {request.max_size_bytes} bytes"
        for file in files:
            if file.target and file.size_bytes > request.max_size_bytes:
                failures.append(_failure(SizeError, f"{file.name}: {limit}. Received: {file.size_bytes}."))
    return tuple(failures)


def remarks(verified: Verification) -> tuple[str, ...]:
    """What is no failure and yet should not go unseen."""
    worst = max(verified.scores, key=lambda stage: stage.drop, default=None)
    if worst is None or worst.drop <= max(_REMARKABLE_DROP, 2 * worst.score.standard_error):
        return ()
    return (f"{worst.stage} loses {worst.drop:.2f} points; --max-drop makes that an error.",)


def _failure(kind: type[ExportError], message: str) -> Failure:
    return Failure(gate=kind.gate, message=message)
