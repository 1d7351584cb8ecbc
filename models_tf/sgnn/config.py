"""`SgnnConfig`: every choice of an SGNN model."""

from dataclasses import dataclass

from models_tf.text_config import TextConfig


@dataclass(frozen=True, kw_only=True)
class SgnnConfig(TextConfig):
    """`hidden_layers` dense layers of `hidden_size` on the summed features."""

    hidden_size: int = 64
    hidden_layers: int = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.hidden_size < 1 or self.hidden_layers < 1:
            raise ValueError(
                "`hidden_size` and `hidden_layers` must be at least 1. "
                f"Received: {self.hidden_size} and {self.hidden_layers}."
            )
