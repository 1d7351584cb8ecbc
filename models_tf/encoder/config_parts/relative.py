"""MPNet's attention: how far apart two tokens are adds to their score, see `models_tf/mpnet`."""

from dataclasses import dataclass

from models_tf.encoder.config_parts.checks import check_flags
from models_tf.encoder.config_parts.shapes import Shapes
from models_tf.encoder.config_parts.sharing import Sharing

BUCKETS = 32  # of distances, half of them for tokens to the right


@dataclass(frozen=True, kw_only=True)
class Relative(Sharing):
    """`relative_positions`: there is a table of what a head adds to the score of two tokens, by their distance. All
    layers read it, so each has all heads, and all tokens stay where they are.
    """

    relative_positions: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_flags(self, ("relative_positions",))
        others = self.kept_heads or self.has_ghosts or self.retention or not self.has_positions
        if self.relative_positions and others:
            raise ValueError(
                "`relative_positions` is for layers with all heads and tokens, without ghosts. Received: others."
            )

    def relative_shapes(self) -> Shapes:
        return {"relative_attention_bias": (BUCKETS, self.num_heads)} if self.relative_positions else {}
