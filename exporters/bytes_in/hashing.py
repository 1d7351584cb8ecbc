"""The hashes of the projection op on wide numbers: murmur of words, trigrams, and the codes that follow from both.

The same arithmetic as `models_tf/ops/projection/reference.py`, on whole vectors.
"""

from collections.abc import Sequence

from exporters.bytes_in.ops import Ops, Value
from models_tf.ops.projection.reference import M2, MASK, M, times

CHARACTER_BITS = 21
BEFORE, AFTER = 2, 3  # the characters around a word


def trigram_codes(ops: Ops, first: Value, second: Value, third: Value) -> tuple[Value, Value]:
    """The first two codes of each three characters."""
    product = ops.wide_multiply(ops.wide(first), M)
    for place, character in ((1, second), (2, third)):
        factor = times(M, 1 << place * CHARACTER_BITS)
        product = ops.wide_add(product, ops.wide_multiply(ops.wide(character), factor))
    a = ops.wide_multiply(ops.mix(product), M)
    return ops.mix(a), _finished(ops, ops.xor(a, M2))


def word_codes(ops: Ops, blocks: Value, first_block: Value, sizes: Value, most: int) -> tuple[Value, Value]:
    """The first two codes of each word. `sizes` are in bytes, and `most` is the number of blocks."""
    full_blocks = ops.wide_multiply(ops.mix(ops.wide_multiply(blocks, M)), M)

    def body(number: Value, state: Sequence[Value], fixed: Sequence[Value]) -> Sequence[Value]:
        h1, h2 = state
        part, full, start, size = fixed
        place = ops.minimum(ops.add(start, number), most - 1)  # words that are done no longer count
        rest = ops.subtract(size, ops.multiply(number, 8))
        value = ops.wide_choose(ops.at_least(rest, 8), ops.pick(full, place), ops.pick(part, place))
        new = ops.wide_multiply(ops.xor(h1, value), M)
        live = ops.at_least(rest, 1)
        return ops.wide_choose(live, new, h1), ops.wide_choose(live, ops.xor(h2, new), h2)

    h1 = ops.wide_multiply(ops.wide(sizes), M)
    h2 = ops.wide_multiply(h1, 0)
    rounds = ops.shift_right(ops.add(ops.largest(sizes), 7), 3)
    h1, h2 = ops.repeat(rounds, (h1, h2), (blocks, full_blocks, first_block, sizes), body)
    h1 = ops.wide_multiply(ops.mix(h1), M)
    return ops.mix(h1), _finished(ops, ops.xor(h2, h1))


def next_codes(ops: Ops, low: Value, high: Value) -> tuple[Value, Value]:
    """The two codes that follow."""
    a = ops.wide_multiply(ops.mix(low), M)
    mixed, next_high = ops.mix_both(ops.wide_multiply(ops.xor(high, a), M2), a)
    return ops.wide_multiply(mixed, M2), next_high


def _finished(ops: Ops, value: Value) -> Value:
    return ops.wide_multiply(ops.mix(ops.wide_multiply(value, M2)), M2)


def signed(value: int) -> int:
    """A 64-bit number as a signed one with the same bits."""
    value &= MASK
    return value - (MASK + 1) if value >> 63 else value
