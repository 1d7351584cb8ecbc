"""`explain`: which words of a text each layer of a token-dropping model passes on, as values.

A word is what the tokenizer splits into pieces; it is present while any of its pieces is. `text.py` draws it for a
terminal, `chart.py` as a picture. Leaves out why a token is dropped: see `models_tf/encoder/retention.py`.
"""

import dataclasses
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from exporters.explanation.request import DEFAULT_ROWS, ExplainRequest
from exporters.request_fields import check_request
from models_tf import extras
from models_tf.checkpoints import encoder
from models_tf.checkpoints.encoder import EncoderCheckpoint
from models_tf.checkpoints.sequence_length import sequence_length
from models_tf.data.table import read_table
from models_tf.data.text import clean_text
from models_tf.encoder.config import EncoderConfig
from models_tf.errors import InputError, naming_fields
from models_tf.spec import IDS, LOGITS, MASK, SEGMENTS
from models_tf.tokenizers.tokenizer import Tokenizer

_BATCH = 16
# With several labels, a logit above 0 means yes.
_YES = 0.5


@dataclass(frozen=True, kw_only=True)
class Word:
    """`places` are the positions of its pieces in the model's input. `special`: a token that is not in the text."""

    text: str
    places: tuple[int, ...]
    special: bool = False


@dataclass(frozen=True, kw_only=True)
class Answer:
    """`probability` of a label, or `score` of a regression."""

    label: str
    probability: float | None = None
    score: float | None = None


@dataclass(frozen=True, kw_only=True)
class ExplainedText:
    """`layers`: for each layer the places of the tokens it passed on, in text order, without padding.

    The last layer of a model with an answer reads only the first token. `cut` pieces of the text did not fit.
    """

    text: str
    pair: str | None
    words: tuple[Word, ...]
    layers: tuple[tuple[int, ...], ...]
    answers: tuple[Answer, ...]
    cut: int = 0

    @property
    def places(self) -> tuple[int, ...]:
        """All tokens that went in."""
        return tuple(sorted(place for word in self.words for place in word.places))

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """Some texts, and how many tokens each layer keeps (`retention`) by which rule (`retention_by`)."""

    model: str
    trained: bool
    retention: tuple[int, ...]
    retention_by: str
    max_seq_len: int
    texts: tuple[ExplainedText, ...]

    def to_json(self) -> str:
        return json.dumps(dataclasses.asdict(self), indent=2, ensure_ascii=False)


def survivors(word: Word, kept: Sequence[int]) -> int:
    """How many pieces of a word are among the places kept."""
    return len(set(word.places) & set(kept))


def drops_tokens(config: EncoderConfig) -> bool:
    return bool(config.retention)


def check(checkpoint: EncoderCheckpoint) -> None:
    """Refuses a model that has nothing to explain. Needs no TensorFlow."""
    if not drops_tokens(checkpoint.config):
        raise InputError(
            "explain is for models that drop tokens between layers. "
            f"Received: {checkpoint.model_name}, which keeps all of them; make one that drops with "
            "`export-mobile train --model powerbert` or `export-mobile compress --retention`."
        )


@naming_fields()
def explain(request: ExplainRequest) -> Explanation:
    """Run a token-dropping model on some texts, in float, and say which words each layer keeps.

    Args:
        request: the checkpoint and the texts.

    Raises:
        InputError: the checkpoint or the texts cannot be used, or the model keeps all tokens; in one line.
    """
    check_request(request, ExplainRequest)
    texts = _texts(request)  # before TensorFlow is loaded: files may be wrong
    checkpoint = encoder.load(str(request.checkpoint), model=request.model)
    return explain_texts(
        checkpoint,
        [text for text, _ in texts],
        None if texts[0][1] is None else [pair or "" for _, pair in texts],
        max_seq_len=request.max_seq_len,
        tokenizer=Tokenizer.from_files(checkpoint.tokenizer_files, f"Checkpoint {request.checkpoint}"),
    )


def _texts(request: ExplainRequest) -> list[tuple[str, str | None]]:
    """The texts, with the second text of pairs. Empty rows of a file are skipped."""
    if request.data is None:
        return list(zip(request.text, request.text_pair or itertools.repeat(None), strict=False))
    rows = read_table(
        request.data, request.text_column, labelled=False, pair_column=request.text_pair_column, guess_pairs=True
    )
    texts = ((row.text, row.pair) for row in rows if row.text.strip() and (row.pair is None or row.pair.strip()))
    found = list(itertools.islice(texts, request.rows or DEFAULT_ROWS))
    if not found:
        raise InputError(f"{request.data} must have texts. Received: none.")
    return found


