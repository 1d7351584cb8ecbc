"""What `export-mobile train` does with the flags of `compress`: its checkpoint is made smaller, then trained.

The vocabulary goes first here, before any row is read: rows, student and teacher then have one. Importance is measured on the
training rows. A training that is resumed chooses again, on the same rows; its weights come from the saved state, and a state of
other widths is refused by its fingerprint. A new model can share layers, have a narrow embedding, few words and a retention.
"""

import argparse
import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from models_tf.checkpoints.encoder import EncoderCheckpoint
from models_tf.checkpoints.folder import RECORD_FILE
from models_tf.compress.settings import DEFAULT_ROWS
from models_tf.encoder.network import Network
from models_tf.errors import InputError
from models_tf.tasks.rows import Columns, TaskRows
from models_tf.tokenizers.tokenizer import Tokenizer


@dataclass(frozen=True, kw_only=True)
class PrunedVocabulary:
    """The tokenizer `files` with the tokens `kept` of those that there were, and the record of it."""

    files: dict[str, bytes]
    kept: list[int]
    whole: Tokenizer
    record: dict[str, Any]

    def applied_to(self, student: EncoderCheckpoint) -> EncoderCheckpoint:
        """A trained student with the rows of these tokens."""
        from models_tf.checkpoints import vocabulary

        self.whole.check_embedding(student.config.vocab_size)
        network = Network(config=student.config, head=student.head, tensors=student.tensors)
        smaller = vocabulary.keep_rows(network, self.kept)
        document = vocabulary.renumbered(student.document, self.kept)
        return dataclasses.replace(
            student, config=smaller.config, tensors=dict(smaller.tensors), document=document, tokenizer_files=self.files
        )


def check_flags(args: argparse.Namespace) -> None:
    """What can be refused before anything is read."""
    if args.compression is None:
        return
    settings = args.compression
    if not args.checkpoint and (settings.drop_layers or settings.changes_width or settings.ghosts is not None):
        raise InputError(
            "--drop-layers, --prune-heads, --prune-ffn and --ghosts make a --checkpoint smaller. Received: none to begin "
            "with."
        )


def prune_vocabulary(
    args: argparse.Namespace, files: Mapping[str, bytes], source: str, *, head: str
) -> PrunedVocabulary | None:
    """The vocabulary to train with, of `files`; None where --prune-vocab was not given. Texts are those of --vocab-data, by
    default of --train, --dev and --unlabelled.
    """
    if args.compression is None or not args.compression.prune_vocab:
        return None
    from models_tf.checkpoints import vocabulary
    from models_tf.compress.vocabulary_data import used_tokens
    from models_tf.tokenizers import vocabulary as whole_files

    tokenizer = Tokenizer.from_files(files, source)
    own = (args.train, args.dev, getattr(args, "unlabelled", None))
    paths = args.vocab_data or [path for path in own if path is not None]
    columns = Columns(text=args.text_column, pair=args.text_pair_column, label=args.label_column)
    used = used_tokens(tokenizer, paths, head=head, columns=columns)
    kept = vocabulary.kept_numbers(tokenizer, used, characters=not args.drop_characters)
    return PrunedVocabulary(
        files=whole_files.keep_tokens(files, kept),
        kept=kept,
        whole=tokenizer,
        record={
            "vocab_data": [path.name for path in paths],
            "vocabulary": {"before": tokenizer.vocab_size, "after": len(kept), "in_data": len(used)},
        },
    )


def compress_student(
    args: argparse.Namespace, student: EncoderCheckpoint, rows: TaskRows, pruned: PrunedVocabulary | None = None
) -> tuple[EncoderCheckpoint, dict[str, Any] | None]:
    """The student to train, and the record of what was removed; as it was, and None, where no flag asks for it. `rows` and
    `student` have the `pruned` vocabulary already.
    """
    if args.compression is None:
        return student, None
    from models_tf.compress import apply
    from models_tf.compress.rows import draw

    given = args.compression
    settings = dataclasses.replace(given, prune_vocab=False)
    start = Path(args.checkpoint).name if args.checkpoint else None
    record: dict[str, Any] = {"checkpoint": start, "data": args.train.name, **(pruned.record if pruned else {})}
    if pruned and settings.is_empty:
        return student, {**record, "model": student.model_name, "settings": given.to_dict()}
    apply.check(student, settings)
    if settings.needs_gradients and student.new_tensors:
        raise InputError(
            f"Importance needs a checkpoint with a head for this task. Received: {args.checkpoint}, whose head is new; "
            "train it first, then compress."
        )
    made = apply.compress(student, settings, draw(rows, DEFAULT_ROWS, settings.seed))
    return made.checkpoint, {**record, "model": made.checkpoint.model_name, **made.record, "settings": given.to_dict()}


def record_file(record: dict[str, Any] | None, command: str, resumed: Path | None = None) -> dict[str, bytes]:
    """What was removed, as a file to lie beside every checkpoint of the training. A training that is `resumed` from a
    folder keeps the record that its weights were chosen by.
    """
    if record is None:
        return {}
    if resumed is not None and (resumed / RECORD_FILE).is_file():
        return {RECORD_FILE: (resumed / RECORD_FILE).read_bytes()}
    return {RECORD_FILE: (json.dumps({"command": command, **record}, indent=1) + "\n").encode()}
