"""Embeddings of sentences: pairs with a score of how similar they are, and what a model's vectors say of them.

A pair is two rows, one after the other. The score is Spearman's correlation of cosines with the scores; two models are
also compared by their vectors and by which sentence is nearest to each.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from models_tf.data import Row
from models_tf.data.text import clean_text
from models_tf.errors import InputError
from models_tf.spec import EMBEDDING, IDS
from models_tf.tasks import correlation
from models_tf.tasks.classification import Numbers, number_of
from models_tf.tasks.judged import Judged
from models_tf.tasks.rows import TaskRows, cut_rows
from models_tf.tasks.score import Score
from models_tf.tokenizers.tokenizer import Tokenizer

METRIC = "spearman"
# Sentences among which neighbors are looked for: the work grows with their square.
MOST_NEIGHBORS = 5000
_CHUNK = 512


@dataclass(frozen=True, kw_only=True)
class EmbeddingRows(TaskRows):
    """A row is a sentence; labelled rows come in pairs, each with the target of its pair, float32 [rows]."""

    task: ClassVar[str] = "embedding"
    chooses: ClassVar[bool] = False
    sentences: tuple[str, ...] = ()

    @property
    def rows_each(self) -> int:
        return 2 if self.labelled else 1

    def texts(self, row: int) -> tuple[str, str | None]:
        return self.sentences[row], None

    def _taken(self, picked: np.ndarray) -> dict[str, Any]:
        return {"sentences": tuple(self.sentences[i] for i in picked) if self.sentences else ()}

    def score(self, outputs: Mapping[str, np.ndarray], *, seed: int = 0) -> Score:
        """Spearman's correlation; more: Pearson's. Error and interval come from resampled pairs."""
        return correlation.score(self._cosines(outputs), self._pair_targets(), metric=METRIC, seed=seed)

    def judge(self, outputs: Mapping[str, np.ndarray]) -> Judged:
        return correlation.judge(self._cosines(outputs), self._pair_targets(), metric=METRIC, texts=self.keys[::2])

    def answers(self, outputs: Mapping[str, np.ndarray]) -> np.ndarray:
        """Vectors [rows, channels]."""
        self._check_outputs(outputs, EMBEDDING)
        return outputs[EMBEDDING]

    def compared(self, outputs: Mapping[str, np.ndarray], reference: Mapping[str, np.ndarray]) -> dict[str, float]:
        """In percent: the mean cosine of a vector with the reference's, and the share of sentences with the same
        nearest one.
        """
        # A sentence that occurs twice would be its own neighbor.
        _, first = np.unique(self.inputs[IDS], axis=0, return_index=True)
        found, wanted = (unit(self.answers(part)[np.sort(first)]) for part in (outputs, reference))
        return {
            "nearest_neighbors": 100 * float((nearest(found) == nearest(wanted)).mean()) if len(found) > 1 else 100.0,
            "mean_cosine": 100 * float((found * wanted).sum(1).mean()),
        }

    def _cosines(self, outputs: Mapping[str, np.ndarray]) -> np.ndarray:
        vectors = unit(self.answers(outputs))
        cosines: np.ndarray = (vectors[::2] * vectors[1::2]).sum(1)
        return cosines

    def _pair_targets(self) -> np.ndarray:
        if self.keys[::2] != self.keys[1::2]:
            raise ValueError("A score needs both sentences of each pair. Received: one without the other.")
        return self._need_targets()[EMBEDDING][::2]


def unit(vectors: np.ndarray) -> np.ndarray:
    """Rows of length 1, in float64; what is not finite stays so."""
    wide = vectors.astype(np.float64)
    with np.errstate(invalid="ignore"):
        scaled: np.ndarray = wide / np.maximum(np.linalg.norm(wide, axis=1, keepdims=True), 1e-12)
    return scaled


def nearest(vectors: np.ndarray) -> np.ndarray:
    """For each of the first rows, of length 1, the number of the nearest other one; -1 where it is not a number."""
    vectors = vectors[:MOST_NEIGHBORS]
    found = np.full(len(vectors), -1)
    for start in range(0, len(vectors), _CHUNK):
        part = vectors[start : start + _CHUNK] @ vectors.T
        part[np.arange(len(part)), start + np.arange(len(part))] = -np.inf
        found[start : start + _CHUNK] = np.where(np.isnan(part).any(1), -1, part.argmax(1))
    return found


def read_embedding(
    rows: list[Row],
    path: Path,
    *,
    tokenizer: Tokenizer,
    labels: Sequence[str],  # noqa: ARG001 - as the other readers
    max_len: int,
    labelled: bool,
    seen: Numbers | None = None,  # noqa: ARG001 - as the other readers
) -> EmbeddingRows:
    """Every text of every row; labelled rows have two."""
    sentences, keys, numbers = [], [], []
    for number, row in enumerate(rows, 1):
        if labelled and row.pair is None:
            raise InputError(
                f"{path} must have two texts and a score in each row, such as sentence1, sentence2 and score. "
                "Received: one text; name the columns with --text-column and --text-pair-column."
            )
        texts = [clean_text(text) for text in (row.text, row.pair) if text is not None]
        sentences += texts
        keys += ["\t".join(texts)] * len(texts)
        numbers += [number] * len(texts)
    inputs = tokenizer.encode(sentences, None, max_len=max_len)
    targets = None
    if labelled:
        targets = {EMBEDDING: np.repeat(np.array([number_of(row, path) for row in rows], np.float32), 2)}
    return EmbeddingRows(
        inputs=inputs,
        keys=keys,
        source=str(path),
        targets=targets,
        notes=cut_rows(inputs, path),
        numbers=tuple(numbers),
        sentences=tuple(sentences),
    )
