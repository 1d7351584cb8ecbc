"""A checkpoint cut down to some of its tokens: the word embedding, the tokenizer's files and the ids in config.json.

A text whose tokens are all kept gets the same tokens, renumbered, and the same outputs (see
`models_tf/tokenizers/vocabulary.py`). Other texts split into smaller pieces that were kept, or become unknown.
"""

import dataclasses
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from models_tf.checkpoints.encoder import EncoderCheckpoint
from models_tf.encoder.config import EncoderConfig
from models_tf.encoder.network import Network
from models_tf.errors import InputError
from models_tf.tokenizers import vocabulary
from models_tf.tokenizers.tokenizer import Tokenizer

WORDS = "word_embedding"


def kept_tokens(checkpoint: EncoderCheckpoint, used: Collection[int], *, characters: bool = True) -> list[int]:
    """Ids that stay, ascending: the `used` ones, special tokens and, with `characters`, single characters."""
    return kept_numbers(Tokenizer.from_files(checkpoint.tokenizer_files), used, characters=characters)


def kept_numbers(tokenizer: Tokenizer, used: Collection[int], *, characters: bool = True) -> list[int]:
    """`kept_tokens` for a tokenizer alone."""
    known = vocabulary.Vocabulary.of(tokenizer)
    return sorted({*used, *known.always, *(known.characters if characters else ())})


def keep_rows(network: Network, kept: Sequence[int]) -> Network:
    """The network with only these rows of its word embedding, in this order. Padding must be among them."""
    config = network.config
    if config.pad_id not in kept:
        raise ValueError(f"`kept` must hold padding, {config.pad_id}. Received: {len(kept)} others.")
    changes = {"vocab_size": len(kept), "pad_id": list(kept).index(config.pad_id)}
    table = np.ascontiguousarray(network.tensors[WORDS][np.asarray(kept)])
    smaller = EncoderConfig(**{**config.to_dict(), **changes})
    return dataclasses.replace(network, config=smaller, tensors={**network.tensors, WORDS: table})


def keep_tokens(checkpoint: EncoderCheckpoint, kept: Collection[int]) -> EncoderCheckpoint:
    """A copy of the checkpoint with only these tokens, renumbered from 0 in the same order."""
    _check_padding(checkpoint, kept)
    order = sorted({*kept, checkpoint.config.pad_id})
    network = Network(config=checkpoint.config, head=checkpoint.head, tensors=checkpoint.tensors)
    smaller = keep_rows(network, order)
    return dataclasses.replace(
        checkpoint,
        config=smaller.config,
        tensors=dict(smaller.tensors),
        tokenizer_files=vocabulary.keep_tokens(checkpoint.tokenizer_files, order),
        document=renumbered(checkpoint.document, order),
    )


def _check_padding(checkpoint: EncoderCheckpoint, kept: Collection[int]) -> None:
    """config.json may pad with a spare row of the table, which no token has."""
    pad_id = checkpoint.config.pad_id
    if pad_id in kept:
        return
    tokens = Tokenizer.from_files(checkpoint.tokenizer_files).vocab_size
    if pad_id >= tokens:
        raise InputError(
            f"config.json: `pad_token_id` must be one of the {tokens} tokens, to prune the others. Received: {pad_id}."
        )


def renumbered(document: dict[str, Any], kept: Sequence[int]) -> dict[str, Any]:
    """config.json with its special tokens (`bos_token_id` and so on) renumbered; removed ones are dropped."""
    numbers = {old: new for new, old in enumerate(kept)}
    found = {}
    for key, value in document.items():
        is_id = key.endswith("_token_id") and isinstance(value, int) and not isinstance(value, bool)
        if not is_id:
            found[key] = value
        elif value in numbers:
            found[key] = numbers[value]
    return found


def in_vocabulary_of(teacher: EncoderCheckpoint, tokenizer: Tokenizer) -> EncoderCheckpoint | None:
    """The teacher, reading the student's ids; None if the student has tokens that the teacher lacks.

    On texts that both split into the same pieces its outputs are unchanged.
    """
    if not teacher.tokenizer_files:
        return None
    own = Tokenizer.from_files(teacher.tokenizer_files)
    numbers = [own.token_id(tokenizer.token(number)) for number in range(tokenizer.vocab_size)]
    kept = [number for number in numbers if number is not None]
    if len(kept) < len(numbers) or not own.fits(teacher.config.vocab_size) or own.pad_id not in kept:
        return None
    if numbers[tokenizer.pad_id] != teacher.config.pad_id:
        raise InputError("Teacher and student must pad with one token. Received: two different ones.")
    network = Network(config=teacher.config, head=teacher.head, tensors=teacher.tensors)
    smaller = keep_rows(network, kept)
    return dataclasses.replace(
        teacher,
        config=smaller.config,
        tensors=dict(smaller.tensors),
        tokenizer_files=tokenizer.files(),
        document=renumbered(teacher.document, kept),
    )
