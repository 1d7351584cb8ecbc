"""Rows of token models: ids, mask and segments, read by the task's reader or made up."""

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from exporters.formats.runners import Feed, Outputs
from models_tf import tasks
from models_tf.errors import InputError
from models_tf.spec import MASK, SEGMENTS
from models_tf.tasks.decisions import Decisions
from models_tf.tasks.generated import generated_inputs
from models_tf.tasks.judged import Judged
from models_tf.tasks.multi_label import Several
from models_tf.tasks.rows import GUESSED, Columns, Pick, TaskRows
from models_tf.tasks.score import Score
from models_tf.tokenizers.tokenizer import Tokenizer

BASE = "base"
# Texts of any task can be read as those of this one, when only the texts are wanted.
_PLAIN = tasks.CLASSIFICATION
_GENERATED_ROWS = 64


@dataclass(frozen=True, kw_only=True)
class TokenRows:
    """Inputs int32 [rows, time] by name. `task_rows` are the same rows as their task sees them; None without a task."""

    inputs: dict[str, np.ndarray]
    keys: list[str]
    task_rows: TaskRows | None = None

    @classmethod
    def of(cls, rows: TaskRows) -> "TokenRows":
        return cls(inputs=rows.inputs, keys=rows.keys, task_rows=rows)

    @property
    def labelled(self) -> bool:
        # Questions can have answers without positions, which are what a target is.
        return self.task_rows is not None and self.task_rows.labelled

    @property
    def notes(self) -> tuple[str, ...]:
        return () if self.task_rows is None else self.task_rows.notes

    @property
    def numbers(self) -> tuple[int, ...]:
        return () if self.task_rows is None else self.task_rows.numbers

    @property
    def one_segment(self) -> bool:
        """Whether all tokens are of segment 0."""
        return not self.inputs[SEGMENTS].any()

    @property
    def rows_each(self) -> int:
        return 1 if self.task_rows is None else self.task_rows.rows_each

    @property
    def chooses(self) -> bool:
        return self.task_rows is None or self.task_rows.chooses

    def __len__(self) -> int:
        return len(self.keys)

    def texts(self, row: int) -> tuple[str, str | None]:
        """What was read for a row, and the second text of a pair. Rows that were made up have no texts."""
        if self.task_rows is not None:
            return self.task_rows.texts(row)
        one, tab, two = self.keys[row].partition("\t")
        return one, two if tab else None

    def take(self, indices: Sequence[int]) -> "TokenRows":
        if self.task_rows is not None:
            return TokenRows.of(self.task_rows.take(indices))
        picked = list(indices)
        inputs = {name: values[picked] for name, values in self.inputs.items()}
        return dataclasses.replace(self, inputs=inputs, keys=[self.keys[i] for i in picked])

    def chunks(self, most: int) -> Iterator[Feed]:
        for start in range(0, len(self), most):
            yield {name: values[start : start + most] for name, values in self.inputs.items()}

    def answers(self, outputs: Outputs) -> np.ndarray:
        if self.task_rows is not None:
            return self.task_rows.answers(outputs)
        mask = self.inputs[MASK]
        parts = []
        for values in outputs.values():
            if (
                values.ndim == 3 and values.shape[1] == mask.shape[1]
            ):  # [rows, time, channel]: all that stands for a token
                parts.append(values[mask > 0])
            elif values.ndim == 3:  # of the tokens that a model kept, padding comes last
                parts.append(values[np.arange(values.shape[1]) < mask.sum(1, keepdims=True)])
            else:  # [rows, channel], or [rows, time] with what stands for padding taken out
                parts.append(values * mask if values.shape == mask.shape else values)
        return np.concatenate(parts)

    def score(self, outputs: Outputs, *, seed: int) -> Score:
        return self._need_task().score(outputs, seed=seed)

    def compared(self, outputs: Outputs, reference: Outputs) -> dict[str, float]:
        return self._need_task().compared(outputs, reference)

    def judge(self, outputs: Outputs) -> Judged:
        return self._need_task().judge(outputs)

    def decisions(self, outputs: Outputs) -> Decisions | None:
        return self._need_task().decisions(outputs)

    def _need_task(self) -> TaskRows:
        if self.task_rows is None:
            raise ValueError("Rows without a task cannot be scored.")
        return self.task_rows


@dataclass(frozen=True, kw_only=True)
class TokenReader:
    """Reads rows for one model. `tokenizer` is None where nothing can be read, only made up."""

    task: str
    labels: Sequence[str]
    vocab_size: int
    pairs: bool  # whether rows may have two segments
    max_seq_len: int
    tokenizer: Tokenizer | None
    columns: Columns = GUESSED
    several: Several | None = None  # texts may have several labels

    def read(self, path: Path) -> TokenRows:
        if self.task == BASE:
            raise InputError(f"--eval-data needs a task to measure: a base model has none. Received: {path}.")
        return TokenRows.of(self._rows(path, self.task, labelled=True))

    def read_texts(self, path: Path, pick: Pick | None = None) -> TokenRows:
        task = _PLAIN if self.task == BASE else self.task
        rows = self._rows(path, task, labelled=False, pick=pick)
        return TokenRows(inputs=rows.inputs, keys=rows.keys) if self.task == BASE else TokenRows.of(rows)

    def generate(self, seed: int) -> TokenRows:
        """Random ids and lengths; two segments where the task may have them."""
        tokenizer = self.vocab_size if self.tokenizer is None else self.tokenizer
        size, pairs = {"max_len": self.max_seq_len, "count": _GENERATED_ROWS, "seed": seed}, self.pairs
        if self.task == BASE:
            inputs = generated_inputs(tokenizer, **size, pairs=pairs)
            return TokenRows(inputs=inputs, keys=[f"generated {seed} {i}" for i in range(_GENERATED_ROWS)])
        pairs = pairs and self.task not in (tasks.TOKEN_CLASSIFICATION, tasks.EMBEDDING)
        return TokenRows.of(tasks.generated_rows(self.task, tokenizer, **size, pairs=pairs, labels=self.labels))

    def _rows(self, path: Path, task: str, *, labelled: bool, pick: Pick | None = None) -> TaskRows:
        if self.tokenizer is None:
            raise InputError(f"Texts need a tokenizer, which random weights have not. Received: {path}.")
        return tasks.read_rows(
            task,
            path,
            tokenizer=self.tokenizer,
            labels=self.labels,
            max_len=self.max_seq_len,
            columns=self.columns,
            labelled=labelled,
            pick=pick,
            several=self.several,
        )
