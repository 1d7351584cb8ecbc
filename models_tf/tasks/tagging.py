"""Token classification: one tag a word, decided by the logits at the word's first piece.

A word without a piece (beyond the maximum length, or made of characters that the tokenizer drops) gets no answer: it
counts as wrong in the accuracy and as O in the entities, so that an entity there is missed.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from models_tf.data import TaggedRow, read_tagged
from models_tf.data.tag_scheme import TagScheme
from models_tf.data.text import clean_text
from models_tf.errors import InputError
from models_tf.spec import IDS, LOGITS
from models_tf.tasks import metrics
from models_tf.tasks.decisions import Decisions
from models_tf.tasks.judged import Judged
from models_tf.tasks.rows import Columns, TaskRows, number_labels
from models_tf.tasks.score import Score
from models_tf.tokenizers.tokenizer import Tokenizer

# No loss at this position: special tokens, further pieces of a word, padding.
NO_LOSS = -100


@dataclass(frozen=True, kw_only=True)
class TaggingRows(TaskRows):
    """Target: the number of the tag at each word's first piece, `NO_LOSS` elsewhere, int32 [rows, length]."""

    task: ClassVar[str] = "token-classification"
    first: np.ndarray  # int32 [rows, words]: position of a word's first piece, or -1
    words: np.ndarray  # int32 [rows]: how many words a row has
    tags: np.ndarray | None = None  # int32 [rows, words], -1 beyond the row's words

    def _taken(self, picked: np.ndarray) -> dict[str, Any]:
        tags = None if self.tags is None else self.tags[picked]
        return {"first": self.first[picked], "words": self.words[picked], "tags": tags}

    def score(self, outputs: Mapping[str, np.ndarray], *, seed: int = 0) -> Score:
        """Entity F1 where the labels are O, B-x and I-x, else the accuracy of words; the other one is in `more`.

        The unit of both standard errors is the sentence: rows are resampled.
        """
        self._check_outputs(outputs, LOGITS)
        self._need_targets()
        tags = self._need_tags()
        predicted = self._predicted(outputs[LOGITS])
        right = ((predicted == tags) & (tags >= 0)).sum(axis=1)  # [rows]
        accuracy = 100 * float(right.sum() / self.words.sum())
        if not metrics.are_entity_labels(self.labels):

            def share(rows: np.ndarray) -> float:
                return 100 * float(right[rows].sum() / self.words[rows].sum())

            return Score(
                metric="accuracy",
                value=accuracy,
                n=len(self),
                standard_error=metrics.resampled_error(share, len(self), seed),
                interval=metrics.resampled_interval(share, len(self), seed),
            )
        counts = np.array([self._entities(predicted[i], tags[i], self.words[i]) for i in range(len(self))])  # [rows, 3]
        hits, found, wanted = counts.T

        def f1(rows: np.ndarray) -> float:
            return metrics.f1_of_counts(hits[rows], found[rows], wanted[rows])

        return Score(
            metric="entity_f1",
            value=metrics.f1_of_counts(hits, found, wanted),
            n=len(self),
            standard_error=metrics.resampled_error(f1, len(self), seed),
            interval=metrics.resampled_interval(f1, len(self), seed),
            more={
                "accuracy": accuracy,
                "precision": 100 * float(hits.sum() / max(found.sum(), 1)),
                "recall": 100 * float(hits.sum() / max(wanted.sum(), 1)),
            },
        )

    def judge(self, outputs: Mapping[str, np.ndarray]) -> Judged:
        """A unit is a sentence; its answer is its tags."""
        self._check_outputs(outputs, LOGITS)
        self._need_targets()
        tags = self._need_tags()
        predicted = self._predicted(outputs[LOGITS])
        if metrics.are_entity_labels(self.labels):
            metric = "entity_f1"
            counts = np.array([self._entities(predicted[i], tags[i], self.words[i]) for i in range(len(self))])
        else:
            metric = "accuracy"
            counts = np.stack([((predicted == tags) & (tags >= 0)).sum(axis=1), self.words], axis=1)
        return Judged(
            metric=metric,
            texts=tuple(self.keys),
            expected=tuple(self._names(tags[i], self.words[i]) for i in range(len(self))),
            answers=tuple(self._names(predicted[i], self.words[i]) for i in range(len(self))),
            counts=counts.astype(np.float64),
        )

    def decisions(self, outputs: Mapping[str, np.ndarray]) -> Decisions:
        """The tag of every word that has a token."""
        tags = self._need_tags()
        rows, words = np.nonzero(self.first >= 0)
        return Decisions(labels=self.labels, targets=tags[rows, words], logits=self.answers(outputs))

    def _need_tags(self) -> np.ndarray:
        if self.tags is None:
            raise ValueError("A score needs tagged rows. Received: words only.")
        return self.tags

    def _names(self, tags: np.ndarray, words: int) -> str:
        return " ".join(self.labels[tag] if tag >= 0 else "-" for tag in tags[:words])

    def answers(self, outputs: Mapping[str, np.ndarray]) -> np.ndarray:
        """Logits at the first piece of each word, [words of all rows, labels]."""
        self._check_outputs(outputs, LOGITS)
        rows, words = np.nonzero(self.first >= 0)
        return outputs[LOGITS][rows, self.first[rows, words]]

    def _predicted(self, logits: np.ndarray) -> np.ndarray:
        """Tag numbers [rows, words]; -2, which no tag has, if there is no answer."""
        chosen = np.where(np.isfinite(logits).all(axis=2), logits.argmax(axis=2), -2)  # [rows, length]
        at_words = np.take_along_axis(chosen, np.maximum(self.first, 0), axis=1)
        return np.where(self.first >= 0, at_words, -2)

    def _entities(self, predicted: np.ndarray, tags: np.ndarray, words: int) -> tuple[int, int, int]:
        """Right, found and wanted ones of a row."""
        found = metrics.entities([self.labels[tag] if tag >= 0 else "O" for tag in predicted[:words]])
        wanted = metrics.entities([self.labels[tag] for tag in tags[:words]])
        return len(found & wanted), len(found), len(wanted)


