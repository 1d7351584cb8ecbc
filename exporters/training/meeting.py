"""Workers wait until all of them are there, which TensorFlow would do without end and without a word.

Each listens on its own port until it reaches the ports of all others; then TensorFlow takes the port over, and answers
those that still ask. Leaves out workers that are lost later: TensorFlow asks after them every half minute.
"""

import contextlib
import socket
import time
from collections.abc import Iterator, Sequence

from exporters.errors import WorkerError
from models_tf import limits
from models_tf.errors import InputError
from models_tf.training.progress import Progress

LIMIT = "worker_seconds"
_PAUSE = 0.1
_CONNECT_SECONDS = 2.0


def meet(own: str, others: Sequence[str], progress: Progress) -> None:
    """Returns when every one of the `others` can be reached; all are `host:port`."""
    seconds = limits.value(LIMIT)
    deadline = time.monotonic() + seconds
    with _listening(own):
        missing = [host for host in others if not _answers(host)]
        if missing:
            progress.line(f"waiting for {', '.join(missing)}")
        while missing:
            if time.monotonic() > deadline:
                raise WorkerError(
                    f"All workers must start within {seconds} seconds of each other. Received: none at "
                    f"{', '.join(missing)}. See what they say and start all again; --limit {LIMIT}=N waits longer."
                )
            time.sleep(_PAUSE)
            missing = [host for host in missing if not _answers(host)]


@contextlib.contextmanager
def _listening(own: str) -> Iterator[None]:
    port = _parts(own)[1]
    try:
        server = socket.create_server(("", port))
    except OSError as error:
        raise InputError(f"TF_CONFIG must give this worker a free port. Received: {own} ({error.strerror}).") from error
    with server:
        yield


def _answers(host: str) -> bool:
    try:
        socket.create_connection(_parts(host), timeout=_CONNECT_SECONDS).close()
    except OSError:
        return False
    return True


def _parts(host: str) -> tuple[str, int]:
    name, _, port = host.rpartition(":")
    return name.strip("[]"), int(port)
