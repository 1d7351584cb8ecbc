"""`CompressRequest`: the input of one compression. Its fields are the flags of the command.

Checks what can be checked before anything is read; imports neither TensorFlow nor numpy.
"""

from dataclasses import dataclass
from pathlib import Path

from exporters.request_fields import check_fields
from models_tf import registry
from models_tf.compress.settings import DEFAULT_ROWS, Compression
from models_tf.errors import InputError, naming_fields


@dataclass(frozen=True, kw_only=True)
class CompressRequest:
    """Make the BERT in `checkpoint` (a folder or hub id) smaller, as `compression` says, and write it to `output`.

    Choices by gradient or contribution use `rows` rows of `data`; `task`, the columns and `max_seq_len` say how to read
    them (default: as the checkpoint says). A pruned vocabulary keeps the tokens of `vocab_data`. `force` replaces an
    earlier output. A wrong type or combination is an InputError.
    """

    checkpoint: Path
    output: Path
    compression: Compression
    model: str | None = None
    data: Path | None = None
    rows: int = DEFAULT_ROWS
    task: str | None = None
    text_column: str | None = None
    text_pair_column: str | None = None
    label_column: str | None = None
    max_seq_len: int | None = None
    vocab_data: tuple[Path, ...] = ()
    force: bool = False

    @naming_fields()
    def __post_init__(self) -> None:
        check_fields(self)
        if self.model is not None:
            registry.get(self.model)
        if self.rows < 1:
            raise InputError(f"--rows must be at least 1. Received: {self.rows}.")
        if self.data is not None and not self.data.exists():
            raise InputError(f"--data must be a file. Received: {self.data} (no such file).")
        wanted = self.compression
        if wanted.needs_rows and self.data is None:
            what = "contribution is what a layer does to the tokens of texts"
            if wanted.needs_gradients:
                what = "--prune-heads and --prune-ffn choose by gradients"
            labels = " with labels" if wanted.needs_gradients else ""
            raise InputError(f"--data FILE{labels} is needed: {what}. Received: no --data.")
        if wanted.prune_vocab and not self.vocab_data:
            raise InputError("--prune-vocab keeps the tokens of texts: give --vocab-data FILE. Received: none.")
        if self.vocab_data and not wanted.prune_vocab:
            raise InputError("--vocab-data needs --prune-vocab. Received: --vocab-data alone.")

    @property
    def inputs(self) -> tuple[tuple[str, Path | None], ...]:
        """The files and folders that are read, with their flags: the output must not be among them."""
        texts = (("--vocab-data", path) for path in self.vocab_data)
        return (("--checkpoint", self.checkpoint), ("--data", self.data), *texts)
