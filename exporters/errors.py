"""Outcomes of an export that are neither success nor bad input, and the exit code of each.

Bad input is `models_tf.errors.InputError` (exit code 2). What is here says that the export itself ran and
its result is not good enough.
"""

from collections.abc import Iterable

EXIT_PASS = 0
EXIT_INTERNAL = 1
EXIT_INPUT = 2
EXIT_INTERRUPTED = 2  # Ctrl-C: like bad input, the user's doing, and nothing is written


class ExportError(Exception):
    """Base of all outcomes; `exit_code` is what the command returns, `gate` how the report names it."""

    exit_code = EXIT_INTERNAL
    gate = "export"


class ParityError(ExportError):
    """A written file does not compute what the model computes."""

    exit_code = 5
    gate = "parity"


class SchemeError(ExportError):
    """A written file does not hold the quantization scheme that was asked for."""

    exit_code = 6
    gate = "scheme"


class AccuracyError(ExportError):
    """Quantization lost more accuracy than `--max-drop` allows."""

    exit_code = 3
    gate = "accuracy"


class SizeError(ExportError):
    """A written file is larger than `--max-size` allows."""

    exit_code = 4
    gate = "size"


class LatencyError(ExportError):
    """A file takes longer than `--max-latency-ratio` allows."""

    exit_code = 4
    gate = "latency"


class WorkerError(ExportError):
    """Another worker of a training was lost."""

    exit_code = 8
    gate = "worker"


class InstructionsError(ExportError):
    """A file takes more instructions than `--max-instruction-ratio` allows."""

    exit_code = 4
    gate = "instructions"


class RunError(ExportError):
    """A runtime cannot load or run a file that was made. Nothing is written: the file would end an app, too."""

    exit_code = 7
    gate = "run"


# When several gates fail, the exit code is that of the first one here: a file that computes something else
# makes its accuracy and size meaningless.
GATES: tuple[type[ExportError], ...] = (
    ParityError,
    SchemeError,
    AccuracyError,
    SizeError,
    LatencyError,
    InstructionsError,
)


def exit_code(gates: Iterable[str]) -> int:
    """Of the most fundamental of the gates that failed, in the order of `GATES`; 0 if none did."""
    failed = set(gates)
    return next((kind.exit_code for kind in GATES if kind.gate in failed), EXIT_PASS)
