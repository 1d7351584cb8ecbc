"""`Head`: what stands on top of an encoder, and what it answers."""

from collections.abc import Sequence
from dataclasses import dataclass

from models_tf import limits

BASE, CLASSIFICATION = "base", "classification"
TOKEN_CLASSIFICATION, QUESTION_ANSWERING = "token-classification", "question-answering"
EMBEDDING = "embedding"
HEADS = (BASE, CLASSIFICATION, TOKEN_CLASSIFICATION, QUESTION_ANSWERING, EMBEDDING)
# Heads without weights: they stand on any encoder.
WITHOUT_WEIGHTS = (BASE, EMBEDDING)
# How an embedding is made of the vectors of all tokens; padding is none.
POOLINGS = MEAN, CLS, MAX = ("mean", "cls", "max")
QUESTION_OUTPUTS = 2  # start and end
# A classification of pairs: do two texts follow each other, or are they swapped? ALBERT is pretrained with it.
SENTENCE_ORDER, ORDER_LABELS = "sentence-order", ("in-order", "swapped")


@dataclass(frozen=True, kw_only=True)
class Head:
    """`num_labels` is 0 for the base model and 2 (start, end) for questions; one label is a regression.

    `pooling` and `normalize` (to length 1) are for embeddings alone.
    """

    kind: str
    num_labels: int = 0
    pooling: str | None = None
    normalize: bool = False

    def __post_init__(self) -> None:
        if self.kind not in HEADS:
            raise ValueError(f"`kind` must be one of {', '.join(HEADS)}. Received: {self.kind!r}.")
        low, high = {
            **dict.fromkeys(WITHOUT_WEIGHTS, (0, 0)),
            QUESTION_ANSWERING: (QUESTION_OUTPUTS, QUESTION_OUTPUTS),
        }.get(self.kind, (1, limits.value("labels")))
        if not low <= self.num_labels <= high:
            raise ValueError(f"`num_labels` for {self.kind} must be {low} to {high}. Received: {self.num_labels}.")
        expected = POOLINGS if self.kind == EMBEDDING else (None,)
        if self.pooling not in expected or (self.normalize and self.kind != EMBEDDING):
            raise ValueError(
                f"`pooling` for {self.kind} must be {' or '.join(map(str, expected))}. "
                f"Received: {self.pooling}, normalize={self.normalize}."
            )

    @property
    def reads_pooled(self) -> bool:
        """Whether the head needs the first token only."""
        return self.kind == CLASSIFICATION or self.pooling == CLS


def make_head(kind: str, labels: Sequence[str]) -> Head:
    """The head for these labels; base, embeddings and questions have none. An embedding is a mean of length 1."""
    if kind in (*WITHOUT_WEIGHTS, QUESTION_ANSWERING) and labels:
        raise ValueError(f"A {kind} head has no labels. Received: {len(labels)}.")
    if kind == EMBEDDING:
        return Head(kind=kind, pooling=MEAN, normalize=True)
    return Head(kind=kind, num_labels=QUESTION_OUTPUTS if kind == QUESTION_ANSWERING else len(labels))
