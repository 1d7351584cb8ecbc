"""Recognises and checks a file's tags: plain ones, or entities as O, B-x, I-x (E-x, S-x).

There are two ways to write entities. IOB2: each begins with B-. IOB1: it begins with I-, and B- is used only directly
after another entity of the same type. Either is fine. A file that mixes the two has errors: conlleval reads such an I-
as a beginning, and so do the metrics here. BILOU is not supported.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from models_tf.data.tagged import TaggedRow
from models_tf.errors import InputError

_ENTITY = re.compile(r"[BIES]-\S.*")
_BEGINS_SMALL = re.compile(r"b-\S.*")
_SMALL = re.compile(r"[bies]-.*|o")
_OUTSIDE = "O"


@dataclass(frozen=True, kw_only=True)
class Entities:
    """How a file's entities begin. `line` and `tags` (the tag before, and its own) are of the first with I-."""

    with_b: int = 0  # where IOB1 would write I-
    with_i: int = 0
    line: int = 0
    tags: tuple[str, str] = ("", "")

    @property
    def mixed(self) -> bool:
        return bool(self.with_b and self.with_i)

    def note(self, path: Path) -> tuple[str, ...]:
        if not self.mixed:
            return ()
        note = (
            f"{path}: {self.with_i} of {self.with_i + self.with_b} entities begin with I-, "
            f"the first in line {self.line}: "
            "taken as beginnings, as conlleval does."
        )
        return (note,)

    def require_one_scheme(self, path: Path) -> None:
        """Mixed schemes raise InputError with the line of the first entity that begins with I-."""
        if self.mixed:
            before, tag = self.tags
            raise InputError(
                f"{path} line {self.line}: an entity must begin with B-, as {self.with_b} others of the file do. "
                f"Received: {tag} after {before or 'the beginning of a sentence'}. "
                f"Remedy: B{tag[1:]} there, or --loose-tags to take the {self.with_i} of them as beginnings."
            )


def check_tags(rows: Iterable[TaggedRow], path: Path) -> Entities:
    """How entities begin. Malformed tags, and entities mixed with plain tags, raise InputError with the line."""
    rows = list(rows)
    first: dict[str, int] = {}  # tag -> the line of its first use
    for row in rows:
        for tag, line in zip(row.tags, row.lines, strict=True):
            first.setdefault(tag, line)
    for tag, line in first.items():
        if re.fullmatch(r"[BIES]-\s*", tag):
            raise InputError(
                f"{path} line {line}: a tag must name its type, such as {tag[0]}-person. Received: {tag!r}."
            )
    entities = [tag for tag in first if _ENTITY.fullmatch(tag)]
    small = [tag for tag in first if _SMALL.fullmatch(tag)]
    if small and (entities or any(_BEGINS_SMALL.fullmatch(tag) for tag in small)):
        tag = min(small, key=first.__getitem__)
        right = tag[0].upper() + tag[1:]
        raise InputError(f"{path} line {first[tag]}: tags of entities are in capitals, {right!r}. Received: {tag!r}.")
    plain = [tag for tag in first if tag not in entities and tag != _OUTSIDE]
    if entities and plain:
        tag = plain[0]
        known = f"O, B-x and I-x (or E-x, S-x), as {entities[0]!r} in line {first[entities[0]]}"
        bilou = f" Of BILOU, write {'E' if tag[0] == 'L' else 'S'}{tag[1:]}." if re.match(r"[LU]-.", tag) else ""
        raise InputError(f"{path} line {first[tag]}: all tags must be {known}. Received: {tag!r}.{bilou}")
    return _beginnings(rows) if entities else Entities()


def _beginnings(rows: list[TaggedRow]) -> Entities:
    with_b = with_i = first_line = 0
    tags = ("", "")
    for row in rows:
        before = ""
        for tag, line in zip(row.tags, row.lines, strict=True):
            same_type = before[2:] == tag[2:]
            if tag[0] in "BS" and not same_type:
                with_b += 1
            elif tag[0] in "IE" and not (same_type and before[0] in "BI"):
                with_i += 1
                if not first_line:
                    first_line, tags = line, (before, tag)
            before = tag
    return Entities(with_b=with_b, with_i=with_i, line=first_line, tags=tags)
