"""`Compression`: what to remove from a BERT and what to add. Parses flag texts; imports nothing heavy."""

import re
from dataclasses import dataclass
from typing import Any

from models_tf.compress.layer_choice import LayerChoice, parse_layers
from models_tf.encoder.config import (
    BY_SIGNIFICANCE,
    GHOST_FORMS,
    MAX_GHOST_KERNEL,
    MAX_LAYERS,
    MAX_SIZE,
    RETENTIONS,
    check_retention,
)
from models_tf.errors import InputError, naming_fields

# See `importance.py` for `mask` and `token`, `heads.py` for `layer` and `global`, `ghostbert` for ghosts.
HEAD_IMPORTANCE = MASK, TOKEN, RANDOM = ("mask", "token", "random")
HEAD_SCOPES = PER_LAYER, GLOBAL = ("layer", "global")
# One ghost for each head and fold removed.
AS_REMOVED = 0
# How the weights of a group of layers start, see `share.py`.
SHARE_FROM = FIRST, MEAN = ("first", "mean")
# Rows used to measure importance and contribution.
DEFAULT_ROWS = 2048
_REMOVED = re.compile(r"\s*(\d{1,5})\s*:\s*(\d{1,5}(?:\s*,\s*\d{1,5})*)\s*", flags=re.ASCII)


@dataclass(frozen=True, kw_only=True)
class Compression:
    """Applied in this order: layers, heads and neurons, ghosts, shared layers, vocabulary, word embedding, retention.

    `prune_heads` and `prune_ffn` are the shares to remove. `remove_heads` lists (layer, heads) in the numbering of the
    given model. `ghosts` per layer: None for none, AS_REMOVED, or a number. `share_layers` is the number of groups,
    `retention` is for the remaining layers. `drop_layers` and `retention` may be given as text.
    """

    drop_layers: LayerChoice | str | None = None
    prune_heads: float = 0.0
    head_scope: str = HEAD_SCOPES[0]
    head_importance: str = MASK
    normalize_heads: bool = False
    min_heads: int = 1
    remove_heads: tuple[tuple[int, tuple[int, ...]], ...] = ()
    prune_ffn: float = 0.0
    ghosts: int | None = None
    ghost_on: str = GHOST_FORMS[0]
    ghost_kernel: int = 3
    share_layers: int | None = None
    share_from: str = FIRST
    embedding_size: int | None = None
    prune_vocab: bool = False
    drop_characters: bool = False
    retention: tuple[int, ...] | str = ()
    retention_by: str = BY_SIGNIFICANCE
    seed: int = 0

    @naming_fields()
    def __post_init__(self) -> None:
        if isinstance(self.drop_layers, str):
            object.__setattr__(self, "drop_layers", parse_layers(self.drop_layers))
        kept = parse_retention(self.retention) if isinstance(self.retention, str) else tuple(self.retention)
        object.__setattr__(self, "retention", kept)
        if kept:
            check_kept_tokens(kept, len(kept))
        for name in ("prune_heads", "prune_ffn"):
            share = getattr(self, name)
            if isinstance(share, bool) or not isinstance(share, int | float) or not 0.0 <= share < 1.0:
                raise InputError(
                    f"{_flag(name)} is the share that is removed, from 0 to below 1 (the part that is kept must be in "
                    f"(0, 1]). Received: {share}."
                )
        for name, choices in (
            ("head_scope", HEAD_SCOPES),
            ("head_importance", HEAD_IMPORTANCE),
            ("ghost_on", GHOST_FORMS),
            ("share_from", SHARE_FROM),
            ("retention_by", RETENTIONS),
        ):
            if getattr(self, name) not in choices:
                raise InputError(f"{_flag(name)} must be one of {', '.join(choices)}. Received: {getattr(self, name)}.")
        self._check_numbers()
        if self.prune_heads and self.remove_heads:
            raise InputError("Give --prune-heads or --remove-heads, not both. Received: both.")
        if self.ghosts is not None and (self.retention or self.share_layers is not None):
            other = "--retention" if self.retention else "--share-layers"
            raise InputError(
                f"--ghosts are for layers of their own that keep all tokens. Received: --ghosts and {other}."
            )

    def _check_numbers(self) -> None:
        for name, low in (("min_heads", 1), ("seed", 0)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or not low <= value < 1 << 31:
                raise InputError(f"{_flag(name)} must be a whole number from {low}. Received: {value}.")
        for name, high in (("share_layers", MAX_LAYERS), ("embedding_size", MAX_SIZE)):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= high):
                raise InputError(f"{_flag(name)} must be a whole number from 1 to {high}. Received: {value}.")
        if self.ghosts is not None and (not isinstance(self.ghosts, int) or self.ghosts < 0):
            raise InputError(f"--ghosts must be a whole number from 1, or nothing. Received: {self.ghosts}.")
        size = self.ghost_kernel
        if isinstance(size, bool) or not isinstance(size, int) or not 1 <= size <= MAX_GHOST_KERNEL or not size % 2:
            raise InputError(f"--ghost-kernel must be an odd number from 1 to {MAX_GHOST_KERNEL}. Received: {size}.")

    @property
    def is_empty(self) -> bool:
        """Whether nothing is asked for."""
        some = (self.drop_layers, self.prune_heads, self.remove_heads, self.prune_ffn, self.retention, self.prune_vocab)
        return not any(some) and self.ghosts is None and self.share_layers is None and self.embedding_size is None

    @property
    def changes_width(self) -> bool:
        return bool(self.prune_heads or self.remove_heads or self.prune_ffn)

    @property
    def needs_gradients(self) -> bool:
        """Whether rows with labels are needed."""
        return bool(self.prune_ffn or (self.prune_heads and self.head_importance != RANDOM))

    @property
    def needs_rows(self) -> bool:
        """Whether any rows are needed: with labels for gradients, without for the layers' contribution."""
        return self.needs_gradients or (isinstance(self.drop_layers, LayerChoice) and self.drop_layers.needs_data)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        values["drop_layers"] = None if self.drop_layers is None else str(self.drop_layers)
        values["remove_heads"] = {str(layer): list(heads) for layer, heads in self.remove_heads}
        values["retention"] = list(self.retention)
        values["ghosts"] = "as removed" if self.ghosts == AS_REMOVED else self.ghosts
        return values


