"""`TextConfig`: what the configs of all models on projection features share."""

import dataclasses
from dataclasses import dataclass, field
from typing import Any, ClassVar

from models_tf import limits
from models_tf.ops.projection.config import ProjectionConfig

# Far above any model for a phone, far below what would fill the memory of the machine that builds it.
MAX_SIZE = 65_536
MAX_PARAMETERS = 1 << 27
# Fields of the projection that training and export set themselves, not the config of a model.
OWN_PROJECTION_FIELDS = ("max_tokens", "pad_to", "max_bytes", "distortion")


def default_projection() -> ProjectionConfig:
    return ProjectionConfig(features="mixed", presence_feature=True)


_KINDS: dict[str, Any] = {"int": int, "bool": bool, "float": (int, float)}
_PROJECTION_DEFAULTS = {item.name: item.default for item in dataclasses.fields(ProjectionConfig)}


@dataclass(frozen=True, kw_only=True)
class TextConfig:
    """Labels, projection, length and regularisation; models add their sizes."""

    reads_order: ClassVar[bool] = True  # of the tokens

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
        limits.check("labels", self.num_labels, "`num_labels`")
        self._check_projection()
        self._check_range("max_seq_len", low=1 + self._tags, high=limits.value("tokens"))
        self._check_rates("dropout", "token_dropout")

    @property
    def word_tokens(self) -> int:
        """Tokens of a text that are read: the begin and end tags take places of `max_seq_len` too."""
        return self.max_seq_len - self._tags

    @property
    def _tags(self) -> int:
        return self.projection.add_bos + self.projection.add_eos

    def _check_projection(self) -> None:
        projection = self.projection
        if not projection.presence_feature:
            raise ValueError("`projection.presence_feature` must be true: the mask is read from it. Received: false.")
        for name in OWN_PROJECTION_FIELDS:
            value, expected = getattr(projection, name), _PROJECTION_DEFAULTS[name]
            if value != expected:
                raise ValueError(
                    f"`projection.{name}` must be {expected}: training and export set it. Received: {value}."
                )
        projection.to_text()  # a ValueError for text that is not Unicode

    def _check_rates(self, *names: str) -> None:
        for name in names:
            if not 0.0 <= getattr(self, name) < 1.0:
                raise ValueError(f"`{name}` must be in [0, 1). Received: {getattr(self, name)}.")

    def _check_range(self, *names: str, low: float = 0, high: float) -> None:
        """Refuses NaN too: it is in no range."""
        for name in names:
            if not low <= getattr(self, name) <= high:
                raise ValueError(f"`{name}` must be {low} to {high}. Received: {getattr(self, name)}.")

    def _check_parameters(self, count: int) -> None:
        if count > MAX_PARAMETERS:
            raise ValueError(f"The sizes must give at most {MAX_PARAMETERS} parameters. Received: {count}.")

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "TextConfig":
        unknown = sorted(set(values) - {f.name for f in dataclasses.fields(cls)})
        if unknown:
            raise ValueError(f"Unknown setting. Received: {', '.join(unknown)}.")
        values = dict(values)
        if "projection" in values:
            if not isinstance(values["projection"], dict):
                raise ValueError(f"`projection` must be an object. Received: {type(values['projection']).__name__}.")
            values["projection"] = ProjectionConfig.from_dict(values["projection"])
        return cls(**values)
