"""`EncoderConfig`: sizes and variants of a BERT-like encoder, which give the name and shape of every weight.

One class for MobileBERT, IB-BERT, BERT, GhostBERT, PoWER-BERT and ALBERT: BERT is the case without bottlenecks,
trigrams and stacked FFNs. In a compressed BERT, layers may differ in width, share weights, drop tokens or have ghosts.
`models_tf/<model>/config.py` reads and writes each model's config.json.
"""

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

from models_tf import limits
from models_tf.encoder.heads import BASE, CLASSIFICATION, Head

ACTIVATIONS = ("relu", "relu6", "gelu", "gelu_tanh", "tanh", "silu")
NORMS = ("no_norm", "layer_norm")
NO_NORM, LAYER_NORM = NORMS
# What ghosts are made from: heads (and folds of the FFN) themselves, or their share of the output.
GHOST_FORMS = ("heads", "outputs")
GHOST_HEADS, GHOST_OUTPUTS = GHOST_FORMS
MAX_GHOST_KERNEL = 31
# How a layer chooses the tokens it keeps: by the attention they get, by position, or at random (alike for all texts).
RETENTIONS = BY_SIGNIFICANCE, BY_PLACE, BY_CHANCE = ("significance", "first", "random")
MAX_FFN = 16
# Far above any model for a phone; they stop a broken config from filling the memory.
MAX_SIZE, MAX_LAYERS = 1 << 16, 256
MAX_IDS = (1 << 31) - 1  # ids are int32; the limit `vocabulary` is below


