"""Runs commands of the project one after another, each forked from this process, which has loaded TensorFlow.

Started by `export_runs.py`, because loading TensorFlow takes longer than a tiny export. TensorFlow is loaded but not
used before the fork, so there is one thread and no shared state. A line of JSON says what to run and where; two lines
answer: the child's id and its exit code. A setting that the project makes before it imports TensorFlow comes too late
here.
"""

import json
import os
import runpy
import signal
import sys
import traceback


def main() -> None:
    """Runs until there are no more requests."""
    import tensorflow  # noqa: F401, ICN001 - loaded for the children
    import tf_keras  # noqa: F401

    for line in sys.stdin:
        child = os.fork()
        if not child:
            _run(**json.loads(line))
        print(child, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


def _run(arguments: list[str], folder: str, stdout: str, stderr: str) -> None:
    """As `python -m exporters` does in the folder; does not return."""
    code = 1
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.chdir(folder)
        for number, path in enumerate((os.devnull, stdout, stderr)):
            opened = os.open(path, os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
            os.dup2(opened, number)
            os.close(opened)
        sys.path[0] = folder
        sys.argv = ["exporters", *arguments]
        runpy.run_module("exporters", run_name="__main__", alter_sys=True)
        code = 0
    except SystemExit as leave:
        code = leave.code if isinstance(leave.code, int) else int(leave.code is not None)
    except BaseException:  # noqa: BLE001 - this is the child, which must end here whatever happens
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    main()
