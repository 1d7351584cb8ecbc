"""Workers wait until all of them are there. TensorFlow would wait forever, silently.

Each listens on its own port and greets the others by its address until it has greeted all of them and been greeted by
all; then TensorFlow takes the port over. Something else that listens on a worker's port does not greet, so it is not
taken for one. Leaves out workers that are lost later: TensorFlow says so.
"""

import contextlib
import socket
import threading
import time
from collections.abc import Iterator, Sequence

from exporters.errors import WorkerError
from models_tf import limits
from models_tf.errors import InputError
from models_tf.training.progress import Progress

LIMIT = "worker_seconds"
_PAUSE = 0.1
_ANSWER_SECONDS = 2.0
_MOST_BYTES = 1000  # a greeting comes in one piece; if it should not, it is repeated


def meet(own: str, others: Sequence[str], progress: Progress) -> None:
    """Returns when this worker and every one of the `others` have greeted each other; all are `host:port`."""
    seconds = limits.value(LIMIT)
    deadline = time.monotonic() + seconds
    answers: dict[str, bytes | None] = {}
    with _listening(own, others) as heard:
        missing = _missing(own, others, answers, heard)
        if missing:
            progress.line(f"waiting for {', '.join(missing)}")
        while missing:
            if time.monotonic() > deadline:
                strangers = [host for host in missing if answers[host] not in (None, _greeting(host))]
                received = f"another program at {strangers[0]}" if strangers else f"none at {', '.join(missing)}"
                raise WorkerError(
                    f"All workers must start within {seconds} seconds of each other. Received: {received}. See what "
                    f"they say and start all again; --limit {LIMIT}=N waits longer."
                )
            time.sleep(_PAUSE)
            missing = _missing(own, others, answers, heard)


def _missing(own: str, others: Sequence[str], answers: dict[str, bytes | None], heard: set[str]) -> list[str]:
    """Those that were not heard or did not answer a greeting as workers do; greets the latter again."""
    for host in others:
        if answers.get(host) != _greeting(host):
            answers[host] = _greet(host, own)
    return [host for host in others if host not in heard or answers[host] != _greeting(host)]


@contextlib.contextmanager
def _listening(own: str, others: Sequence[str]) -> Iterator[set[str]]:
    """Answers greetings inside the block; those of `others` that greeted, as they come."""
    name, port = _parts(own)
    try:
        server = socket.create_server(("", port), family=socket.AF_INET6 if ":" in name else socket.AF_INET)
    except OSError as error:
        raise InputError(f"TF_CONFIG must give this worker a free port. Received: {own} ({error.strerror}).") from error
    server.settimeout(_PAUSE)
    known = {_greeting(host): host for host in others}
    heard: set[str] = set()
    done = threading.Event()

    def answer() -> None:
        while not done.is_set():
            with contextlib.suppress(OSError):  # nobody came, or went away at once
                connection = server.accept()[0]
                with connection:
                    connection.settimeout(_ANSWER_SECONDS)
                    host = known.get(connection.recv(_MOST_BYTES))
                    if host is not None:
                        connection.sendall(_greeting(own))
                        heard.add(host)

    thread = threading.Thread(target=answer, daemon=True)
    thread.start()
    try:
        yield heard
    finally:
        done.set()
        thread.join()
        server.close()


def _greet(host: str, own: str) -> bytes | None:
    """What is answered there; None if nobody listens."""
    try:
        connection = socket.create_connection(_parts(host), timeout=_ANSWER_SECONDS)
    except OSError:
        return None
    with connection:
        try:
            connection.sendall(_greeting(own))
            return connection.recv(_MOST_BYTES)
        except OSError:
            return b""


def _greeting(host: str) -> bytes:
    return f"export-mobile worker {host}\n".encode()


def _parts(host: str) -> tuple[str, int]:
    name, _, port = host.rpartition(":")
    return name.strip("[]"), int(port)
