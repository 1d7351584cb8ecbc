"""`TransferSettings`: how a student learns a teacher's hidden states and attention before it learns the task."""

import dataclasses
from dataclasses import dataclass
from typing import Any

TRANSFERS = NONE, PROGRESSIVE, JOINT = ("none", "progressive", "joint")


@dataclass(frozen=True, kw_only=True)
class TransferSettings:
    """Weights of the four terms as in the reference's code; `before`, `own`, `after` are factors of a layer's learning
    rate before, in and after its own phase, as the reference's distill_util defines them (where its optimizer applies
    them was not seen). `learning_rate` 0 is that of the training.
    """

    feature: float = 100.0
    attention: float = 1.0
    mean: float = 5000.0
    variance: float = 5.0
    before: float = 0.0
    own: float = 1.0
    after: float = 0.1
    learning_rate: float = 0.0

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if not 0.0 <= value <= 1e6:
                raise ValueError(f"--transfer-set {field.name} must be 0 to 1e6. Received: {value}.")

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)