@dataclass(frozen=True, kw_only=True)
class EncoderConfig:
    """`outer_norm_epsilon` is for the norms of the embedding and of a layer's last FFN, `norm_epsilon` for all others.

    PyTorch's MobileBERT has different defaults for the two.

    `num_heads` and `intermediate_size` describe the model before compression and determine the size of a head and of a
    fold of the FFN; `kept_heads` and `kept_ffn` say how many each layer has left (empty: all). `ghost_heads` and
    `ghost_folds` are the ghosts of each layer's attention and FFN (empty: none): see `models_tf/ghostbert`.

    `retention`: how many tokens each layer keeps after its attention, always including the first (empty: all), see
    `models_tf/powerbert`. `shared_layers`: whose weights each layer uses, numbered by first use (empty: its own); 0, 0,
    1, 1 are two pairs. `norm_before_projection`: positions, segments and norm are as wide as the word embedding, which
    is projected last, as in ALBERT.
    """

    vocab_size: int
    hidden_size: int
    num_layers: int
    num_heads: int
    intermediate_size: int
    embedding_size: int
    bottleneck_size: int  # width inside a layer; equal to hidden_size without a bottleneck
    use_bottleneck: bool = False
    use_bottleneck_attention: bool = False
    key_query_shared: bool = False
    num_ffn: int = 1
    activation: str = "gelu"
    norm: str = LAYER_NORM
    norm_epsilon: float = 1e-12
    outer_norm_epsilon: float = 1e-12
    trigram: bool = False
    pooler: bool = True  # a dense layer on the first token; without it the pooled vector is that token
    pooler_activation: str = "tanh"
    pools_base: bool = True  # whether a model without a head gives a pooled vector
    max_positions: int = 512
    num_segments: int = 2  # 0: there is no table of segments
    hidden_dropout: float = 0.0
    attention_dropout: float = 0.0
    initializer_range: float = 0.02
    pad_id: int = 0
    kept_heads: tuple[int, ...] = ()
    kept_ffn: tuple[int, ...] = ()
    ghost_heads: tuple[int, ...] = ()
    ghost_folds: tuple[int, ...] = ()
    ghost_on: str = GHOST_HEADS
    ghost_kernel: int = 3
    retention: tuple[int, ...] = ()
    retention_by: str = BY_SIGNIFICANCE
    retention_seed: int = 0
    shared_layers: tuple[int, ...] = ()
    norm_before_projection: bool = False

    def __post_init__(self) -> None:
        sizes = dict.fromkeys(("hidden_size", "intermediate_size", "embedding_size", "bottleneck_size"), MAX_SIZE)
        highest = {
            **sizes,
            "vocab_size": MAX_IDS,
            "num_layers": MAX_LAYERS,
            "num_heads": MAX_SIZE,
            "num_ffn": MAX_FFN,
            "max_positions": MAX_SIZE,
            "num_segments": MAX_SIZE,
        }
        for name, high in highest.items():
            value, least = getattr(self, name), 0 if name == "num_segments" else 1
            if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= high:
                raise ValueError(f"`{name}` must be a whole number from {least} to {high}. Received: {value!r}.")
        for name in (
            "use_bottleneck",
            "use_bottleneck_attention",
            "key_query_shared",
            "trigram",
            "pooler",
            "pools_base",
            "norm_before_projection",
        ):
            if not isinstance(getattr(self, name), bool):
                # Every error of a config is a ValueError.
                raise ValueError(f"`{name}` must be true or false. Received: {getattr(self, name)!r}.")  # noqa: TRY004
        for name, choices in (
            ("activation", ACTIVATIONS),
            ("pooler_activation", ACTIVATIONS),
            ("norm", NORMS),
            ("ghost_on", GHOST_FORMS),
            ("retention_by", RETENTIONS),
        ):
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
        self._check_layers()
        self._check_shared()
        self._check_tokens()
        limits.check("vocabulary", self.vocab_size, "`vocab_size`")
        limits.check("parameters", self.parameters(), "The model")

    def _check_layers(self) -> None:
        """Per-layer settings: widths after compression, and ghosts."""
        most = {"kept_heads": (1, self.num_heads), "kept_ffn": (1, self.intermediate_size)}
        most |= dict.fromkeys(("ghost_heads", "ghost_folds"), (0, self.num_heads))
        for name, (low, high) in most.items():
            # JSON has lists.
            object.__setattr__(self, name, tuple(getattr(self, name)))
            values = getattr(self, name)
            if values and (self.use_bottleneck or self.num_ffn > 1):
                raise ValueError(f"`{name}` is for layers without bottlenecks and with one FFN. Received: {values}.")
            whole = all(isinstance(value, int) and not isinstance(value, bool) for value in values)
            if values and (
                len(values) != self.num_layers or not whole or not low <= min(values) <= max(values) <= high
            ):
                raise ValueError(
                    f"`{name}` must be {self.num_layers} whole numbers from {low} to {high}, one per layer. "
                    f"Received: {list(values)}."
                )
        size = self.ghost_kernel
        if not isinstance(size, int) or isinstance(size, bool) or not 1 <= size <= MAX_GHOST_KERNEL or not size % 2:
            raise ValueError(f"`ghost_kernel` must be an odd number from 1 to {MAX_GHOST_KERNEL}. Received: {size!r}.")
        for layer, count in enumerate(self.ghost_folds):
            if count and (self.intermediate_size % self.num_heads or self.ffn_of(layer) % self.fold_size):
                raise ValueError(
                    f"The FFN of a layer with ghosts must be a multiple of a fold, `intermediate_size` / `num_heads`. "
                    f"Received: {self.ffn_of(layer)} of {self.intermediate_size} in layer {layer}, "
                    f"{self.num_heads} heads."
                )

    def _check_shared(self) -> None:
        object.__setattr__(self, "shared_layers", tuple(self.shared_layers))
        shared = self.shared_layers
        if not shared:
            return
        if self.norm != LAYER_NORM or self.use_bottleneck or self.num_ffn > 1 or self.ghost_heads or self.ghost_folds:
            raise ValueError("`shared_layers` is for BERT's layers, without bottlenecks or ghosts. Received: some.")
        whole = all(isinstance(value, int) and not isinstance(value, bool) for value in shared)
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

    def _check_tokens(self) -> None:
        """Settings for the tokens before and between the layers."""
        if self.norm_before_projection and self.trigram:
            raise ValueError("`norm_before_projection` is for embeddings without trigrams. Received: both.")
        object.__setattr__(self, "retention", tuple(self.retention))
        kept = self.retention
        if kept and (self.use_bottleneck or self.num_ffn > 1 or self.ghost_heads or self.ghost_folds):
            raise ValueError("`retention` is for BERT's layers, without bottlenecks or ghosts. Received: some.")
        if kept:
            check_retention(kept, self.num_layers)
        seed = self.retention_seed
        if not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed < 1 << 31:
            raise ValueError(f"`retention_seed` must be a whole number from 0. Received: {seed!r}.")

    @property
    def first_uses(self) -> tuple[int, ...]:
        """For each stored set of layer weights (`layers.0` and so on), the first layer that uses it."""
        if not self.shared_layers:
            return tuple(range(self.num_layers))
        return tuple(self.shared_layers.index(stored) for stored in range(max(self.shared_layers) + 1))

    def weights_of(self, layer: int) -> str:
        """The prefix of a layer's weight names."""
        return f"layers.{self.shared_layers[layer] if self.shared_layers else layer}"

    @property
    def head_size(self) -> int:
        return self.bottleneck_size // self.num_heads

    @property
    def fold_size(self) -> int:
        """FFN neurons in one fold: there are as many folds as heads before compression."""
        return self.intermediate_size // self.num_heads

    def heads_of(self, layer: int) -> int:
        return self.kept_heads[layer] if self.kept_heads else self.num_heads

    def ffn_of(self, layer: int) -> int:
        """Neurons in the middle of a layer's FFN."""
        return self.kept_ffn[layer] if self.kept_ffn else self.intermediate_size

    def ghosts_of(self, layer: int) -> tuple[int, int]:
        """Ghosts of the heads, and of the folds of the FFN."""
        return (
            self.ghost_heads[layer] if self.ghost_heads else 0,
            self.ghost_folds[layer] if self.ghost_folds else 0,
        )

    @property
    def projects_embedding(self) -> bool:
        return self.trigram or self.norm_before_projection or self.embedding_size != self.hidden_size

    def pools(self, head: Head) -> bool:
        """Whether there is a pooled vector: not for heads on every token, and not in every model without a head."""
        return head.kind == CLASSIFICATION or (head.kind == BASE and self.pools_base)

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
        width = self.embedding_size if self.norm_before_projection else hidden
        found["position_embedding"] = (self.max_positions, width)
        if self.num_segments:
            found["segment_embedding"] = (self.num_segments, width)
        norm("embedding_norm", width)
        for layer in self.first_uses:
            prefix = self.weights_of(layer)
            bottlenecks = ("bottleneck_input", "bottleneck_shared") if self.key_query_shared else ("bottleneck_input",)
            for part in bottlenecks if self.use_bottleneck else ():
                dense(f"{prefix}.{part}", hidden, inner)
                norm(f"{prefix}.{part}_norm", inner)
            width = self.heads_of(layer) * self.head_size
            for part in ("query", "key", "value"):
                dense(f"{prefix}.{part}", hidden if self.reads(part) == "input" else inner, width)
            heads, folds = self.ghosts_of(layer)
            width += self._ghosts(found, f"{prefix}.ghost_heads", self.heads_of(layer), self.head_size, heads)
            dense(f"{prefix}.attention_output", width, inner)
            norm(f"{prefix}.attention_norm", inner)
            for number in range(self.num_ffn):
                middle = self.ffn_of(layer)
                dense(f"{prefix}.ffn.{number}.intermediate", inner, middle)
                if folds:
                    size = self.fold_size
                    middle += self._ghosts(found, f"{prefix}.ghost_folds", middle // size, size, folds)
                dense(f"{prefix}.ffn.{number}.output", middle, inner)
                norm(f"{prefix}.ffn.{number}.norm", inner)
            if self.use_bottleneck:
                dense(f"{prefix}.bottleneck_output", inner, hidden)
                norm(f"{prefix}.bottleneck_output_norm", hidden)
        if self.pooler and self.pools(head):
            dense("pooler", hidden, hidden)
        if head.num_labels:
            dense("classifier", hidden, head.num_labels)
        return found

    def _ghosts(self, found: dict[str, tuple[int, ...]], name: str, groups: int, size: int, count: int) -> int:
        """Adds the weights of `count` ghosts, each made from all groups; returns the number of features they add."""
        if not count:
            return 0
        if self.ghost_on == GHOST_HEADS:
            found[f"{name}.kernel"] = (self.ghost_kernel, groups, size, count)
            return size * count
        found[f"{name}.kernel"] = (self.ghost_kernel, groups, self.hidden_size, count)
        found[f"{name}.gain"] = (count,)
        return 0

    def parameters(self) -> int:
        """Number of weights in the encoder, without pooler and head."""
        return sum(math.prod(shape) for name, shape in self.shapes().items() if not name.startswith("pooler."))

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        values = dataclasses.asdict(self)
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


def check_retention(kept: tuple[int, ...], num_layers: int) -> None:
    """Raises ValueError unless there is one number per layer, at least 1 and never growing."""
    whole = all(isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MAX_SIZE for value in kept)
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
