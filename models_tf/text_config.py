"""`TextConfig`: what the configs of all models on projection features share."""

import dataclasses
from dataclasses import dataclass, field
from typing import Any

from models_tf.ops.projection.config import MAX_ROWS, ProjectionConfig


def default_projection() -> ProjectionConfig:
    return ProjectionConfig(features="mixed", presence_feature=True)


_KINDS: dict[str, Any] = {"int": int, "bool": bool, "float": (int, float)}


@dataclass(frozen=True, kw_only=True)
class TextConfig:
    """Labels, projection, length and regularisation; models add their sizes."""

    num_labels: int
    multi_label: bool = False
    projection: ProjectionConfig = field(default_factory=default_projection)
    max_seq_len: int = 64
    dropout: float = 0.25
    token_dropout: float = 0.1

    def __post_init__(self) -> None:
        for item in dataclasses.fields(self):
            name, value = getattr(item.type, "__name__", item.type), getattr(self, item.name)
            kind = _KINDS.get(str(name))
            if kind and (not isinstance(value, kind) or isinstance(value, bool) != (kind is bool)):
                raise ValueError(f"`{item.name}` must be of type {name}. Received: {value!r}.")
        if self.num_labels < (1 if self.multi_label else 2):
            raise ValueError(f"`num_labels` must be at least 2 (multi-label: 1). Received: {self.num_labels}.")
        if not self.projection.presence_feature:
            raise ValueError("`projection.presence_feature` must be true: the mask is read from it. Received: false.")
        if not 1 <= self.max_seq_len <= MAX_ROWS:
            raise ValueError(f"`max_seq_len` must be 1 to {MAX_ROWS}. Received: {self.max_seq_len}.")
        self._check_rates("dropout", "token_dropout")

    def _check_rates(self, *names: str) -> None:
        for name in names:
            if not 0.0 <= getattr(self, name) < 1.0:
                raise ValueError(f"`{name}` must be in [0, 1). Received: {getattr(self, name)}.")

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "TextConfig":
        unknown = sorted(set(values) - {f.name for f in dataclasses.fields(cls)})
        if unknown:
            raise ValueError(f"Unknown setting. Received: {', '.join(unknown)}.")
        values = dict(values)
        if "projection" in values:
            values["projection"] = ProjectionConfig.from_dict(values["projection"])
        return cls(**values)
