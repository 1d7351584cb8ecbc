"""`SgnnConfig`: every choice of an SGNN model."""

import itertools
from dataclasses import dataclass
from typing import ClassVar

from models_tf.prado.text_config import MAX_SIZE, TextConfig

ACTIVATIONS = ("relu", "none")


@dataclass(frozen=True, kw_only=True)
class SgnnConfig(TextConfig):
    """`hidden_layers` dense layers of `hidden_size` on the summed features, the last one of `last_hidden_size` (0: as
    the others). An `activation` of `none` leaves them linear, as in the published code.
    """

    reads_order: ClassVar[bool] = False

    hidden_size: int = 64
    hidden_layers: int = 2
    last_hidden_size: int = 0
    activation: str = "relu"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_range("hidden_size", low=1, high=MAX_SIZE)
        self._check_range("hidden_layers", low=1, high=64)
        self._check_range("last_hidden_size", high=MAX_SIZE)
        if self.activation not in ACTIVATIONS:
            raise ValueError(f"`activation` must be one of {', '.join(ACTIVATIONS)}. Received: {self.activation!r}.")
        self._check_parameters(self.parameters)

    @property
    def parameters(self) -> int:
        """Weights of the kernels."""
        sizes = (self.projection.feature_size, *self.hidden_sizes, self.num_labels)
        return sum(inputs * outputs for inputs, outputs in itertools.pairwise(sizes))

    @property
    def hidden_sizes(self) -> tuple[int, ...]:
        """Of each hidden layer."""
        return (*[self.hidden_size] * (self.hidden_layers - 1), self.last_hidden_size or self.hidden_size)
