"""Recognises and checks a file's tags: plain ones, or entities as O, B-x, I-x (E-x, S-x).

There are two ways to write entities. IOB2: each begins with B-. IOB1: it begins with I-, and B- is used only directly
after another entity of the same type. Either is fine. A file that mixes the two has errors: conlleval reads such an I-
as a beginning, and so do the metrics here. BILOU is not supported.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from models_tf import limits
from models_tf.data.tagged import TaggedRow
from models_tf.errors import InputError

_ENTITY = re.compile(r"[BIES]-\S.*")
_BEGINS_SMALL = re.compile(r"b-\S.*")
_SMALL = re.compile(r"[bies]-.*|o")
_OUTSIDE = "O"
# First letters of tags, by what they do.
_BEGIN, _INSIDE, _BEFORE = ("B", "S"), ("I", "E"), ("B", "I")


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
                f"{path} line {self.line}: an entity must begin with B-, as others of the file do ({self.with_b}). "
                f"Received: {tag} after {before or 'the beginning of a sentence'}. "
                f"Remedy: B{tag[1:]} there, or --loose-tags to take every such I- as a beginning ({self.with_i})."
            )


class TagScheme:
    """Looks at the tags of every sentence of a file as it passes. `first` is the line where each tag stands first."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.first: dict[str, int] = {}
        self._with_b = self._with_i = self._line = 0
        self._tags = ("", "")

    def watch(self, rows: Iterable[TaggedRow]) -> Iterator[TaggedRow]:
        for row in rows:
            self.add(row)
            yield row

    def add(self, row: TaggedRow) -> None:
        before = ""
        for tag, line in zip(row.tags, row.lines, strict=True):
            if tag not in self.first:
                self.first[tag] = line
                limits.check("labels", len(self.first), str(self._path))
            same_type = before[2:] == tag[2:]
            if tag[:1] in _BEGIN and not same_type:
                self._with_b += 1
            elif tag[:1] in _INSIDE and not (same_type and before[:1] in _BEFORE):
                self._with_i += 1
                if not self._line:
                    self._line, self._tags = line, (before, tag)
            before = tag

    def entities(self) -> Entities:
        """How entities begin. Malformed tags, and entities mixed with plain tags, raise InputError with the line."""
        if not _has_entities(self.first, self._path):
            return Entities()
        return Entities(with_b=self._with_b, with_i=self._with_i, line=self._line, tags=self._tags)


def check_tags(rows: Iterable[TaggedRow], path: Path) -> Entities:
    """How the entities of these rows begin; see `TagScheme.entities`."""
    scheme = TagScheme(path)
    for row in rows:
        scheme.add(row)
    return scheme.entities()


def _has_entities(first: Mapping[str, int], path: Path) -> bool:
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
    return bool(entities)
