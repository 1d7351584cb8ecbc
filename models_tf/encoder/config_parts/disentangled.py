"""DeBERTa's attention: scores of content and of relative positions are added, see `models_tf/deberta_v2`."""

import math
from dataclasses import dataclass

from models_tf.encoder.config_parts.checks import as_tuple, check_flags, check_whole
from models_tf.encoder.config_parts.core import LAYER_NORM, MAX_SIZE
from models_tf.encoder.config_parts.relative import Relative
from models_tf.encoder.config_parts.shapes import Shapes, dense, norm

# A token's query with the key of a distance, and a token's key with the query of a distance.
POSITION_ATTENTION = C2P, P2C = ("c2p", "p2c")


@dataclass(frozen=True, kw_only=True)
class Disentangled(Relative):
    """`position_attention`: which scores are added to those of content (empty: none). All layers read one table with a
    row for each distance up to `relative_span`, or for each of `position_buckets` of them, which grow (0: none).

    `shares_position_kernels`: the kernels of keys and queries are those of the table, too. `norms_relative`: the table
    has a norm.
    """

    position_attention: tuple[str, ...] = ()
    position_buckets: int = 0
    relative_span: int = 512
    shares_position_kernels: bool = True
    norms_relative: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        kinds = as_tuple(self, "position_attention")
        if kinds != tuple(kind for kind in POSITION_ATTENTION if kind in kinds):
            raise ValueError(
                f"`position_attention` must be some of {', '.join(POSITION_ATTENTION)}. Received: {kinds}."
            )
        check_whole(self, "position_buckets", 0, MAX_SIZE)
        check_whole(self, "relative_span", 1, MAX_SIZE)
        check_flags(self, ("shares_position_kernels", "norms_relative"))
        if not kinds:
            return
        if self.position_buckets and not 1 <= self.position_buckets // 2 < self.relative_span - 1:
            raise ValueError(
                f"`position_buckets` must be 2 to {2 * self.relative_span - 3}, by `relative_span`. "
                f"Received: {self.position_buckets}."
            )
        whole = self.has_plain_layers and self.norm == LAYER_NORM
        if not whole or self.kept_heads or self.has_ghosts or self.retention or self.relative_positions:
            raise ValueError(
                "`position_attention` is for BERT's layers with all heads and tokens, without ghosts. Received: others."
            )

    @property
    def distance_rows(self) -> int:
        """Rows of the table for tokens to one side."""
        return self.position_buckets or self.relative_span

    @property
    def score_factor(self) -> float:
        """What the sum of all scores is multiplied by."""
        return 1.0 / math.sqrt(self.head_size * (1 + len(self.position_attention)))

    @property
    def position_parts(self) -> tuple[str, ...]:
        """What is made of the table for each layer: the key of a distance, its query, or both."""
        return tuple({C2P: "key", P2C: "query"}[kind] for kind in self.position_attention)

    def position_part(self, layer: str, part: str) -> str:
        """The dense layer that makes it."""
        return f"{layer}.{part}" if self.shares_position_kernels else f"{layer}.position_{part}"

    def distance_shapes(self) -> Shapes:
        if not self.position_attention:
            return {}
        found: Shapes = {"relative_embedding": (2 * self.distance_rows, self.hidden_size)}
        return found | (norm("relative_norm", self.hidden_size) if self.norms_relative else {})

    def position_shapes(self, prefix: str) -> Shapes:
        found: Shapes = {}
        for part in () if self.shares_position_kernels else self.position_parts:
            found |= dense(self.position_part(prefix, part), self.hidden_size, self.hidden_size)
        return found
