"""`EncoderConfig`: sizes and variants of a BERT-like encoder, which give the name and shape of every weight.

One class for MobileBERT, IB-BERT, BERT, GhostBERT, PoWER-BERT, ALBERT, MPNet and DeBERTa: BERT is the case without
bottlenecks, trigrams and stacked FFNs. In a compressed BERT, layers may differ in width, share weights, drop tokens or
have ghosts. Each of these is a part with its own fields and checks (`config_parts/`); what is here puts them together.
`models_tf/<model>/config.py` reads and writes each model's config.json.
"""

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

from models_tf import limits
from models_tf.encoder.config_parts.bottleneck import MAX_FFN
from models_tf.encoder.config_parts.core import ACTIVATIONS, LAYER_NORM, MAX_IDS, MAX_LAYERS, MAX_SIZE, NO_NORM, NORMS
from models_tf.encoder.config_parts.disentangled import Disentangled
from models_tf.encoder.config_parts.ghosts import GHOST_FORMS, GHOST_HEADS, GHOST_OUTPUTS, MAX_GHOST_KERNEL
from models_tf.encoder.config_parts.retention import BY_CHANCE, BY_PLACE, BY_SIGNIFICANCE, RETENTIONS, check_retention
from models_tf.encoder.config_parts.shapes import Shapes, dense, norm
from models_tf.encoder.heads import BASE, Head

__all__ = [
    "ACTIVATIONS",
    "BY_CHANCE",
    "BY_PLACE",
    "BY_SIGNIFICANCE",
    "GHOST_FORMS",
    "GHOST_HEADS",
    "GHOST_OUTPUTS",
    "LAYER_NORM",
    "MAX_FFN",
    "MAX_GHOST_KERNEL",
    "MAX_IDS",
    "MAX_LAYERS",
    "MAX_SIZE",
    "NORMS",
    "NO_NORM",
    "RETENTIONS",
    "EncoderConfig",
    "check_retention",
]


@dataclass(frozen=True, kw_only=True)
class EncoderConfig(Disentangled):
    """All parts, one on the other: `Core`, `Bottleneck`, `Widths`, `Ghosts`, `Retention`, `Sharing`, `Relative` and
    `Disentangled`.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        limits.check("vocabulary", self.vocab_size, "`vocab_size`")
        limits.check("parameters", self.parameters(), "The model")

    def shapes(self, head: Head | None = None) -> Shapes:
        """Name and shape of every weight, in the order of the forward pass; kernels are [in, out]."""
        found = self.embedding_shapes() | self.relative_shapes() | self.distance_shapes()
        for layer in self.first_uses:
            prefix = self.weights_of(layer)
            found |= self.bottleneck_shapes(prefix)
            found |= self._attention_shapes(layer, prefix)
            for number in range(self.num_ffn):
                found |= self._ffn_shapes(layer, prefix, number)
            found |= self.bottleneck_output_shapes(prefix)
        return found | self.head_shapes(head or Head(kind=BASE))

    def _attention_shapes(self, layer: int, prefix: str) -> Shapes:
        heads, size, inner, found = self.heads_of(layer), self.head_size, self.bottleneck_size, Shapes()
        for part in ("query", "key", "value"):
            width = self.hidden_size if self.reads(part) == "input" else inner
            found |= dense(f"{prefix}.{part}", width, heads * size)
        found |= self.position_shapes(prefix)
        ghosts, _ = self.ghosts_of(layer)
        found |= self.ghost_shapes(f"{prefix}.ghost_heads", heads, size, ghosts)
        found |= dense(f"{prefix}.attention_output", heads * size + self.ghost_features(size, ghosts), inner)
        return found | norm(f"{prefix}.attention_norm", inner)

    def _ffn_shapes(self, layer: int, prefix: str, number: int) -> Shapes:
        name, middle, inner = f"{prefix}.ffn.{number}", self.ffn_of(layer), self.bottleneck_size
        found = dense(f"{name}.intermediate", inner, middle)
        _, ghosts = self.ghosts_of(layer)
        if ghosts:
            size = self.fold_size
            found |= self.ghost_shapes(f"{prefix}.ghost_folds", middle // size, size, ghosts)
            middle += self.ghost_features(size, ghosts)
        found |= dense(f"{name}.output", middle, inner)
        return found | norm(f"{name}.norm", inner)

    @property
    def any_length(self) -> bool:
        """Whether an exported graph takes shorter inputs. A layer that drops tokens keeps a fixed number of them, and
        DeBERTa's attention moves scores by a fixed length.
        """
        return not self.retention and not self.position_attention

    def parameters(self) -> int:
        """Number of weights in the encoder, without pooler and head."""
        return sum(math.prod(shape) for name, shape in self.shapes().items() if not name.startswith("pooler."))

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        values = dataclasses.asdict(self)
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
