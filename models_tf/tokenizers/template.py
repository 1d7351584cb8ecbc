"""`Template`: where a tokenizer puts special tokens around one text or two, and the segment of every part.

It is read off the tokenizer's own post-processor, so that rows made by hand are those that it would make. Leaves out
templates that repeat a text or put the second one first: no model reads such rows.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from models_tf.errors import InputError

if TYPE_CHECKING:
    from tokenizers import Tokenizer as Backend


@dataclass(frozen=True, kw_only=True)
class Template:
    """`parts` are ids of special tokens, or None where a text stands, each with its segment."""

    parts: tuple[tuple[int | None, int], ...]

    @property
    def special_count(self) -> int:
        return sum(number is not None for number, _ in self.parts)

    def start(self, *lengths: int) -> int:
        """The place of a text's first token, behind texts of these lengths."""
        texts = [place for place, (number, _) in enumerate(self.parts) if number is None]
        return texts[len(lengths)] - len(lengths) + sum(lengths)

    def row(self, *texts: Sequence[int]) -> tuple[list[int], list[int]]:
        """Ids and segments of texts that are ids."""
        ids, segments, given = list[int](), list[int](), iter(texts)
        for number, segment in self.parts:
            part = next(given) if number is None else (number,)
            ids += part
            segments += [segment] * len(part)
        return ids, segments


def bert_template(cls: int, sep: int, *, pairs: bool) -> Template:
    """[CLS] text [SEP], and behind it second text [SEP] in segment 1."""
    one = ((cls, 0), (None, 0), (sep, 0))
    return Template(parts=(*one, (None, 1), (sep, 1)) if pairs else one)


def read_template(backend: "Backend", tokens: Iterable[str], source: str, *, pairs: bool) -> Template:
    """What the tokenizer makes of a text of its own `tokens`; `source` names it in messages."""
    known = next((token for token in tokens if len(backend.encode(token, add_special_tokens=False))), "")
    row = backend.encode(known, known if pairs else None)
    parts, texts = list[tuple[int | None, int]](), list[int | None]()
    for number, segment, special, which in zip(
        row.ids, row.type_ids, row.special_tokens_mask, row.sequence_ids, strict=True
    ):
        if special:
            parts.append((number, segment))
        elif not texts or which != texts[-1]:  # else one more token of the same text
            parts.append((None, segment))
            texts.append(which)
    if texts != [0, 1][: 1 + pairs]:
        raise InputError(
            f"{source} must have a template that holds {'each of two texts' if pairs else 'a text'} once, in order. "
            "Received: another one. Give the tokenizer that the model was trained with."
        )
    return Template(parts=tuple(parts))