def explain_texts(
    checkpoint: EncoderCheckpoint,
    texts: Sequence[str],
    pairs: Sequence[str] | None = None,
    *,
    max_seq_len: int | None = None,
    tokenizer: Tokenizer | None = None,
    table: Mapping[str, Any] | None = None,
) -> Explanation:
    """The same for a checkpoint already read. `pairs` are the second texts; `table` its weights, if already tensors."""
    extras.require(extras.EXPORT, "An explanation")
    check(checkpoint)
    if not texts:
        raise InputError("explain needs a text. Received: none.")
    length = sequence_length(checkpoint, max_seq_len)
    if tokenizer is None:
        tokenizer = Tokenizer.from_files(checkpoint.tokenizer_files, f"Checkpoint of {checkpoint.model_name}")
    tokenizer.check_embedding(checkpoint.config.vocab_size)
    if pairs is not None and len(pairs) != len(texts):
        raise ValueError(f"`texts` and `pairs` must be as many. Received: {len(texts)}, {len(pairs)}.")
    rows = [(clean_text(text), None if pairs is None else clean_text(pairs[i])) for i, text in enumerate(texts)]
    one = _Model(checkpoint, tokenizer, length, checkpoint.tensors if table is None else table)
    found = [text for start in range(0, len(rows), _BATCH) for text in one.explain(rows[start : start + _BATCH])]
    return Explanation(
        model=checkpoint.model_name,
        trained=checkpoint.trained,
        retention=checkpoint.config.retention,
        retention_by=checkpoint.config.retention_by,
        max_seq_len=length,
        texts=tuple(found),
    )


class _Model:
    """A checkpoint ready to run; imports TensorFlow."""

    def __init__(
        self, checkpoint: EncoderCheckpoint, tokenizer: Tokenizer, length: int, table: Mapping[str, Any]
    ) -> None:
        import tensorflow as tf

        self.checkpoint, self.tokenizer, self.length = checkpoint, tokenizer, length
        self.table = {name: tf.convert_to_tensor(value) for name, value in table.items()}

    def explain(self, rows: Sequence[tuple[str, str | None]]) -> Iterator[ExplainedText]:
        texts, pairs = [text for text, _ in rows], [pair for _, pair in rows if pair is not None]
        # Padding neither votes nor outranks a token: shorter rows give the same answer sooner.
        inputs = self.tokenizer.encode(texts, pairs or None, max_len=self.length, pad=False)
        places, logits = self._run(inputs)
        for i, (text, pair) in enumerate(rows):
            words, cut = _words(self.tokenizer, {name: values[i] for name, values in inputs.items()}, text, pair)
            real = int(inputs[MASK][i].sum())
            layers = [sorted(int(place) for place in layer[i] if place < real) for layer in places]
            if logits is not None:
                layers[-1] = layers[-1][:1]
            yield ExplainedText(
                text=text,
                pair=pair,
                words=words,
                layers=tuple(map(tuple, layers)),
                answers=() if logits is None else _answers(self.checkpoint, logits[i]),
                cut=cut,
            )

    def _run(self, inputs: Mapping[str, np.ndarray]) -> tuple[list[np.ndarray], np.ndarray | None]:
        """Places that each layer passed on [rows, tokens], and logits if the head gives some for a text."""
        import tensorflow as tf

        from models_tf.encoder import forward

        feed = {name: tf.constant(inputs[name]) for name in (IDS, MASK, SEGMENTS)}
        found = forward.run(self.checkpoint.config, self.checkpoint.head, self.table, **feed)
        logits = found.outputs[LOGITS].numpy() if self.checkpoint.head.reads_pooled else None
        return [layer.numpy() for layer in found.places], logits


def _answers(checkpoint: EncoderCheckpoint, logits: np.ndarray) -> tuple[Answer, ...]:
    """The label, or all that hold with multi-label; the likeliest if none does."""
    labels = checkpoint.labels or [str(number) for number in range(len(logits))]
    values = logits.astype(np.float64)
    if len(values) == 1 and not checkpoint.gives_several:
        return (Answer(label=labels[0], score=float(values[0])),)
    best = int(values.argmax())
    if checkpoint.gives_several:
        chances = 1 / (1 + np.exp(-values))
        chosen = [number for number in range(len(values)) if chances[number] >= _YES] or [best]
    else:
        chances = np.exp(values - values.max())
        chances, chosen = chances / chances.sum(), [best]
    return tuple(Answer(label=labels[number], probability=float(chances[number])) for number in chosen)


def _words(
    tokenizer: Tokenizer, row: Mapping[str, np.ndarray], text: str, pair: str | None
) -> tuple[tuple[Word, ...], int]:
    """The words of a row in input order, and how many pieces did not fit."""
    real, words, cut = int(row[MASK].sum()), list[Word](), 0
    sides = [np.arange(real)] if pair is None else [np.flatnonzero(row[SEGMENTS][:real] == side) for side in (0, 1)]
    for written, places in zip((text, pair or ""), sides, strict=False):
        (pieces,) = tokenizer.pieces([written])
        taken, last = 0, None
        for place in places.tolist():
            number = int(row[IDS][place])
            if taken == len(pieces.ids) or number != pieces.ids[taken]:  # in the input but not in the text
                words.append(Word(text=tokenizer.token(number), places=(place,), special=True))
                last = None
                continue
            start, end = pieces.spans[taken]
            word = pieces.words[taken]
            if last is not None and word is not None and word == last[0]:
                start = last[1]
                joined = (*words.pop().places, place)
            else:
                joined = (place,)
            shown = written[start:end].strip() or tokenizer.token(number)
            words.append(Word(text=shown, places=joined))
            last, taken = (word, start), taken + 1
        cut += len(pieces.ids) - taken
    return tuple(words), cut
