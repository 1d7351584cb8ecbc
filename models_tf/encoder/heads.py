"""`Head`: what stands on top of an encoder, and what it answers."""

from collections.abc import Sequence
from dataclasses import dataclass

from models_tf import limits

BASE, CLASSIFICATION = "base", "classification"
TOKEN_CLASSIFICATION, QUESTION_ANSWERING = "token-classification", "question-answering"
HEADS = (BASE, CLASSIFICATION, TOKEN_CLASSIFICATION, QUESTION_ANSWERING)
QUESTION_OUTPUTS = 2  # start and end
# A classification of pairs: do two texts follow each other, or are they swapped? ALBERT is pretrained with it.
SENTENCE_ORDER, ORDER_LABELS = "sentence-order", ("in-order", "swapped")


@dataclass(frozen=True, kw_only=True)
class Head:
    """`num_labels` is 0 for the base model and 2 (start, end) for questions; one label is a regression."""

    kind: str
    num_labels: int = 0

    def __post_init__(self) -> None:
        if self.kind not in HEADS:
            raise ValueError(f"`kind` must be one of {', '.join(HEADS)}. Received: {self.kind!r}.")
        low, high = {BASE: (0, 0), QUESTION_ANSWERING: (QUESTION_OUTPUTS, QUESTION_OUTPUTS)}.get(
            self.kind, (1, limits.value("labels"))
        )
        if not low <= self.num_labels <= high:
            raise ValueError(
                f"`num_labels` of a {self.kind} head must be {low} to {high}. Received: {self.num_labels}."
            )

    @property
    def reads_pooled(self) -> bool:
        """Whether the head needs the first token only."""
        return self.kind == CLASSIFICATION


def make_head(kind: str, labels: Sequence[str]) -> Head:
    """The head for these labels; base and questions have none."""
    if kind in (BASE, QUESTION_ANSWERING) and labels:
        raise ValueError(f"A {kind} head has no labels. Received: {len(labels)}.")
    return Head(kind=kind, num_labels=QUESTION_OUTPUTS if kind == QUESTION_ANSWERING else len(labels))
