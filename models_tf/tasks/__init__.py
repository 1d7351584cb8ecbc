"""What a token model is used for: how rows are read and scored. Naming the tasks imports nothing heavy."""

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from models_tf.encoder.heads import (
    CLASSIFICATION,
    EMBEDDING,
    ORDER_LABELS,
    QUESTION_ANSWERING,
    SENTENCE_ORDER,
    TOKEN_CLASSIFICATION,
    Head,
)
from models_tf.errors import InputError

if TYPE_CHECKING:
    from models_tf.data import Row, TaggedRow
    from models_tf.data.tag_scheme import TagScheme
    from models_tf.tasks.classification import LabelNames, Numbers
    from models_tf.tasks.multi_label import LabelSets, Several
    from models_tf.tasks.rows import Columns, Pick, TaskRows
    from models_tf.tokenizers.tokenizer import Tokenizer

REGRESSION = "regression"
# What models are trained for, and what they are measured on.
TASKS = (CLASSIFICATION, REGRESSION, TOKEN_CLASSIFICATION, QUESTION_ANSWERING, SENTENCE_ORDER)
MEASURED_TASKS = (*TASKS, EMBEDDING)


def check_task(task: str) -> None:
    if task not in MEASURED_TASKS:
        raise InputError(f"A task with data must be one of {', '.join(MEASURED_TASKS)}. Received: {task!r}.")


def head_of_task(task: str) -> str:
    """The kind of head that a task needs; "base" has none."""
    return CLASSIFICATION if task in (REGRESSION, SENTENCE_ORDER) else task


def task_of_head(head: Head, *, several: bool) -> str:
    """The task of a head; one label is a regression, or a choice of its own where a text may have `several`."""
    return REGRESSION if head.kind == CLASSIFICATION and head.num_labels == 1 and not several else head.kind


def parse_file(
    task: str, path: Path, *, columns: "Columns | None" = None, labelled: bool = True
) -> "list[Row] | list[TaggedRow] | None":
    """All rows of a file before tokenization, for `read_rows`; None as `stream_file`."""
    rows = stream_file(task, path, columns=columns, labelled=labelled)
    return None if rows is None else list(rows)  # type: ignore[return-value] # rows of one kind


def stream_file(
    task: str, path: Path, *, columns: "Columns | None" = None, labelled: bool = True
) -> "Iterator[Row] | Iterator[TaggedRow] | None":
    """The rows of a file before tokenization, one at a time.

    None for questions and documents: making their rows takes a tokenizer.
    """
    from models_tf.tasks import classification, sentence_order, tagging
    from models_tf.tasks.rows import Columns

    check_task(task)
    path, columns = Path(path), columns or Columns()
    if task == QUESTION_ANSWERING or (task == SENTENCE_ORDER and sentence_order.reads(path, ORDER_LABELS)):
        return None
    if task == TOKEN_CLASSIFICATION:
        return tagging.stream(path, columns, labelled)
    scored = task in (REGRESSION, EMBEDDING)
    guesses = classification.SCORE_COLUMNS if scored else classification.CLASS_COLUMNS
    return classification.stream(path, columns, guesses, labelled)


def read_rows(
    task: str,
    path: Path,
    *,
    tokenizer: "Tokenizer",
    labels: Sequence[str] = (),
    max_len: int,
    columns: "Columns | None" = None,
    labelled: bool = True,
    parsed: "list[Row] | list[TaggedRow] | None" = None,
    seen: "LabelNames | LabelSets | Numbers | TagScheme | None" = None,
    doc_stride: int = 128,
    max_query_len: int = 64,
    pick: "Pick | None" = None,
    several: "Several | None" = None,
) -> "TaskRows":
    """The rows of a file as inputs of a model with this head.

    `labels` are the head's, in its order. Without `labelled` only texts are read (for calibration). `parsed` is the
    result of `parse_file`, if the file was read before: these rows are all used; where they are a part of a file,
    `seen` has the labels of all of it. Of a file that is larger than the limits `rows` and `held_bytes` allow, a sample
    is used. `doc_stride` and `max_query_len` are for the windows of question answering. Rows that `pick` leaves out are
    not tokenized where that can be avoided. With `several`, texts of a classification have several labels, or none.
    """
    from models_tf.data.held import hold
    from models_tf.data.tag_scheme import TagScheme
    from models_tf.tasks import classification, embedding, question_answering, sentence_order, tagging
    from models_tf.tasks.rows import row_bytes

    check_task(task)
    path = Path(path)
    whole: TaskRows | None = None
    if task == QUESTION_ANSWERING:
        whole = question_answering.read_questions(
            path,
            tokenizer=tokenizer,
            max_len=max_len,
            doc_stride=doc_stride,
            max_query_len=max_query_len,
            labelled=labelled,
        )
    elif several is None and task in (CLASSIFICATION, SENTENCE_ORDER) and sentence_order.reads(path, labels):
        whole = sentence_order.read_order(path, tokenizer=tokenizer, max_len=max_len)
    if whole is not None:
        return whole if pick is None else whole.take(pick(len(whole)))
    readers: dict[str, tuple[Any, Any]] = {
        CLASSIFICATION: (classification.read_classification, classification.LabelNames),
        SENTENCE_ORDER: (classification.read_classification, classification.LabelNames),
        REGRESSION: (classification.read_regression, classification.Numbers),
        TOKEN_CLASSIFICATION: (tagging.read_tagging, TagScheme),
        EMBEDDING: (embedding.read_embedding, classification.Numbers),
    }
    if several is not None:
        readers[CLASSIFICATION] = several.read, several.watcher
    read, watcher = readers[task]
    own: dict[str, Any] = {"tokenizer": tokenizer, "labels": labels, "max_len": max_len, "labelled": labelled}
    if parsed is not None:
        return read(parsed if pick is None else [parsed[i] for i in pick(len(parsed))], path, **own, seen=seen)
    rows: Any = stream_file(task, path, columns=columns, labelled=labelled)
    seen = watcher(path) if labelled else None  # labels are looked at in all rows, also in those that are not kept
    per_row = 0 if pick is not None else row_bytes(task, len(labels), max_len)
    held = hold(rows if seen is None else seen.watch(rows), lambda row: per_row + row.held_bytes())
    if pick is not None:
        return read([held.rows[i] for i in pick(len(held.rows))], path, **own, seen=seen)
    found = read(held.rows, path, **own, seen=seen)
    if len(held.rows) == held.total:
        return found
    places = [number - 1 for number in found.numbers] or range(len(held.places))
    numbers = tuple(held.places[place] + 1 for place in places)
    return dataclasses.replace(found, numbers=numbers, notes=(*held.note(path), *found.notes))


def generated_rows(
    task: str,
    tokenizer: "Tokenizer | int",
    *,
    max_len: int,
    count: int = 64,
    seed: int = 0,
    pairs: bool = False,
    labels: Sequence[str] = (),
) -> "TaskRows":
    """Made-up rows without targets, for runs without data; instead of a tokenizer, a vocabulary size will do."""
    from models_tf.tasks import generated

    check_task(task)
    return generated.generate(
        task, tokenizer, max_len=max_len, count=count, seed=seed, pairs=pairs, labels=tuple(labels)
    )
