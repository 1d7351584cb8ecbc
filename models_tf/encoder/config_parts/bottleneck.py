"""MobileBERT's layers: narrower inside than between them, with several FFNs. BERT's are the case without."""

from dataclasses import dataclass

from models_tf.encoder.config_parts.checks import check_flags, check_whole
from models_tf.encoder.config_parts.core import MAX_SIZE, Core
from models_tf.encoder.config_parts.shapes import Shapes, dense, norm

MAX_FFN = 16


@dataclass(frozen=True, kw_only=True)
class Bottleneck(Core):
    """`bottleneck_size` is the width inside a layer; equal to `hidden_size` without a bottleneck."""

    bottleneck_size: int
    use_bottleneck: bool = False
    use_bottleneck_attention: bool = False
    key_query_shared: bool = False
    num_ffn: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole(self, "bottleneck_size", 1, MAX_SIZE)
        check_whole(self, "num_ffn", 1, MAX_FFN)
        check_flags(self, ("use_bottleneck", "use_bottleneck_attention", "key_query_shared"))
        if not self.use_bottleneck and self.bottleneck_size != self.hidden_size:
            raise ValueError(
                f"`bottleneck_size` must be `hidden_size`, {self.hidden_size}, where there is no bottleneck. "
                f"Received: {self.bottleneck_size}."
            )
        if self.bottleneck_size % self.num_heads:
            width = "bottleneck_size" if self.use_bottleneck else "hidden_size"
            raise ValueError(
                f"`{width}`, the width of a layer, must be a multiple of `num_heads`, {self.num_heads}. "
                f"Received: {self.bottleneck_size}."
            )

    @property
    def head_size(self) -> int:
        return self.bottleneck_size // self.num_heads

    @property
    def has_plain_layers(self) -> bool:
        """Whether layers are BERT's: no bottlenecks, one FFN."""
        return not self.use_bottleneck and self.num_ffn == 1

    def reads(self, part: str) -> str:
        """What a part of a layer reads: the layer's "input", its "bottleneck" or the "shared" bottleneck."""
        if part in ("bottleneck_input", "bottleneck_shared") or not self.use_bottleneck:
            return "input"
        if self.use_bottleneck_attention:
            return "bottleneck"
        return "shared" if self.key_query_shared and part in ("query", "key") else "input"

    @property
    def input_readers(self) -> tuple[str, ...]:
        """Parts of a layer that read its input, in their order inside a fused matrix."""
        bottlenecks: tuple[str, ...] = ("bottleneck_input",) if self.use_bottleneck else ()
        if self.use_bottleneck and self.reads("query") == "shared":
            bottlenecks += ("bottleneck_shared",)
        return bottlenecks + tuple(part for part in ("query", "key", "value") if self.reads(part) == "input")

    def bottleneck_shapes(self, prefix: str) -> Shapes:
        """The way into a layer, where it has bottlenecks."""
        found: Shapes = {}
        parts = ("bottleneck_input", "bottleneck_shared") if self.key_query_shared else ("bottleneck_input",)
        for part in parts if self.use_bottleneck else ():
            found |= dense(f"{prefix}.{part}", self.hidden_size, self.bottleneck_size)
            found |= norm(f"{prefix}.{part}_norm", self.bottleneck_size)
        return found

    def bottleneck_output_shapes(self, prefix: str) -> Shapes:
        """The way out."""
        if not self.use_bottleneck:
            return {}
        name = f"{prefix}.bottleneck_output"
        return dense(name, self.bottleneck_size, self.hidden_size) | norm(f"{name}_norm", self.hidden_size)
