"""`ExplainRequest`: the input of one explanation. Its fields are the flags of the command. Imports nothing heavy."""

from dataclasses import dataclass
from pathlib import Path

from exporters.request_fields import check_fields
from models_tf import registry
from models_tf.bounded_files import what_is
from models_tf.errors import InputError, naming_fields

DEFAULT_ROWS = 3


@dataclass(frozen=True, kw_only=True)
class ExplainRequest:
    """One explanation: which words of some texts a token-dropping model keeps, layer by layer.

    Args:
        checkpoint: a folder written by `train` or `compress`, or a Hugging Face hub id.
        model: the model's name; by default read from the checkpoint.
        text: the texts, or a single one; give these or `data`.
        text_pair: for sentence pairs, the second text of each `text`.
        data: a table with the texts (.tsv, .csv or .jsonl, also .gz).
        rows: use the first so many rows of `data`; 3 by default.
        text_column: the column of `data` with the text.
        text_pair_column: the column of `data` with the second text.
        max_seq_len: tokens per input; by default the length it was trained with here, else 128.

    Raises:
        InputError: a value of the wrong type, or one that contradicts another; in one line.
    """

    checkpoint: Path
    model: str | None = None
    text: tuple[str, ...] = ()
    text_pair: tuple[str, ...] = ()
    data: Path | None = None
    rows: int | None = None
    text_column: str | None = None
    text_pair_column: str | None = None
    max_seq_len: int | None = None

    @naming_fields()
    def __post_init__(self) -> None:
        for name in ("text", "text_pair"):
            if isinstance(getattr(self, name), str):
                object.__setattr__(self, name, (getattr(self, name),))
        check_fields(self)
        if self.model is not None and registry.get(self.model).kind != registry.TOKENS:
            names = ", ".join(registry.names(registry.TOKENS))
            raise InputError(f"explain is for token models ({names}). Received: --model {self.model}.")
        if bool(self.text) == (self.data is not None):
            received = "both" if self.text else "neither"
            raise InputError(f'Give --text "..." or --data FILE. Received: {received}.')
        if self.text_pair and len(self.text_pair) != len(self.text):
            raise InputError(
                f"--text-pair must be given for each --text. Received: {len(self.text_pair)} for {len(self.text)}."
            )
        if any(not text.strip() for text in (*self.text, *self.text_pair)):
            raise InputError("--text must have words. Received: an empty text.")
        for name in ("rows", "text_column", "text_pair_column"):
            value = getattr(self, name)
            if self.data is None and value is not None:
                raise InputError(f"--{name.replace('_', '-')} is for --data FILE. Received: {value} with --text.")
        if self.rows is not None and self.rows < 1:
            raise InputError(f"--rows must be at least 1. Received: {self.rows}.")
        if self.data is not None and not self.data.is_file():
            raise InputError(f"--data must be a file. Received: {self.data} ({what_is(self.data)}).")
