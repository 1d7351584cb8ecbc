"""PoWER-BERT's tokens: how many each layer keeps and how it chooses them, see `models_tf/powerbert`."""

from dataclasses import dataclass

from models_tf.encoder.config_parts.checks import as_tuple, check_choice, is_whole
from models_tf.encoder.config_parts.core import MAX_SIZE
from models_tf.encoder.config_parts.ghosts import Ghosts

# How a layer chooses the tokens it keeps: by the attention they get, by position, or at random (alike for all texts).
RETENTIONS = BY_SIGNIFICANCE, BY_PLACE, BY_CHANCE = ("significance", "first", "random")


@dataclass(frozen=True, kw_only=True)
class Retention(Ghosts):
    """`retention`: how many tokens each layer keeps after its attention, always including the first (empty: all)."""

    retention: tuple[int, ...] = ()
    retention_by: str = BY_SIGNIFICANCE
    retention_seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(self, "retention_by", RETENTIONS)
        kept = as_tuple(self, "retention")
        if kept and (not self.has_plain_layers or self.has_ghosts):
            raise ValueError("`retention` is for BERT's layers, without bottlenecks or ghosts. Received: some.")
        if kept:
            check_retention(kept, self.num_layers)
        seed = self.retention_seed
        if not is_whole(seed) or not 0 <= seed < 1 << 31:
            raise ValueError(f"`retention_seed` must be a whole number from 0. Received: {seed!r}.")


def check_retention(kept: tuple[int, ...], num_layers: int) -> None:
    """Raises ValueError unless there is one number per layer, at least 1 and never growing."""
    whole = all(is_whole(value) and 1 <= value <= MAX_SIZE for value in kept)
    if len(kept) != num_layers or not whole:
        raise ValueError(
            f"`retention` must be {num_layers} whole numbers from 1, the tokens that each layer keeps. "
            f"Received: {len(kept)} numbers, {list(kept)}."
        )
    for layer in range(1, num_layers):
        if kept[layer] > kept[layer - 1]:
            raise ValueError(
                f"`retention` must not grow: a token that is gone does not come back. Received: {kept[layer]} in layer "
                f"{layer} after {kept[layer - 1]}."
            )
