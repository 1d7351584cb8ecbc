"""The whole projection: the bytes of one text in, what its rows of features are computed from out.

What is left to the formats is how codes become features (`Rows`), since runtimes differ most there.
"""

from dataclasses import dataclass

from exporters.bytes_in.hashing import AFTER, BEFORE, trigram_codes, word_codes
from exporters.bytes_in.ops import Ops, Value
from exporters.bytes_in.settings import BytesIn
from exporters.bytes_in.tokens import characters
from exporters.bytes_in.words import words
from models_tf.ops.projection.reference import NULL, murmur

# The longest word whose sums of trigrams cannot leave -127 to 127.
SHORT_WORD = 127


@dataclass(frozen=True, kw_only=True)
class Codes:
    """The first two codes of each entry; more follow from them. `emitted` is what stands for the first one in a row."""

    emitted: Value
    low: Value
    high: Value


@dataclass(frozen=True, kw_only=True)
class Rows:
    """Everything that the rows of features follow from. Token 0 and character 0 are none.

    The trigrams of token t are those of characters `last[t - 1]` + 1 to `last[t]`. Tokens with a 1 in `empty` have no
    character left: their trigrams are those of `<null>`.
    """

    words: Codes
    trigrams: Codes | None
    tokens: Value
    last: Value
    counts: Value
    empty: Value

    def entries(self, ops: Ops) -> Codes:
        """The codes of the words and, behind them, of the trigrams."""
        if self.trigrams is None:
            return self.words
        return Codes(
            emitted=ops.joined(self.words.emitted, self.trigrams.emitted),
            low=ops.joined(self.words.low, self.trigrams.low),
            high=ops.joined(self.words.high, self.trigrams.high),
        )


def rows(ops: Ops, text: Value, front: BytesIn) -> Rows:
    """`text` are the bytes as numbers."""
    table, tokens = front.characters, front.tokens
    found = characters(ops, text, front, table)
    blocks = front.blocks(table)
    made = words(ops, found, tokens=tokens, blocks=blocks, highest=table.highest)
    low, high = word_codes(ops, made.blocks, made.first_block, made.sizes, blocks)
    exists = ops.number(ops.at_least(found.tokens, ops.places(found.counts)))
    empty = ops.multiply(exists, ops.number(ops.equal(found.counts, 0)))
    # An empty word has the codes 0.
    low, high = (
        ops.wide_add(code, ops.wide_multiply(ops.wide(empty), null))
        for code, null in zip((low, high), murmur(NULL.encode(), signed=False), strict=True)
    )
    emitted = ops.with_low_bits(low, exists) if front.config.presence_feature else low
    trigrams = None
    if front.mixed:
        before, after = (
            ops.choose(ops.equal(ops.moved(found.token, by), found.token), ops.moved(found.codes, by), border)
            for by, border in ((-1, BEFORE), (1, AFTER))
        )
        first, second = trigram_codes(ops, before, found.codes, after)
        trigrams = Codes(emitted=first, low=first, high=second)
    return Rows(
        words=Codes(emitted=emitted, low=low, high=high),
        trigrams=trigrams,
        tokens=found.tokens,
        last=ops.running_sum(found.counts),
        counts=found.counts,
        empty=empty,
    )
