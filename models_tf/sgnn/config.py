"""`SgnnConfig`: every choice of an SGNN model."""

from dataclasses import dataclass
from typing import ClassVar

from models_tf.prado.text_config import MAX_SIZE, TextConfig


@dataclass(frozen=True, kw_only=True)
class SgnnConfig(TextConfig):
    """`hidden_layers` dense layers of `hidden_size` on the summed features."""

    reads_order: ClassVar[bool] = False

    hidden_size: int = 64
    hidden_layers: int = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_range("hidden_size", low=1, high=MAX_SIZE)
        self._check_range("hidden_layers", low=1, high=64)
        self._check_parameters(self.parameters)

    @property
    def parameters(self) -> int:
        """Weights of the kernels."""
        rows = self.projection.feature_size + (self.hidden_layers - 1) * self.hidden_size + self.num_labels
        return rows * self.hidden_size