def parse_heads(text: str) -> tuple[tuple[int, tuple[int, ...]], ...]:
    """Parses `--remove-heads`: `0:3,5;2:1` means heads 3 and 5 of layer 0 and head 1 of layer 2."""
    found: dict[int, tuple[int, ...]] = {}
    for part in text.split(";"):
        match = _REMOVED.fullmatch(part)
        if not match or int(match[1]) in found:
            raise InputError(
                f'--remove-heads must be layers with their heads, such as "0:3,5;2:1", each layer once. '
                f"Received: {text!r}."
            )
        found[int(match[1])] = tuple(dict.fromkeys(int(head) for head in match[2].split(",")))
    return tuple(sorted(found.items()))


def parse_retention(text: str) -> tuple[int, ...]:
    """Parses `--retention`: `64,48,40` are the tokens kept by layers 0, 1 and 2."""
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdecimal() and len(part) < 6 for part in parts):
        raise InputError(
            f"--retention must be whole numbers from 1, one a layer, such as 64,48,40. Received: {text[:100]!r}."
        )
    return tuple(map(int, parts))


def check_kept_tokens(kept: tuple[int, ...], layers: int, *, dropped: bool = False) -> None:
    """Raises InputError unless `kept` can be the retention of this many layers. `dropped`: after dropping others."""
    try:
        check_retention(kept, layers)
    except ValueError as error:
        text = str(error).replace("`retention`", "--retention")
        raise InputError(
            text.replace("each layer keeps", "each layer left by --drop-layers keeps") if dropped else text
        ) from error


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")
