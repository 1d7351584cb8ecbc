"""A tokenizer of the `tokenizers` package from vocab.json and merges.txt: RoBERTa's byte-level pairs, as transformers
builds it.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from models_tf.checkpoints.json_text import parse_json
from models_tf.errors import InputError
from models_tf.tokenizers.files import MERGES, PIECES
from models_tf.tokenizers.refusals import refused_as

if TYPE_CHECKING:
    from tokenizers import Tokenizer as Backend

# Names of the special tokens where tokenizer_config.json does not say them.
SPECIAL = {"pad": "<pad>", "unk": "<unk>", "cls": "<s>", "sep": "</s>", "mask": "<mask>"}


def make_backend(pieces: bytes, merges: bytes, special: Mapping[str, str], *, add_prefix_space: bool) -> "Backend":
    """`special` are the names of pad, unk, cls, sep and mask; those that are not pieces get no id."""
    from tokenizers import AddedToken, decoders, models, pre_tokenizers, processors
    from tokenizers import Tokenizer as Backend

    vocab, pairs = _read_pieces(pieces), _read_merges(merges)
    with refused_as(f"{MERGES} must hold pairs of pieces of {PIECES}."):
        backend = Backend(models.BPE(vocab=vocab, merges=pairs))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=add_prefix_space)
    backend.decoder = decoders.ByteLevel()
    backend.add_special_tokens(
        [
            # A mask includes the space before it, as a word would.
            AddedToken(name, special=True, normalized=False, lstrip=kind == "mask")
            for kind, name in special.items()
            if name in vocab
        ]
    )
    ends = [(special[kind], vocab[special[kind]]) for kind in ("sep", "cls") if special[kind] in vocab]
    if len(ends) == 2:  # otherwise the missing one is named where all special tokens are checked
        backend.post_processor = processors.RobertaProcessing(
            ends[0], ends[1], trim_offsets=True, add_prefix_space=add_prefix_space
        )
    return backend


def _read_pieces(data: bytes) -> dict[str, int]:
    document = parse_json(data, f"{PIECES} must be JSON.")
    if not isinstance(document, dict) or not all(type(number) is int and number >= 0 for number in document.values()):
        raise InputError(f"{PIECES} must be an object of pieces and their numbers. Received: something else.")
    return document


def _read_merges(data: bytes) -> list[tuple[str, str]]:
    try:
        lines = data.decode("utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise InputError(f"{MERGES} must be UTF-8. Received: byte 0x{data[error.start]:02x}.") from error
    found = []
    for number, line in enumerate(lines, start=1):
        if not line.strip() or (number == 1 and line.startswith("#version")):
            continue
        parts = line.rstrip("\r").split(" ")
        if len(parts) != 2:
            raise InputError(
                f"{MERGES} line {number} must be two pieces with a space between them. Received: {line!r:.60}."
            )
        found.append((parts[0], parts[1]))
    return found
