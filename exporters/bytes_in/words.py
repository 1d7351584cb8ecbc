"""From characters to the words of murmur: their UTF-8 bytes, in blocks of 8, each word from a new block on."""

from dataclasses import dataclass

from exporters.bytes_in.ops import Ops, Value
from exporters.bytes_in.settings import BLOCK
from exporters.bytes_in.tokens import Characters

# From these code points on a character takes a byte more.
_LONGER = (0x80, 0x800, 0x10000)
_LEADS = (0xC0, 0xE0, 0xF0)  # marks of the first byte


@dataclass(frozen=True, kw_only=True)
class Words:
    """`blocks` of all words one after the other; where each word begins among them, and its bytes."""

    blocks: Value
    first_block: Value
    sizes: Value


def words(ops: Ops, characters: Characters, *, tokens: int, blocks: int, highest: int) -> Words:
    """The words of all tokens; word 0 is empty. `highest` is the largest code point that there may be."""
    longer = [ops.at_least(characters.codes, code) for code in _LONGER if code <= highest]
    length = ops.number(ops.at_least(characters.token, 1))  # code 0 takes a byte, too
    for flag in longer:
        length = ops.add(length, ops.number(flag))
    sizes = ops.sums(length, characters.token, tokens + 1)
    needed = ops.shift_right(ops.add(sizes, BLOCK - 1), 3)
    first_block = ops.subtract(ops.running_sum(needed), needed)
    # Bytes of all words without gaps, and how far each word is moved by them.
    moved = ops.subtract(ops.multiply(first_block, BLOCK), ops.subtract(ops.running_sum(sizes), sizes))
    start = ops.add(ops.subtract(ops.running_sum(length), length), ops.pick(moved, characters.token))
    return Words(
        blocks=ops.blocks(_utf8(ops, characters.codes, longer), start, blocks), first_block=first_block, sizes=sizes
    )


def _utf8(ops: Ops, codes: Value, longer: list[Value]) -> Value:
    """The bytes of each character in one number, the first one lowest. `longer` says which take 2, 3 and 4 bytes."""
    upper = [codes, *(ops.shift_right(codes, 6 * place) for place in range(1, len(longer) + 1))]
    # Six bits each, marked as bytes that continue.
    lower = [ops.add(ops.subtract(upper[i], ops.multiply(upper[i + 1], 64)), 0x80) for i in range(len(longer))]
    encoded = codes
    for count, (flag, mark) in enumerate(zip(longer, _LEADS, strict=False), start=1):
        value = ops.add(upper[count], mark)
        for place in range(1, count + 1):
            value = ops.add(value, ops.multiply(lower[count - place], 1 << 8 * place))
        encoded = ops.choose(flag, value, encoded)
    return encoded
