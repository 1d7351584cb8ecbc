"""From bytes to tokens: which bytes belong to which token, and the lower-case characters that each token keeps.

The rules are those of the projection op, docs/projection.md: the text ends at the last byte that is not 0, a character
that is not whole in the buffer is dropped, tokens end at spaces and around separators, and a byte that is not UTF-8
ends the token's word.
"""

from dataclasses import dataclass

import numpy as np

from exporters.bytes_in.ops import Ops, Value
from exporters.bytes_in.settings import BytesIn
from exporters.bytes_in.tables import EXTRA_BITS, LEAD_MARKS, PAGE, CharacterTable, byte_table


@dataclass(frozen=True, kw_only=True)
class Characters:
    """The characters that are kept, from place 1 on, each with the number of its token, from 1 on; 0 where there is
    none. `tokens` is the number of tokens, `counts` how many characters each has; token 0 has none.
    """

    codes: Value
    token: Value
    tokens: Value
    counts: Value


def characters(ops: Ops, text: Value, front: BytesIn, table: CharacterTable) -> Characters:
    """`text` are the bytes as numbers."""
    about = byte_table(front.config.token_separators)
    names = ("solid", "separator", "closes", "continues", "length", "low", "high")
    found = dict(zip(names, ops.columns([getattr(about, name) for name in names], text), strict=True))
    place, length = ops.places(text), found["length"]

    # The text ends before a character that is not whole, and with the last byte before it that is not 0.
    whole = ops.at_least(front.max_bytes, ops.add(place, length))
    cut = ops.smallest(ops.choose(whole, front.max_bytes, place))
    written = ops.both(ops.at_least(ops.subtract(cut, place), 1), ops.at_least(text, 1))
    end = ops.largest(ops.multiply(ops.number(written), ops.add(place, 1)))
    solid = ops.multiply(ops.number(ops.at_least(ops.subtract(end, place), 1)), found["solid"])

    # A token starts behind a space, at a separator, and behind one that closes.
    goes_on = ops.moved(ops.multiply(solid, ops.subtract(1, found["closes"])), -1)
    starts = ops.multiply(solid, ops.subtract(1, ops.multiply(goes_on, ops.subtract(1, found["separator"]))))
    number = ops.running_sum(starts)
    inside = ops.both(ops.at_least(solid, 1), ops.at_least(front.tokens, number))
    token = ops.multiply(ops.number(inside), number)

    sequence = ops.multiply(length, ops.number(_is_valid(ops, text, found)))
    # How far places are ahead of the bytes that valid sequences explain: the same from the start of a token on, until
    # a byte is not valid.
    ahead = ops.subtract(ops.add(place, sequence), ops.running_sum(sequence))
    at_start = ops.sums(ops.multiply(starts, ahead), token, front.tokens + 1)
    kept = ops.both(ops.at_least(sequence, 1), ops.equal(ahead, ops.pick(at_start, token)), ops.at_least(token, 1))
    codes, stays = _lower(ops, _code_points(ops, text, length), table)
    if stays is not None:
        kept = ops.both(kept, stays)
    counted = ops.number(kept)
    packed_codes, packed_token = ops.packed(kept, ops.multiply(codes, counted), ops.multiply(token, counted))
    return Characters(
        codes=packed_codes,
        token=packed_token,
        tokens=ops.largest(number),
        counts=ops.sums(counted, token, front.tokens + 1),
    )


def _is_valid(ops: Ops, text: Value, found: dict[str, Value]) -> Value:
    """Whether a whole UTF-8 sequence starts there."""
    second, length = ops.moved(text, 1), found["length"]
    return ops.both(
        ops.at_least(second, found["low"]),
        ops.at_least(found["high"], second),
        *(
            ops.at_least(ops.add(ops.moved(found["continues"], distance), distance), length)
            for distance in (2, 3)  # a sequence that is longer than the distance goes on there
        ),
    )


def _code_points(ops: Ops, text: Value, length: Value) -> Value:
    """The code point of the sequence that starts there; any number where none does."""
    bits = ops.remainder(text, 64)
    joined = ops.multiply(text, 1 << 18)
    for distance, weight in ((1, 1 << 12), (2, 1 << 6), (3, 1)):
        joined = ops.add(joined, ops.multiply(ops.moved(bits, distance), weight))
    marked = ops.shift_right_by(joined, np.array(EXTRA_BITS, np.int32), length)
    return ops.subtract(marked, ops.lookup(np.array(LEAD_MARKS, np.int32), length))


def _lower(ops: Ops, codes: Value, table: CharacterTable) -> tuple[Value, Value | None]:
    """The characters in lower case, and which of them stay; None if all do."""
    known = ops.minimum(codes, table.limit)
    page = ops.shift_right(known, PAGE.bit_length() - 1)
    start = ops.multiply(ops.lookup(table.page, page), PAGE)
    kind = ops.lookup(table.kind, ops.add(start, ops.subtract(known, ops.multiply(page, PAGE))))
    lower = ops.add(codes, ops.lookup(table.delta, kind))
    return lower, ops.at_least(kind, 1) if table.filters else None
