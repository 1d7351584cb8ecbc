"""Which head a checkpoint is read with: its own, none, a new one for other labels, or ALBERT's sentence-order layer."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from models_tf.checkpoints.document import Document
from models_tf.checkpoints.family import OTHER, Family
from models_tf.data.labels import is_storable
from models_tf.encoder.heads import (
    BASE,
    CLASSIFICATION,
    HEADS,
    ORDER_LABELS,
    QUESTION_ANSWERING,
    QUESTION_OUTPUTS,
    SENTENCE_ORDER,
    TOKEN_CLASSIFICATION,
    WITHOUT_WEIGHTS,
    Head,
    make_head,
)
from models_tf.errors import InputError


@dataclass(frozen=True, kw_only=True)
class ChosenHead:
    """The head to read.

    `is_stored`: config.json describes it. `is_new`: its weights are drawn at random. `layer` is PyTorch's name for its
    layer if not the usual one. `replaces` is the kind of the stored head if that one is not read, OTHER for any.
    """

    head: Head
    labels: list[str]
    is_stored: bool
    is_new: bool = False
    layer: str | None = None
    replaces: str | None = None


def choose_head(
    *,
    family: Family,
    document: Mapping[str, Any],
    where: str,
    stored: str | None,
    tensors: Collection[str],
    asked: str | None,
    new_labels: Sequence[str] | None,
) -> ChosenHead:
    """See `OpenCheckpoint.read`. `stored` is the kind of head named in config.json, `tensors` are PyTorch's names."""
    layer = _order_layer(family, tensors, stored, asked, new_labels)
    if layer is not None:
        head = make_head(CLASSIFICATION, ORDER_LABELS)
        return ChosenHead(head=head, labels=list(ORDER_LABELS), is_stored=False, layer=layer, replaces=BASE)
    needs_stored = new_labels is None and asked not in WITHOUT_WEIGHTS
    if stored == OTHER and needs_stored:
        raise family.not_listed(document, where)
    unnamed = family.heads_in(tensors) if stored is None else ()
    if unnamed and asked is None and needs_stored:
        raise InputError(
            f"{where} must name the class of the model in `architectures`. Received: none, and weights of a head. Name "
            f"it, or give --task {' or '.join(unnamed)}."
        )
    kind = _head_kind(stored, asked, where, fresh=new_labels is not None)
    labels = stored_labels(document, kind, where) if new_labels is None else list(new_labels)
    if asked == SENTENCE_ORDER and labels != list(ORDER_LABELS):
        raise InputError(
            f"{where}: a {SENTENCE_ORDER} model is asked for, with labels {' and '.join(ORDER_LABELS)}. "
            f"Received: {', '.join(labels[:4])}."
        )
    if new_labels is None:
        is_stored = stored in (None, kind)
    else:
        is_stored = stored == kind and stored_labels(document, kind, where) == labels
    check_labels(labels, kind)
    return ChosenHead(
        head=make_head(kind, labels),
        labels=labels,
        is_stored=is_stored,
        is_new=new_labels is not None and not is_stored,
        replaces=None if is_stored and kind not in WITHOUT_WEIGHTS else stored or next(iter(unnamed), BASE),
    )


def stored_labels(document: Mapping[str, Any], kind: str, where: str) -> list[str]:
    """The labels in config.json for this kind of head."""
    reader = Document(values=document, where=where)
    if kind in WITHOUT_WEIGHTS:
        return []
    labels = reader.labels()
    if kind == QUESTION_ANSWERING:
        if len(labels) != QUESTION_OUTPUTS:
            reader.fail("id2label", f"of {QUESTION_OUTPUTS} entries, for start and end", f"{len(labels)} entries")
        return []
    if kind == CLASSIFICATION:
        reader.problem_type(len(labels))
    return labels


def check_labels(labels: Sequence[str], kind: str) -> None:
    if kind in (CLASSIFICATION, TOKEN_CLASSIFICATION) and not labels:
        raise InputError(f"A {kind} head needs labels. Received: none.")
    for label, count in Counter(labels).items():
        if not is_storable(label) or count > 1:
            raise InputError(f"Labels must be printable text and differ. Received: {label!r}, {count} times.")


def _head_kind(stored: str | None, head: str | None, where: str, *, fresh: bool) -> str:
    kind = CLASSIFICATION if head == SENTENCE_ORDER else head
    if kind is not None and kind not in HEADS:
        raise InputError(f"Unknown head: expected one of {', '.join(HEADS)}. Received: {head}.")
    if fresh:
        if head in (None, *WITHOUT_WEIGHTS):
            raise ValueError(f"`new_head_labels` needs a head to put them on. Received: {head}.")
        return str(kind)
    if stored is None or kind in (None, stored, *WITHOUT_WEIGHTS):
        return kind or stored or BASE
    raise InputError(
        f"{where}: a {head} model is asked for. Received: a {stored} model; fine-tune it with `export-mobile train`."
    )


def _order_layer(
    family: Family, tensors: Collection[str], stored: str | None, head: str | None, new_labels: Sequence[str] | None
) -> str | None:
    """The sentence-order layer of a pretraining checkpoint, if that head is asked for."""
    asked = head == SENTENCE_ORDER or (head == CLASSIFICATION and tuple(new_labels or ()) == ORDER_LABELS)
    layer = family.order_layer
    return layer if asked and layer and stored in (None, BASE) and f"{layer}.weight" in tensors else None
