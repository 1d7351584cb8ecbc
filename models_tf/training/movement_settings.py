"""`MovementSettings`: which weights movement pruning removes, and when. No TensorFlow: the command line reads it."""

import dataclasses
from dataclasses import dataclass
from typing import Any

MOVEMENTS = TOPK, SOFT = ("topk", "soft")
# Every matrix keeps at least this share, whatever its scores (the authors' number, from memory).
LEAST_SHARE = 0.005
_RANGES = {
    "threshold": (1e-3, 0.999),
    "penalty": (0.0, 1e6),
    "score_rate": (1e-6, 10.0),
    "warmup": (0.0, 0.9),
    "cooldown": (0.0, 0.9),
    "every": (1, 1_000_000),
}


@dataclass(frozen=True, kw_only=True)
class MovementSettings:
    """`keep` and `initial_keep` are for `topk`; `threshold` and `penalty`, both final values, are for `soft`.

    `warmup` and `cooldown` are shares of all steps: nothing is removed in the first, nothing more in the second.
    `every` is the number of steps before a mask is renewed from the scores.
    """

    kind: str
    keep: float = 0.15
    initial_keep: float = 1.0
    threshold: float = 0.1  # this and the penalty: the authors', from memory, not checked against their code
    penalty: float = 400.0
    score_rate: float = 1e-2
    warmup: float = 0.1
    cooldown: float = 0.2
    every: int = 10

    def __post_init__(self) -> None:
        if self.kind not in MOVEMENTS:
            raise ValueError(f"--movement must be one of {', '.join(MOVEMENTS)}. Received: {self.kind}.")
        if not 0.0 < self.keep <= 1.0:
            raise ValueError(f"--movement-keep must be above 0 and at most 1. Received: {self.keep}.")
        if not self.keep <= self.initial_keep <= 1.0:
            raise ValueError(
                f"--movement-set initial_keep must be from --movement-keep, {self.keep}, to 1. "
                f"Received: {self.initial_keep}."
            )
        for name, (low, high) in _RANGES.items():
            value = getattr(self, name)
            if not low <= value <= high:
                raise ValueError(f"--movement-set {name} must be {low} to {high}. Received: {value}.")
        if self.warmup + self.cooldown >= 1.0:
            raise ValueError(
                "--movement-set warmup and cooldown must leave a part of the steps between them. "
                f"Received: {self.warmup} and {self.cooldown}."
            )

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    def left(self, step: int, steps: int) -> float:
        """The remaining distance to the final sparsity before `step`: 1 in the warm-up, then falling to 0.

        It falls as a cube: fast while there are many weights, slowly once there are few.
        """
        begin, end = self.warmup * steps, (1.0 - self.cooldown) * steps
        if step >= end:
            return 0.0
        return 1.0 if step <= begin else (1.0 - (step - begin) / (end - begin)) ** 3

    def share_at(self, step: int, steps: int) -> float:
        """`topk`: the share of each matrix that is kept."""
        return self.keep + (self.initial_keep - self.keep) * self.left(step, steps)

    def threshold_at(self, step: int, steps: int) -> float:
        """`soft`: the threshold for the sigmoid of a kept score."""
        return self.threshold * (1.0 - self.left(step, steps))

    def penalty_at(self, step: int, steps: int) -> float:
        """`soft`: the weight of the mean score in the loss; it follows the threshold."""
        return self.penalty * (1.0 - self.left(step, steps)) if self.kind == SOFT else 0.0
