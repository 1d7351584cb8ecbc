"""Layers that share their weights, as ALBERT's do."""

from dataclasses import dataclass

from models_tf.encoder.config_parts.checks import as_tuple, is_whole
from models_tf.encoder.config_parts.core import LAYER_NORM
from models_tf.encoder.config_parts.retention import Retention


@dataclass(frozen=True, kw_only=True)
class Sharing(Retention):
    """`shared_layers`: whose weights each layer uses, numbered by first use (empty: its own); 0, 0, 1, 1 are two
    pairs.
    """

    shared_layers: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        shared = as_tuple(self, "shared_layers")
        if not shared:
            return
        if self.norm != LAYER_NORM or not self.has_plain_layers or self.has_ghosts:
            raise ValueError("`shared_layers` is for BERT's layers, without bottlenecks or ghosts. Received: some.")
        whole = all(is_whole(value) for value in shared)
        if len(shared) != self.num_layers or not whole or list(dict.fromkeys(shared)) != list(range(len(set(shared)))):
            raise ValueError(
                f"`shared_layers` must be {self.num_layers} whole numbers, the first 0 and each new one the next. "
                f"Received: {list(shared)}."
            )
        for layer in range(self.num_layers):
            first = self.first_uses[shared[layer]]
            if (self.heads_of(layer), self.ffn_of(layer)) != (self.heads_of(first), self.ffn_of(first)):
                raise ValueError(
                    f"Layers that share weights must be of one width. Received: layers {first} and {layer} of others."
                )

    @property
    def first_uses(self) -> tuple[int, ...]:
        """For each stored set of layer weights (`layers.0` and so on), the first layer that uses it."""
        if not self.shared_layers:
            return tuple(range(self.num_layers))
        return tuple(self.shared_layers.index(stored) for stored in range(max(self.shared_layers) + 1))

    def weights_of(self, layer: int) -> str:
        """The prefix of a layer's weight names."""
        return f"layers.{self.shared_layers[layer] if self.shared_layers else layer}"
