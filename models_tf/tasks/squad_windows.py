"""SQuAD's parts: a question, and the windows of its passage that fit into a model, as in BERT's run_squad.py."""

import abc
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from models_tf.tasks.squad_text import Split, join_pieces, original_text


@dataclass(frozen=True, kw_only=True)
class Question:
    """`answers` are the true ones; any of them counts. None at all where the data has none."""

    id: str
    text: str
    answers: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class Window(abc.ABC):
    """One row of inputs: the question and a part of the passage, a pair. Windows of a question share its object."""

    question: Question
    offset: int  # position of the first passage token among the ids
    max_context: np.ndarray  # bool [passage tokens]: this window shows the token with the most context

    @abc.abstractmethod
    def text(self, start: int, end: int) -> str:
        """The answer from position `start` to position `end`, inclusive."""

    @abc.abstractmethod
    def whole_passage(self) -> str:
        """The passage of which this window shows a part."""


@dataclass(frozen=True, kw_only=True, eq=False)
class SpanWindow(Window):
    """Knows where each token lies in the passage."""

    passage: str
    spans: Sequence[tuple[int, int]]  # of this window's passage tokens, end exclusive

    def text(self, start: int, end: int) -> str:
        return self.passage[self.spans[start - self.offset][0] : self.spans[end - self.offset][1]]

    def whole_passage(self) -> str:
        return self.passage


@dataclass(frozen=True, kw_only=True, eq=False)
class WordWindow(Window):
    """Knows which white-space word each token belongs to; the tokens are aligned with the words' letters."""

    words: Sequence[str]
    word_of: np.ndarray  # int [passage tokens]
    tokens: Sequence[str]  # of this window's passage
    split: Split

    def text(self, start: int, end: int) -> str:
        first, last = start - self.offset, end - self.offset
        words = " ".join(self.words[self.word_of[first] : self.word_of[last] + 1])
        return original_text(join_pieces(self.tokens[first : last + 1]), words, self.split)

    def whole_passage(self) -> str:
        return " ".join(self.words)


def cut(tokens: int, capacity: int, stride: int) -> list[tuple[int, int]]:
    """First token and length of the windows over a passage."""
    windows = []
    start = 0
    while True:
        length = min(tokens - start, capacity)
        windows.append((start, length))
        if start + length == tokens:
            return windows
        start += min(length, stride)


def most_context(windows: Sequence[tuple[int, int]], tokens: int) -> list[np.ndarray]:
    """For each window, which of its tokens it shows with the most context (the lesser side counts; ties: the first)."""
    at = np.arange(tokens)
    scores = np.full((len(windows), tokens), -1.0)
    for i, (start, length) in enumerate(windows):
        inside = slice(start, start + length)
        sides = np.minimum(at[inside] - start, start + length - 1 - at[inside])
        scores[i, inside] = sides + 0.01 * length
    best = scores.argmax(axis=0)
    return [best[start : start + length] == i for i, (start, length) in enumerate(windows)]
