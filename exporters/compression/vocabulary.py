"""Prunes the vocabulary of a training before any row is read, so that rows, student and teacher share it."""

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from models_tf.checkpoints import vocabulary
from models_tf.checkpoints.encoder import EncoderCheckpoint
from models_tf.compress.vocabulary_data import used_tokens
from models_tf.tasks.rows import Columns
from models_tf.tokenizers import vocabulary as tokenizer_files
from models_tf.tokenizers.tokenizer import Tokenizer


@dataclass(frozen=True, kw_only=True)
class PrunedVocabulary:
    """The tokens `kept` of the `whole` vocabulary, read from `whole_files`, and the record of it."""

    whole_files: dict[str, bytes]
    kept: list[int]
    whole: Tokenizer
    record: dict[str, Any]

    @functools.cached_property
    def files(self) -> dict[str, bytes]:
        """The tokenizer's files with these tokens."""
        return tokenizer_files.keep_tokens(self.whole_files, self.kept)

    def applied_to(self, student: EncoderCheckpoint) -> EncoderCheckpoint:
        """A trained student with the rows of these tokens."""
        self.whole.check_embedding(student.config.vocab_size)
        return vocabulary.keep_tokens(dataclasses.replace(student, tokenizer_files=self.whole_files), self.kept)


def prune_vocabulary(
    files: Mapping[str, bytes],
    source: str,
    texts: Sequence[Path],
    *,
    head: str,
    columns: Columns,
    characters: bool,
    parsed: Mapping[Path, Any] | None = None,
) -> PrunedVocabulary:
    """The vocabulary of tokenizer `files`, reduced to the tokens of `texts` as a model with this head reads them.

    `parsed` are the rows of files already read.
    """
    tokenizer = Tokenizer.from_files(files, source)
    used = used_tokens(tokenizer, texts, head=head, columns=columns, parsed=parsed)
    kept = vocabulary.kept_numbers(tokenizer, used, characters=characters)
    return PrunedVocabulary(
        whole_files=dict(files),
        kept=kept,
        whole=tokenizer,
        record={
            "vocab_data": [path.name for path in texts],
            "vocabulary": {"before": tokenizer.vocab_size, "after": len(kept), "in_data": len(used)},
        },
    )
