"""How wide each layer is after compression."""

from dataclasses import dataclass

from models_tf.encoder.config_parts.bottleneck import Bottleneck
from models_tf.encoder.config_parts.checks import as_tuple, is_whole


@dataclass(frozen=True, kw_only=True)
class Widths(Bottleneck):
    """`num_heads` and `intermediate_size` describe the model before compression and determine the size of a head and of
    a fold of the FFN; `kept_heads` and `kept_ffn` say how many each layer has left (empty: all).
    """

    kept_heads: tuple[int, ...] = ()
    kept_ffn: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_per_layer("kept_heads", 1, self.num_heads)
        self.check_per_layer("kept_ffn", 1, self.intermediate_size)

    def check_per_layer(self, name: str, low: int, high: int) -> None:
        """A field that is empty or has one number per layer."""
        values = as_tuple(self, name)
        if values and not self.has_plain_layers:
            raise ValueError(f"`{name}` is for layers without bottlenecks and with one FFN. Received: {values}.")
        whole = all(is_whole(value) for value in values)
        if values and (len(values) != self.num_layers or not whole or not low <= min(values) <= max(values) <= high):
            raise ValueError(
                f"`{name}` must be {self.num_layers} whole numbers from {low} to {high}, one per layer. "
                f"Received: {list(values)}."
            )

    def heads_of(self, layer: int) -> int:
        return self.kept_heads[layer] if self.kept_heads else self.num_heads

    def ffn_of(self, layer: int) -> int:
        """Neurons in the middle of a layer's FFN."""
        return self.kept_ffn[layer] if self.kept_ffn else self.intermediate_size
