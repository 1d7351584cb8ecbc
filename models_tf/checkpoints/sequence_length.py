"""How many tokens a graph takes: one rule for every command that reads a checkpoint.

A request wins if the model can take it. Otherwise a checkpoint that `export-mobile train` wrote keeps the length it was
trained with, and any other gets 128 tokens, or all positions where the model has fewer.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from models_tf.checkpoints.folder import TRAINING_FILE
from models_tf.checkpoints.json_text import read_json_file
from models_tf.errors import InputError

if TYPE_CHECKING:
    from models_tf.checkpoints.encoder import EncoderCheckpoint

DEFAULT_LENGTH, QUESTION_LENGTH = 128, 384
SHORTEST_LENGTH = 5  # [CLS] a [SEP] b [SEP]


def sequence_length(checkpoint: "EncoderCheckpoint", requested: int | None, *, default: int | None = None) -> int:
    """Raises an InputError that names --max-seq-len where the model cannot take `requested` tokens.

    `default` is for a command whose default does not depend on the training.
    """
    positions = checkpoint.config.max_positions
    if requested is None:
        length = default or checkpoint.trained_length or DEFAULT_LENGTH
        return min(max(SHORTEST_LENGTH, length), positions)
    if not SHORTEST_LENGTH <= requested <= positions:
        raise InputError(
            f"--max-seq-len must be {SHORTEST_LENGTH} to {positions}, the model's positions. Received: {requested}."
        )
    return requested


def trained_length(folder: Path) -> int | None:
    """The length in the record of a training; None for folders without one."""
    path = folder / TRAINING_FILE
    if not path.is_file():
        return None
    document = read_json_file(path)
    length = document.get("max_seq_len") if isinstance(document, dict) else None
    return length if isinstance(length, int) and not isinstance(length, bool) and length > 0 else None
