"""What every encoder has: sizes, embeddings, norms, dropout and the pooler."""

from dataclasses import dataclass

from models_tf.encoder.config_parts.checks import check_choice, check_flags, check_number, check_whole
from models_tf.encoder.config_parts.shapes import Shapes, dense, norm
from models_tf.encoder.heads import BASE, CLASSIFICATION, Head

ACTIVATIONS = ("relu", "relu6", "gelu", "gelu_tanh", "tanh", "silu")
NORMS = ("no_norm", "layer_norm")
NO_NORM, LAYER_NORM = NORMS
# Far above any model for a phone; they stop a broken config from filling the memory.
MAX_SIZE, MAX_LAYERS = 1 << 16, 256
MAX_IDS = (1 << 31) - 1  # ids are int32; the limit `vocabulary` is below


@dataclass(frozen=True, kw_only=True)
class Core:
    """`outer_norm_epsilon` is for the norms of the embedding and of a layer's last FFN, `norm_epsilon` for all others.

    PyTorch's MobileBERT has different defaults for the two.

    `norm_before_projection`: positions, segments and norm are as wide as the word embedding, which is projected last,
    as in ALBERT. `sum_before_projection`: positions and segments are, and the norm comes last, as in DeBERTa.
    """

    vocab_size: int
    hidden_size: int
    num_layers: int
    num_heads: int
    intermediate_size: int
    embedding_size: int
    activation: str = "gelu"
    norm: str = LAYER_NORM
    norm_epsilon: float = 1e-12
    outer_norm_epsilon: float = 1e-12
    trigram: bool = False
    norm_before_projection: bool = False
    sum_before_projection: bool = False  # by a kernel without a bias
    pooler: bool = True  # a dense layer on the first token; without it the pooled vector is that token
    pooler_activation: str = "tanh"
    pools_base: bool = True  # whether a model without a head gives a pooled vector
    max_positions: int = 512
    has_positions: bool = True  # a table of them; without it `max_positions` is still the longest input
    num_segments: int = 2  # 0: there is no table of segments
    hidden_dropout: float = 0.0
    attention_dropout: float = 0.0
    initializer_range: float = 0.02
    pad_id: int = 0

    def __post_init__(self) -> None:
        for name in ("hidden_size", "intermediate_size", "embedding_size", "num_heads", "max_positions"):
            check_whole(self, name, 1, MAX_SIZE)
        check_whole(self, "vocab_size", 1, MAX_IDS)
        check_whole(self, "num_layers", 1, MAX_LAYERS)
        check_whole(self, "num_segments", 0, MAX_SIZE)
        check_flags(self, ("trigram", "pooler", "pools_base", "norm_before_projection", "has_positions"))
        check_flags(self, ("sum_before_projection",))
        check_choice(self, "activation", ACTIVATIONS)
        check_choice(self, "pooler_activation", ACTIVATIONS)
        check_choice(self, "norm", NORMS)
        for name, high in (
            ("norm_epsilon", 1.0),
            ("outer_norm_epsilon", 1.0),
            ("hidden_dropout", 0.99),
            ("attention_dropout", 0.99),
            ("initializer_range", 10.0),
        ):
            check_number(self, name, 0.0, high)
        if not isinstance(self.pad_id, int) or not 0 <= self.pad_id < self.vocab_size:
            raise ValueError(f"`pad_id` must be below `vocab_size`. Received: {self.pad_id!r}.")
        if self.norm_before_projection and self.trigram:
            raise ValueError("`norm_before_projection` is for embeddings without trigrams. Received: both.")
        if not self.has_positions and (self.trigram or self.norm != LAYER_NORM):
            raise ValueError("`has_positions` may be false with layer norms and without trigrams. Received: others.")
        if self.sum_before_projection and (self.trigram or self.norm_before_projection):
            raise ValueError("`sum_before_projection` is for a sum without trigrams and norm. Received: one of them.")

    @property
    def projects_embedding(self) -> bool:
        return self.trigram or self.norm_before_projection or self.embedding_size != self.hidden_size

    def pools(self, head: Head) -> bool:
        """Whether there is a pooled vector: not for heads on every token, and not in every model without a head."""
        return head.kind == CLASSIFICATION or (head.kind == BASE and self.pools_base)

    def embedding_shapes(self) -> Shapes:
        """The tables, their norm, and the projection of the words."""
        found: Shapes = {"word_embedding": (self.vocab_size, self.embedding_size)}
        if self.projects_embedding:
            found |= dense("embedding_projection", self.embedding_size * (3 if self.trigram else 1), self.hidden_size)
        if self.sum_before_projection:
            found.pop("embedding_projection.bias", None)
        narrow = self.norm_before_projection or self.sum_before_projection
        width = self.embedding_size if narrow else self.hidden_size
        if self.has_positions:
            found["position_embedding"] = (self.max_positions, width)
        if self.num_segments:
            found["segment_embedding"] = (self.num_segments, width)
        return found | norm("embedding_norm", self.embedding_size if self.norm_before_projection else self.hidden_size)

    def head_shapes(self, head: Head) -> Shapes:
        """What stands behind the last layer."""
        found: Shapes = {}
        if self.pooler and self.pools(head):
            found |= dense("pooler", self.hidden_size, self.hidden_size)
        if head.num_labels:
            found |= dense("classifier", self.hidden_size, head.num_labels)
        return found
