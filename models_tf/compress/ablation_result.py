"""What an ablation found. Separate from the run, so that a result can be read and shown without TensorFlow."""

from dataclasses import dataclass
from typing import Any

from models_tf.tasks.score import Score


@dataclass(frozen=True, kw_only=True)
class Change:
    """Compared with the whole model, in points. `standard_error` is that of the paired difference; accuracy only."""

    points: float
    standard_error: float | None


@dataclass(frozen=True, kw_only=True)
class Ablation:
    """`heads[layer][head]` and `layers[layer]`: without it. `alone[layer][head]`: with no other head in its layer.

    Empty if not asked for. Layers that share weights have one row of heads.
    """

    whole: Score
    heads: tuple[tuple[Change, ...], ...] = ()
    alone: tuple[tuple[Change, ...], ...] = ()
    layers: tuple[Change, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """For JSON; tables are [layer][head]."""
        values: dict[str, Any] = {
            "metric": self.whole.metric,
            "score": self.whole.value,
            "n": self.whole.n,
            "standard_error": self.whole.standard_error,
        }
        for name, table in (("without_head", self.heads), ("head_alone", self.alone)):
            if table:
                values[name] = {
                    "change": [[one.points for one in row] for row in table],
                    "standard_error": [[one.standard_error for one in row] for row in table],
                }
        if self.layers:
            values["without_layer"] = {
                "change": [one.points for one in self.layers],
                "standard_error": [one.standard_error for one in self.layers],
            }
        return values