def stream(path: Path, columns: Columns, labelled: bool) -> Iterator[TaggedRow]:
    """The sentences of a file."""
    found = False
    for row in read_tagged(path, columns.text, columns.label, labelled=labelled):
        found = True
        yield row
    if not found:
        raise InputError(f"{path} must have sentences. Received: none.")


def read_tagging(
    rows: list[TaggedRow],
    path: Path,
    *,
    tokenizer: Tokenizer,
    labels: Sequence[str],
    max_len: int,
    labelled: bool,
    seen: TagScheme | None = None,
) -> TaggingRows:
    """`seen`: the tags of all rows, where `rows` are a sample."""
    sentences = [[clean_text(word) for word in row.words] for row in rows]
    encoded = tokenizer.encode_words(sentences, max_len=max_len)
    counts = np.array([len(words) for words in sentences], np.int32)
    tags, targets = None, None
    notes: tuple[str, ...] = ()
    if labelled:
        if seen is None:
            seen = TagScheme(path)
            for row in rows:
                seen.add(row)
        notes = seen.entities().note(path)
        numbers, by_number = number_labels(list(seen.first.items()), labels, path)
        notes = (*notes, *by_number)
        numbered = dict(zip(seen.first, numbers, strict=True))
        tags = np.full(encoded.first.shape, -1, np.int32)
        tags[np.arange(tags.shape[1]) < counts[:, None]] = [numbered[tag] for row in rows for tag in row.tags]
        targets = {LOGITS: _targets(encoded.first, tags, encoded.inputs[IDS].shape)}
    return TaggingRows(
        inputs=encoded.inputs,
        keys=[" ".join(words) for words in sentences],
        source=str(path),
        labels=tuple(labels),
        targets=targets,
        notes=(*notes, *_cut(encoded.first, counts, path)),
        first=encoded.first,
        words=counts,
        tags=tags,
    )


def _targets(first: np.ndarray, tags: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    targets = np.full(shape, NO_LOSS, np.int32)
    rows, words = np.nonzero(first >= 0)
    targets[rows, first[rows, words]] = tags[rows, words]
    return targets


def _cut(first: np.ndarray, counts: np.ndarray, path: Path) -> tuple[str, ...]:
    missing = int(counts.sum() - (first >= 0).sum())
    if not missing:
        return ()
    note = f"{path}: {missing} of {counts.sum()} words have no token (too far right, or dropped characters): wrong."
    return (note,)
