"""Entry point of `export-mobile` and `python -m exporters`.

A module of its own so that Ctrl-C is one line even while the command itself is being imported.
"""

# What `signal` wraps in enums: importing those takes longer than all that is here.
import _signal as signal  # type: ignore[import-not-found]
import os
import sys


def main() -> int:
    """Runs the command; returns its exit code."""
    ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # else the caller ignores it, as nohup does
    if ours:
        # An exception inside of an import can be swallowed or turned into another one: leave at once instead.
        signal.signal(signal.SIGINT, lambda *_: _leave())
    from exporters.commands.main import main as run

    if ours:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        code = run()
    except KeyboardInterrupt:
        return _leave()
    # All is written and said. TensorFlow takes a second to leave, in which Ctrl-C would only falsify the exit code.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return code


def _leave() -> int:
    try:
        os.write(2, b"export-mobile: interrupted. Nothing was written.\n")
    finally:
        os._exit(2)  # EXIT_INTERRUPTED, whose module may not be imported yet


if __name__ == "__main__":
    sys.exit(main())
