"""Whether a teacher's labels are those of the student, and which of its answers belongs to which."""

from collections.abc import Sequence
from pathlib import Path

from models_tf.errors import InputError
from models_tf.tasks.rows import number_labels, shorten


def label_order(
    folder: Path, known: Sequence[str], labels: Sequence[str], *, several: bool, multi_label: bool
) -> list[int]:
    """The number of each of the student's `labels` among those `known` to the teacher of `folder`.

    All of both must be matched, by name, or by number if the student's are numbers. `several` says whether the teacher
    gives several labels for a text, `multi_label` whether the student does.
    """
    if several != multi_label:
        wanted, received = ("several labels", "one") if multi_label else ("one label", "several")
        raise InputError(f"--teacher must give a text {wanted}, as the student does. Received: {folder}, {received}.")
    try:
        order, _ = number_labels([(label, 0) for label in labels], known, "")
    except InputError:
        order = []
    if sorted(order) != list(range(len(known))):
        raise InputError(
            f"--teacher must know the student's labels, {shorten(labels)}. "
            f"Received: {folder} with {shorten(known)}. Remedy: name them alike."
        )
    return order
