"""Entry point of `export-mobile` and `python -m exporters`: signals and environment, then the command.

A module of its own so that Ctrl-C and SIGTERM are one line even while the command itself is being imported, and so that
calling `exporters.commands.main.main` from Python changes no signal handler.
"""

# What `signal` wraps in enums: importing those takes longer than everything else here.
import _signal as signal  # type: ignore[import-not-found]
import os
import sys


def main() -> int:
    """Runs the command; returns its exit code."""
    if sys.flags.optimize > 1 and sys.executable:
        _keep_docstrings()
    # An exception inside of an import can be swallowed or turned into another one: leave at once instead. A signal that
    # the caller ignores, as a shell does for jobs in the background, stays ignored while nothing is at stake.
    for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGTERM, signal.SIG_DFL)):
        if signal.getsignal(number) is usual or signal.getsignal(number) == usual:
            signal.signal(number, _leave)
    # Keras would write its settings under HOME, and read what lies there. Not for who imports us.
    os.environ.setdefault("KERAS_HOME", os.devnull)
    # TensorFlow imports a Keras that it does not need. Keras 3, which is not ours, takes a quarter of a start.
    os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")
    from exporters.commands.main import main as run
    from exporters.commands.parser import PROGRAM
    from exporters.console import interrupt

    interrupt.install(PROGRAM)
    code = run()
    # All is written and said. TensorFlow takes a second to leave, in which a signal would only falsify the exit code.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if code:
        _leave_failed(code)
    return code


def _leave_failed(code: int) -> None:
    """Without the destructors of TensorFlow, which wait for ever where memory or threads ran out."""
    import contextlib

    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):  # nobody reads it any more
            stream.flush()
    os._exit(code)


def _keep_docstrings() -> None:
    """Start again with -O in place of -OO: Keras edits docstrings while it is imported, and fails without them."""
    options, rest = [], sys.orig_argv[1:]
    while rest and rest[0].startswith("-") and rest[0] not in ("-m", "-c", "-"):
        option = rest.pop(0)
        options += [option, rest.pop(0)] if option in ("-X", "-W") and rest else [option.replace("O", "")]
    os.environ["PYTHONOPTIMIZE"] = "1"
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, *(option for option in options if option != "-"), *rest])  # noqa: S606


def _leave(number: int, _frame: object) -> None:
    word = b"interrupted" if number == signal.SIGINT else b"terminated"
    try:
        os.write(2, b"export-mobile: " + word + b". Nothing was written.\n")
    finally:
        # EXIT_INTERRUPTED, whose module may not be imported yet; else as a shell reports a signal.
        os._exit(2 if number == signal.SIGINT else 128 + number)


if __name__ == "__main__":
    sys.exit(main())
