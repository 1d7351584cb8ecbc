"""The one way from a checkpoint and a `Compression` to a smaller checkpoint, for export, `compress` and `train`.

Reads the rows and texts that the compression chooses by; the work itself is in `models_tf/compress/apply.py`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from models_tf.compress.settings import DEFAULT_ROWS, Compression
from models_tf.errors import InputError

if TYPE_CHECKING:
    from models_tf.checkpoints.encoder import EncoderCheckpoint
    from models_tf.compress.apply import Compressed
    from models_tf.tasks.rows import Columns, TaskRows


@dataclass(frozen=True, kw_only=True)
class ChosenBy:
    """What a compression chooses by. `count` rows are drawn from `rows`, a file or rows already read; `flag` names them
    in messages. The tokens of the texts in `vocab_data` stay.
    """

    rows: "Path | TaskRows | None" = None
    flag: str = "--data"
    count: int = DEFAULT_ROWS
    task: str | None = None
    max_seq_len: int | None = None
    vocab_data: tuple[Path, ...] = ()
    columns: "Columns | None" = None


def compress_checkpoint(
    start: "EncoderCheckpoint",
    settings: Compression,
    data: ChosenBy,
    *,
    source: str,
    note: Callable[[str], None] | None = None,
) -> "Compressed":
    """`source` names the checkpoint in messages; `note` receives notes on the rows, and on what removed nothing."""
    from models_tf.compress import apply, checks

    checks.check(start, settings)
    rows = _rows(start, settings, data, note) if settings.needs_rows else None
    used = None
    if settings.prune_vocab:
        from models_tf.compress.vocabulary_data import used_tokens
        from models_tf.tokenizers.tokenizer import Tokenizer

        tokenizer = Tokenizer.from_files(start.tokenizer_files, source)
        tokenizer.check_embedding(start.config.vocab_size)
        used = used_tokens(tokenizer, data.vocab_data, head=start.head.kind, columns=data.columns)
    made = apply.compress(start, settings, rows, used)
    if note:
        for text in made.notes:
            note(text)
    return made


def _rows(
    start: "EncoderCheckpoint", settings: Compression, data: ChosenBy, note: Callable[[str], None] | None
) -> "TaskRows":
    from models_tf.compress.rows import draw, read

    if data.rows is None:
        raise InputError(f"{data.flag} FILE is needed to choose what is removed. Received: none.")
    rows = data.rows
    if isinstance(rows, Path):
        rows = read(
            start,
            rows,
            task=data.task,
            columns=data.columns,
            max_seq_len=data.max_seq_len,
            labelled=settings.needs_gradients,
            flag=data.flag,
        )
        if note:
            for text in rows.notes:
                note(text)
    return draw(rows, data.count, settings.seed)
