"""`PowerSettings`: the three phases of PoWER-BERT, and how the tokens to keep are searched.

Imports no TensorFlow, since the command line reads it. The authors' searches have epochs of thousands of steps, at a
rate of 1e-4 to 3e-3. A parameter that begins at 1 and moves by about the rate per step would not come down in a few
hundred steps, so by default the rate depends on the length of the search.
"""

import dataclasses
from dataclasses import dataclass
from typing import Any

_RANGES = {
    "fine_tune_epochs": (0, 100_000),
    "search_epochs": (0, 100_000),
    "keep_share": (0.01, 1.0),
    "penalty": (0.0, 1e3),
    "rate": (0.0, 1.0),
    "descent": (0.05, 1.0),
}
_FLAGS = {"fine_tune_epochs": "--fine-tune-epochs", "search_epochs": "--search-epochs", "keep_share": "--keep-share"}
# How far a parameter could move at peak rate; warm-up and cosine leave half of it. With a penalty that is from 1 to 0
# twice over; with a share to keep, from 1 to 0 for a gradient of typical size.
_WAY, _WAY_TO_SHARE = 4.0, 2.0
_HIGHEST_RATE = 0.1


@dataclass(frozen=True, kw_only=True)
class PowerSettings:
    """`keep_share` is of the tokens of all layers together; None: `penalty` decides.

    `penalty` is the factor of layer * (sum of its parameters) in the loss. `rate` is the parameters' own learning rate
    (0: by the length of the search). `descent` is the part of the search in which the share falls to `keep_share`.
    """

    fine_tune_epochs: int = 0
    search_epochs: int = 1
    keep_share: float | None = None
    penalty: float = 1e-3
    rate: float = 0.0
    descent: float = 0.7

    def __post_init__(self) -> None:
        for name, (low, high) in _RANGES.items():
            value = getattr(self, name)
            if value is not None and not low <= value <= high:
                flag = _FLAGS.get(name, f"--search-set {name}")
                raise ValueError(f"{flag} must be {low} to {high}. Received: {value}.")

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    def rate_of(self, steps: int) -> float:
        """The peak rate in a search of `steps` steps."""
        way = _WAY if self.keep_share is None else _WAY_TO_SHARE
        return self.rate or min(_HIGHEST_RATE, way / max(steps, 1))
