"""GhostBERT's cheap features beside what was kept of each layer, see `models_tf/ghostbert`."""

from dataclasses import dataclass

from models_tf.encoder.config_parts.checks import check_choice, is_whole
from models_tf.encoder.config_parts.shapes import Shapes
from models_tf.encoder.config_parts.widths import Widths

# What ghosts are made from: heads (and folds of the FFN) themselves, or their share of the output.
GHOST_FORMS = ("heads", "outputs")
GHOST_HEADS, GHOST_OUTPUTS = GHOST_FORMS
MAX_GHOST_KERNEL = 31


@dataclass(frozen=True, kw_only=True)
class Ghosts(Widths):
    """`ghost_heads` and `ghost_folds` are the ghosts of each layer's attention and FFN (empty: none)."""

    ghost_heads: tuple[int, ...] = ()
    ghost_folds: tuple[int, ...] = ()
    ghost_on: str = GHOST_HEADS
    ghost_kernel: int = 3

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(self, "ghost_on", GHOST_FORMS)
        self.check_per_layer("ghost_heads", 0, self.num_heads)
        self.check_per_layer("ghost_folds", 0, self.num_heads)
        size = self.ghost_kernel
        if not is_whole(size) or not 1 <= size <= MAX_GHOST_KERNEL or not size % 2:
            raise ValueError(f"`ghost_kernel` must be an odd number from 1 to {MAX_GHOST_KERNEL}. Received: {size!r}.")
        for layer, count in enumerate(self.ghost_folds):
            if count and (self.intermediate_size % self.num_heads or self.ffn_of(layer) % self.fold_size):
                raise ValueError(
                    f"The FFN of a layer with ghosts must be a multiple of a fold, `intermediate_size` / `num_heads`. "
                    f"Received: {self.ffn_of(layer)} of {self.intermediate_size} in layer {layer}, "
                    f"{self.num_heads} heads."
                )

    @property
    def fold_size(self) -> int:
        """FFN neurons in one fold: there are as many folds as heads before compression."""
        return self.intermediate_size // self.num_heads

    @property
    def has_ghosts(self) -> bool:
        return bool(self.ghost_heads or self.ghost_folds)

    def ghosts_of(self, layer: int) -> tuple[int, int]:
        """Ghosts of the heads, and of the folds of the FFN."""
        return (
            self.ghost_heads[layer] if self.ghost_heads else 0,
            self.ghost_folds[layer] if self.ghost_folds else 0,
        )

    def ghost_shapes(self, name: str, groups: int, size: int, count: int) -> Shapes:
        """Of `count` ghosts, each made from all groups."""
        if not count:
            return {}
        if self.ghost_on == GHOST_HEADS:
            return {f"{name}.kernel": (self.ghost_kernel, groups, size, count)}
        return {f"{name}.kernel": (self.ghost_kernel, groups, self.hidden_size, count), f"{name}.gain": (count,)}

    def ghost_features(self, size: int, count: int) -> int:
        """How many features the ghosts add to those that the next dense layer reads."""
        return size * count if self.ghost_on == GHOST_HEADS else 0
