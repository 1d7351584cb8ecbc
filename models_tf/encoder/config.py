"""`EncoderConfig`: sizes and variants of a BERT-like encoder, and from them the name and shape of every weight.

One class for MobileBERT, IB-BERT and BERT: BERT is the case without bottlenecks, trigrams and stacked FFNs. How each
of them is written in a config.json is in `models_tf/<model>/config.py`.
"""

import dataclasses
from dataclasses import dataclass
from typing import Any

from models_tf.encoder.heads import BASE, Head

ACTIVATIONS = ("relu", "relu6", "gelu", "gelu_tanh", "tanh", "silu")
NORMS = ("no_norm", "layer_norm")
NO_NORM, LAYER_NORM = NORMS
MAX_FFN = 16
# Far above any model for a phone; they keep a broken config from filling the memory.
MAX_SIZE, MAX_LAYERS, MAX_VOCABULARY, MAX_PARAMETERS = 1 << 16, 256, 1 << 21, 1 << 30


@dataclass(frozen=True, kw_only=True)
class EncoderConfig:
    """`outer_norm_epsilon` is that of the embedding's norm and of a layer's last FFN, which PyTorch's MobileBERT
    leaves at another default; the others have `norm_epsilon`.
    """

    vocab_size: int
    hidden_size: int
    num_layers: int
    num_heads: int
    intermediate_size: int
    embedding_size: int
    bottleneck_size: int  # width inside of a layer; hidden_size where there is no bottleneck
    use_bottleneck: bool = False
    use_bottleneck_attention: bool = False
    key_query_shared: bool = False
    num_ffn: int = 1
    activation: str = "gelu"
    norm: str = LAYER_NORM
    norm_epsilon: float = 1e-12
    outer_norm_epsilon: float = 1e-12
    trigram: bool = False
    pooler: bool = True  # a dense layer with tanh; without it the first token is the pooled vector
    max_positions: int = 512
    num_segments: int = 2
    hidden_dropout: float = 0.0
    attention_dropout: float = 0.0
    initializer_range: float = 0.02
    pad_id: int = 0

    def __post_init__(self) -> None:
        sizes = dict.fromkeys(("hidden_size", "intermediate_size", "embedding_size", "bottleneck_size"), MAX_SIZE)
        limits = {
            **sizes,
            "vocab_size": MAX_VOCABULARY,
            "num_layers": MAX_LAYERS,
            "num_heads": MAX_SIZE,
            "num_ffn": MAX_FFN,
            "max_positions": MAX_SIZE,
            "num_segments": MAX_SIZE,
        }
        for name, high in limits.items():
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= high:
                raise ValueError(f"`{name}` must be a whole number from 1 to {high}. Received: {value!r}.")
        for name in ("use_bottleneck", "use_bottleneck_attention", "key_query_shared", "trigram", "pooler"):
            if not isinstance(getattr(self, name), bool):
                raise ValueError(f"`{name}` must be true or false. Received: {getattr(self, name)!r}.")  # noqa: TRY004 - the one error of a config
        for name, choices in (("activation", ACTIVATIONS), ("norm", NORMS)):
            if getattr(self, name) not in choices:
                raise ValueError(f"`{name}` must be one of {', '.join(choices)}. Received: {getattr(self, name)!r}.")
        for name, low, most in (
            ("norm_epsilon", 0.0, 1.0),
            ("outer_norm_epsilon", 0.0, 1.0),
            ("hidden_dropout", 0.0, 0.99),
            ("attention_dropout", 0.0, 0.99),
            ("initializer_range", 0.0, 10.0),
        ):
            value = getattr(self, name)
            if not isinstance(value, int | float) or isinstance(value, bool) or not low <= value <= most:
                raise ValueError(f"`{name}` must be {low} to {most}. Received: {value!r}.")
        if not isinstance(self.pad_id, int) or not 0 <= self.pad_id < self.vocab_size:
            raise ValueError(f"`pad_id` must be below `vocab_size`. Received: {self.pad_id!r}.")
        if not self.use_bottleneck and self.bottleneck_size != self.hidden_size:
            raise ValueError(
                f"`bottleneck_size` must be `hidden_size`, {self.hidden_size}, where there is no bottleneck. "
                f"Received: {self.bottleneck_size}."
            )
        if self.bottleneck_size % self.num_heads:
            raise ValueError(
                f"The width of a layer must be a multiple of `num_heads`, {self.num_heads}. "
                f"Received: {self.bottleneck_size}."
            )
        if self.parameters() > MAX_PARAMETERS:
            raise ValueError(f"The sizes must give at most {MAX_PARAMETERS} weights. Received: {self.parameters()}.")

    @property
    def head_size(self) -> int:
        return self.bottleneck_size // self.num_heads

    @property
    def projects_embedding(self) -> bool:
        return self.trigram or self.embedding_size != self.hidden_size

    def reads(self, part: str) -> str:
        """What a part of a layer reads: the layer's "input", the "bottleneck" of it, or the "shared" bottleneck."""
        if part in ("bottleneck_input", "bottleneck_shared") or not self.use_bottleneck:
            return "input"
        if self.use_bottleneck_attention:
            return "bottleneck"
        return "shared" if self.key_query_shared and part in ("query", "key") else "input"

    @property
    def input_readers(self) -> tuple[str, ...]:
        """Parts of a layer that read its input, in the order in which a fused matrix holds them."""
        bottlenecks: tuple[str, ...] = ("bottleneck_input",) if self.use_bottleneck else ()
        if self.use_bottleneck and self.reads("query") == "shared":
            bottlenecks += ("bottleneck_shared",)
        return bottlenecks + tuple(part for part in ("query", "key", "value") if self.reads(part) == "input")

    def shapes(self, head: Head | None = None) -> dict[str, tuple[int, ...]]:
        """Name and shape of every weight, in the order of the forward pass; kernels are [in, out]."""
        head = head or Head(kind=BASE)
        hidden, inner, found = self.hidden_size, self.bottleneck_size, dict[str, tuple[int, ...]]()

        def dense(name: str, size: int, units: int) -> None:
            found[f"{name}.kernel"], found[f"{name}.bias"] = (size, units), (units,)

        def norm(name: str, size: int) -> None:
            found[f"{name}.gamma"] = found[f"{name}.beta"] = (size,)

        found["word_embedding"] = (self.vocab_size, self.embedding_size)
        if self.projects_embedding:
            dense("embedding_projection", self.embedding_size * (3 if self.trigram else 1), hidden)
        found["position_embedding"] = (self.max_positions, hidden)
        found["segment_embedding"] = (self.num_segments, hidden)
        norm("embedding_norm", hidden)
        for layer in range(self.num_layers):
            prefix = f"layers.{layer}"
            bottlenecks = ("bottleneck_input", "bottleneck_shared") if self.key_query_shared else ("bottleneck_input",)
            for part in bottlenecks if self.use_bottleneck else ():
                dense(f"{prefix}.{part}", hidden, inner)
                norm(f"{prefix}.{part}_norm", inner)
            for part in ("query", "key", "value"):
                dense(f"{prefix}.{part}", hidden if self.reads(part) == "input" else inner, inner)
            dense(f"{prefix}.attention_output", inner, inner)
            norm(f"{prefix}.attention_norm", inner)
            for number in range(self.num_ffn):
                dense(f"{prefix}.ffn.{number}.intermediate", inner, self.intermediate_size)
                dense(f"{prefix}.ffn.{number}.output", self.intermediate_size, inner)
                norm(f"{prefix}.ffn.{number}.norm", inner)
            if self.use_bottleneck:
                dense(f"{prefix}.bottleneck_output", inner, hidden)
                norm(f"{prefix}.bottleneck_output_norm", hidden)
        if self.pooler and head.has_pooler:
            dense("pooler", hidden, hidden)
        if head.num_labels:
            dense("classifier", hidden, head.num_labels)
        return found

    def parameters(self) -> int:
        """Weights of the encoder, without pooler and head."""
        inner, hidden, middle = self.bottleneck_size, self.hidden_size, self.intermediate_size
        embedding = self.vocab_size * self.embedding_size + (self.max_positions + self.num_segments + 2) * hidden
        if self.projects_embedding:
            embedding += (self.embedding_size * (3 if self.trigram else 1) + 1) * hidden
        layer = inner * inner + 3 * inner + self.num_ffn * (2 * inner * middle + middle + 3 * inner)
        layer += sum(((hidden if self.reads(p) == "input" else inner) + 1) * inner for p in ("query", "key", "value"))
        if self.use_bottleneck:
            layer += (1 + self.key_query_shared) * (hidden + 3) * inner + (inner + 3) * hidden
        return embedding + self.num_layers * layer

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)
