"""`PowerSettings`: the three phases of PoWER-BERT, and how the tokens to keep are searched. No TensorFlow: the command line
reads it.

The authors give the search epochs of thousands of steps, at a rate of 1e-4 to 3e-3. A parameter that begins at 1 and moves by
about the rate a step does not come down in a few hundred of them, so the rate follows the length of the search unless it is
given.
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
# How far a parameter could go at peak rate; half of it is left after warm-up and cosine. Under a penalty that is from 1 to 0
# and as far again; to a share, where a gradient of usual size is meant, from 1 to 0.
_WAY, _WAY_TO_SHARE = 4.0, 2.0
_HIGHEST_RATE = 0.1


@dataclass(frozen=True, kw_only=True)
class PowerSettings:
    """`keep_share`: of the tokens of all layers together; None leaves it to `penalty`, the factor of layer * (sum of its
    parameters) in the loss. `rate` is the parameters' own learning rate, 0: by the length of the search. `descent` is the part
    of the search in which the share comes down to `keep_share`.
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
