"""Where a training runs: in this process alone, on several devices, or as one of several workers.

A worker that is not the chief writes into a temporary folder, which goes with it. Leaves out how a batch is shared
(`models_tf/training/updates.py`).
"""

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from exporters.errors import WorkerError
from exporters.training.agreement import agree
from exporters.training.cluster import CHIEF, WORKER, Cluster
from exporters.training.meeting import LIMIT, meet
from exporters.training.request import MIRRORED, TrainRequest
from models_tf import limits
from models_tf.errors import InputError
from models_tf.folders import open_folders
from models_tf.training.progress import Progress

# By kind, one for the whole process: the sums of a second one would be taken for those of the first.
_strategies: dict[str, Any] = {}


@dataclass(frozen=True, kw_only=True)
class Place:
    """`workers` share the training; this one writes to `output`."""

    workers: Any
    output: Path


@contextlib.contextmanager
def distributed(request: TrainRequest, progress: Progress) -> Iterator[Place]:
    """Inside the block variables are made for the devices or workers of the request."""
    from models_tf.training.workers import Workers

    if request.distribute is None:
        yield Place(workers=Workers(), output=request.output)
        return
    import tensorflow as tf

    if request.distribute == MIRRORED:
        strategy = _strategy(MIRRORED, tf.distribute.MirroredStrategy)
        count = strategy.num_replicas_in_sync
        progress.line(f"{count} devices share each batch" if count > 1 else "one device: there is nothing to share")
        with strategy.scope():
            yield Place(workers=Workers(), output=request.output)
        return
    cluster = Cluster.of_environment()

    def join() -> Any:
        meet(cluster.own, cluster.others, progress)
        return _connected(limits.value(LIMIT))

    with contextlib.ExitStack() as stack:
        output = request.output
        if not cluster.is_chief:
            output = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="export-mobile-"))) / "worker"
        try:
            strategy = _strategy(request.distribute, join)
            with strategy.scope():
                workers = Workers(strategy, is_chief=cluster.is_chief)
                agree(workers, request)
                if request.resume:
                    _share_state(workers, output)
                yield Place(workers=workers, output=output)
        except (
            tf.errors.UnavailableError,
            tf.errors.AbortedError,
            tf.errors.CancelledError,
            tf.errors.DeadlineExceededError,
        ) as error:
            left = (
                open_folders.outcome()
                if cluster.is_chief
                else "The chief says why; if it has saved a state, add --resume."
            )
            raise WorkerError(
                f"All workers must run until the end. Received: one that cannot be reached any more. Remedy: start all "
                f"again. {left}"
            ) from error


def _connected(seconds: int) -> Any:
    """The strategy of all workers. With its own settings TensorFlow waits an hour for one that is lost once it has
    greeted, and takes no Ctrl-C meanwhile.
    """
    import tensorflow as tf
    from tensorflow.python.eager import context  # nothing public sets the time

    spec = tf.distribute.cluster_resolver.TFConfigClusterResolver().cluster_spec()
    jobs = [job for job in (CHIEF, WORKER) if job in spec.jobs]
    context.context().configure_coordination_service(
        "standalone",
        service_leader=f"/job:{jobs[0]}/replica:0/task:0",
        cluster_register_timeout_in_ms=1000 * seconds,
    )
    service = context.context().coordination_service
    service.cluster_register_with_barrier = True
    for job in jobs:
        service.coordinated_job_list.add(name=job, num_tasks=spec.num_tasks(job))
    try:
        return tf.distribute.MultiWorkerMirroredStrategy()
    except RuntimeError as error:
        raise InputError(
            "--distribute workers must be the first that a process asks of TensorFlow. Received: one that has used it "
            "before. Train in a new process."
        ) from error
    except tf.errors.OpError as error:
        # Its frames hold what TensorFlow takes down with a page of words: here, where nobody sees them.
        raise error.with_traceback(None) from None


def _strategy(kind: str, make: Callable[[], Any]) -> Any:
    if kind not in _strategies:
        _strategies[kind] = make()
    return _strategies[kind]


def _share_state(workers: Any, output: Path) -> None:
    """The chief's state, for the others. Without one the chief names what is missing when it opens its folder."""
    from models_tf.checkpoints.folder import STATE_FILE

    path = output / STATE_FILE
    state = workers.bytes_from_chief(path.read_bytes() if workers.is_chief and path.is_file() else b"")
    if workers.is_chief:
        return
    if not state:
        raise InputError(
            "--resume needs a training that was stopped. Received: none at the chief; see what is said there."
        )
    output.mkdir()
    path.write_bytes(state)
