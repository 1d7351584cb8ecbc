"""Question answering on SQuAD v1.1: the best answer over all windows of a question, as in BERT's run_squad.py.

Candidates are the `N_BEST` highest start and end logits of a window (over all positions, as in that script). A start
must be in the window that shows it with the most context; an answer has at most `MAX_ANSWER_LEN` tokens.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from models_tf.errors import InputError
from models_tf.spec import END_LOGITS, MASK, START_LOGITS
from models_tf.tasks import metrics, squad_metric
from models_tf.tasks.judged import Judged
from models_tf.tasks.rows import TaskRows
from models_tf.tasks.score import Score
from models_tf.tasks.squad_json import read_json
from models_tf.tasks.squad_records import is_records, read_records
from models_tf.tasks.squad_windows import Window
from models_tf.tokenizers.tokenizer import Tokenizer

N_BEST = 20
MAX_ANSWER_LEN = 30


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A text and the sum of its start and end logits."""

    text: str
    logit: float


@dataclass(frozen=True, kw_only=True)
class QuestionRows(TaskRows):
    """One row per window. Targets: position of the first true answer, int32 [rows]; 0, the [CLS], if not in the window.

    TFRecords do not say where answers are: such rows can be scored, but have no targets.
    """

    task: ClassVar[str] = "question-answering"
    windows: tuple[Window, ...]

    @property
    def labelled(self) -> bool:
        return bool(self.windows) and all(window.question.answers for window in self.windows)

    def _taken(self, picked: np.ndarray) -> dict[str, Any]:
        return {"windows": tuple(self.windows[i] for i in picked) if self.windows else ()}

    def texts(self, row: int) -> tuple[str, str | None]:
        """The question and its whole passage."""
        window = self.windows[row]
        return window.question.text, window.whole_passage()

    def n_best(self, outputs: Mapping[str, np.ndarray], *, limit: int = N_BEST) -> dict[str, list[Answer]]:
        """By question id: different texts only, best first."""
        found: dict[str, list[Answer]] = {}
        for name, rows in self._rows_by_question().items():
            answers: dict[str, Answer] = {}
            for logit, row, start, end in self._candidates(outputs, rows):
                text = self.windows[row].text(start, end)
                answers.setdefault(text, Answer(text=text, logit=logit))
                if len(answers) == limit:
                    break
            found[name] = list(answers.values())
        return found

    def predictions(self, outputs: Mapping[str, np.ndarray]) -> dict[str, str]:
        """The answer by question id; an empty text if no span is possible."""
        best = self.n_best(outputs, limit=1)
        return {name: answers[0].text if answers else "" for name, answers in best.items()}

    def score(self, outputs: Mapping[str, np.ndarray], *, seed: int = 0) -> Score:
        """F1 and exact match over questions."""
        judged = self.judge(outputs)
        f1, _, exact = judged.counts.T
        return Score(
            metric=judged.metric,
            value=100 * float(f1.mean()),
            n=len(judged),
            standard_error=100 * float(f1.std() / math.sqrt(len(judged))),
            exact_match=100 * float(exact.mean()),
            interval=metrics.resampled_interval(lambda rows: 100 * float(f1[rows].mean()), len(f1), seed),
        )

    def judge(self, outputs: Mapping[str, np.ndarray]) -> Judged:
        """A unit is a question. Counts: F1, 1, exact match."""
        self._check_outputs(outputs, START_LOGITS, END_LOGITS)
        if not self.labelled:
            raise ValueError("A score needs questions with answers, at least 1. Received: none.")
        questions = {window.question.id: window.question for window in self.windows}
        found = self.predictions(outputs)
        judged = [squad_metric.judge(text, questions[name].answers) for name, text in found.items()]
        return Judged(
            metric="f1",
            texts=tuple(questions[name].text for name in found),
            expected=tuple(questions[name].answers[0] for name in found),
            answers=tuple(found.values()),
            counts=np.array([(f1, 1.0, float(exact)) for exact, f1 in judged], np.float64),
        )

    def answers(self, outputs: Mapping[str, np.ndarray]) -> np.ndarray:
        """Start, then end logits, [2 * rows, length]. Padding, which decides nothing, gets the row's lowest logit."""
        self._check_outputs(outputs, START_LOGITS, END_LOGITS)
        real = np.concatenate([self.inputs[MASK], self.inputs[MASK]]).astype(bool)
        logits = np.concatenate([outputs[START_LOGITS], outputs[END_LOGITS]])
        least = np.where(real, logits, np.inf).min(axis=1, keepdims=True)
        return np.where(real, logits, least.astype(logits.dtype))

    def _rows_by_question(self) -> dict[str, list[int]]:
        rows: dict[str, list[int]] = {}
        for i, window in enumerate(self.windows):
            rows.setdefault(window.question.id, []).append(i)
        return rows

    def _candidates(self, outputs: Mapping[str, np.ndarray], rows: list[int]) -> list[tuple[float, int, int, int]]:
        """(logit, row, start, end) of a question, best first; equal ones in the order they were found."""
        found = []
        for row in rows:
            spans = best_spans(self.windows[row], outputs[START_LOGITS][row], outputs[END_LOGITS][row])
            found += [(logit, row, start, end) for logit, start, end in spans]
        return sorted(found, key=lambda candidate: -candidate[0])


def best_spans(window: Window, start_logits: np.ndarray, end_logits: np.ndarray) -> list[tuple[float, int, int]]:
    """The `N_BEST` best possible (logit, start, end) of one window, ordered by start, then end."""
    starts, ends = _highest(start_logits), _highest(end_logits)
    first, last = window.offset, window.offset + len(window.max_context) - 1
    starts = starts[(starts >= first) & (starts <= last)]
    starts = starts[window.max_context[starts - first]]
    ends = ends[(ends >= first) & (ends <= last)]
    length = ends[None, :] - starts[:, None] + 1
    logits = start_logits[starts].astype(np.float64)[:, None] + end_logits[ends].astype(np.float64)[None, :]
    s, e = np.nonzero((length >= 1) & (length <= MAX_ANSWER_LEN) & np.isfinite(logits))
    kept = np.sort(np.argsort(-logits[s, e], kind="stable")[:N_BEST])
    return [(float(logits[s[i], e[i]]), int(starts[s[i]]), int(ends[e[i]])) for i in kept]


def _highest(logits: np.ndarray) -> np.ndarray:
    # NaN must not win: as minus infinity it sorts last.
    return np.argsort(-np.where(np.isnan(logits), -np.inf, logits), kind="stable")[:N_BEST]


def read_questions(
    path: Path, *, tokenizer: Tokenizer, max_len: int, doc_stride: int = 128, max_query_len: int = 64, labelled: bool
) -> QuestionRows:
    """Rows of the raw JSON of SQuAD v1.1, or of the TFRecords that run_squad.py writes (a folder, or the features)."""
    path = Path(path)
    if is_records(path):
        inputs, windows, targets, notes = read_records(path, tokenizer=tokenizer, max_len=max_len, labelled=labelled)
    else:
        inputs, windows, targets, notes = read_json(
            path,
            tokenizer=tokenizer,
            max_len=max_len,
            doc_stride=doc_stride,
            max_query_len=max_query_len,
            labelled=labelled,
        )
    if not windows:
        raise InputError(f"{path} must have questions. Received: none.")
    return QuestionRows(
        inputs=inputs,
        keys=[window.question.text for window in windows],
        source=str(path),
        targets=targets,
        pairs=True,
        notes=notes,
        windows=tuple(windows),
    )
