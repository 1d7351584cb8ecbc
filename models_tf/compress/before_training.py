"""What `export-mobile train` does with the flags of `compress`: its checkpoint is made smaller, then trained.

Importance is measured on the training rows. A training that is resumed chooses again, on the same rows; its weights come
from the saved state, and a state of other widths is refused by its fingerprint.
"""

import argparse
import json
from pathlib import Path
from typing import Any

from models_tf.compress.cli import RECORD_FILE, from_args, is_given
from models_tf.compress.settings import DEFAULT_ROWS
from models_tf.errors import InputError
from models_tf.huggingface.checkpoint import EncoderCheckpoint
from models_tf.tasks.rows import TaskRows


def check_flags(args: argparse.Namespace) -> None:
    """What can be refused before anything is read."""
    if not is_given(args):
        return
    from_args(args)
    if not args.checkpoint:
        raise InputError("--prune-heads and the like make a --checkpoint smaller. Received: none to begin with.")


def compress_student(
    args: argparse.Namespace, student: EncoderCheckpoint, rows: TaskRows
) -> tuple[EncoderCheckpoint, dict[str, Any] | None]:
    """The student to train, and the record of what was removed; as it was, and None, where no flag asks for it."""
    if not is_given(args):
        return student, None
    from models_tf.compress import apply
    from models_tf.compress.rows import draw

    settings = from_args(args)
    apply.check(student, settings)
    if settings.needs_gradients and student.new_tensors:
        raise InputError(
            f"Importance needs a checkpoint with a head for this task. Received: {args.checkpoint}, whose head is new; "
            "train it first, then compress."
        )
    made = apply.compress(student, settings, draw(rows, DEFAULT_ROWS, settings.seed))
    record = {"checkpoint": Path(args.checkpoint).name, "model": made.checkpoint.model_name, "data": args.train.name}
    return made.checkpoint, {**record, **made.record}


def record_file(record: dict[str, Any] | None, command: str, resumed: Path | None = None) -> dict[str, bytes]:
    """What was removed, as a file to lie beside every checkpoint of the training. A training that is `resumed` from a
    folder keeps the record that its weights were chosen by.
    """
    if record is None:
        return {}
    if resumed is not None and (resumed / RECORD_FILE).is_file():
        return {RECORD_FILE: (resumed / RECORD_FILE).read_bytes()}
    return {RECORD_FILE: (json.dumps({"command": command, **record}, indent=1) + "\n").encode()}
