"""A bytes-in graph in TFLite: uint8 text in, int8 features out, from the codes of `exporters/bytes_in`.

Words and characters are one list of entries. The features of a long list are computed block by block, and blocks that a
text does not reach are skipped, so that time follows the text and not the room for it.
"""

from collections.abc import Sequence

import numpy as np

from exporters.bytes_in.hashing import next_codes
from exporters.bytes_in.projection import SHORT_WORD, Rows, rows
from exporters.bytes_in.settings import CODE_FEATURES, BytesIn
from exporters.bytes_in.tables import feature_fields, null_fields
from exporters.formats.tensor_names import FEATURES, TEXT
from exporters.formats.tflite.bytes_ops import Tensor, TfliteOps
from quantize.tflite.graph import Model
from quantize.tflite.passes.compact import drop_unused

_FIELDS = 4  # features in a number
# Entries of a block, roughly, and blocks at most: small ones suit short texts, but each costs some 20 microseconds.
_BLOCK_ENTRIES, _MOST_BLOCKS = 96, 8
_BIAS = 0x80  # added to a feature, so that its field is a byte without a sign


def bytes_in_model(front: BytesIn) -> Model:
    """A model of one signature: `text` uint8 [1, bytes] -> `features` int8 [1, tokens, features]."""
    ops = TfliteOps()
    text = ops.tensor((1, front.max_bytes), "uint8")
    numbers = ops.cast(ops.reshape(text, front.max_bytes), "int32")
    found = _Writer(ops, front).features(rows(ops, numbers, front))
    graph = ops.graph
    graph.inputs, graph.outputs = [text.index], [found.index]
    for index, name in ((text.index, TEXT), (found.index, FEATURES)):
        graph.tensors[index].name = name
    ops.drop_unused()
    drop_unused(ops.model)
    return ops.model


class _Writer:
    """From codes to features."""

    def __init__(self, ops: TfliteOps, front: BytesIn) -> None:
        self.ops, self.front = ops, front
        self.words = front.hashed // _FIELDS  # numbers of a half row

    def features(self, found: Rows) -> Tensor:
        ops, tokens = self.ops, self.front.tokens
        fields = self._fields(found)
        made = ops.cast(self._spread(ops.rows(fields, 1, tokens)), "int8")
        if self.front.mixed:
            made = ops.concat([made, self._sums(fields, found)], axis=1)
        return ops.reshape(made, 1, tokens, self.front.config.feature_size)

    def _fields(self, found: Rows) -> Tensor:
        """The features of all entries, four in a number [entries, numbers]."""
        ops, codes = self.ops, found.entries(self.ops)
        entries = [codes.emitted, codes.low, codes.high]
        size = entries[0].shape[0]
        count = min(-(-size // _BLOCK_ENTRIES), _MOST_BLOCKS)
        if count == 1:
            return self._expand(*entries)
        block = -(-size // count)
        if count * block > size:
            gap = ops.constant(np.zeros(count * block - size, np.int64))
            entries = [ops.concat([part, gap]) for part in entries]
        pieces = [ops.split(part, [block] * count) for part in entries]
        like = [part[0] for part in pieces]
        with ops.subgraph(*like) as (expand, own):
            ops.returns(self._expand(*own))
        with ops.subgraph(*like) as (nothing, _):
            ops.returns(ops.filled((block, self.words), 0))
        used = ops.largest(found.last)
        made = []
        for number in range(count):
            inputs = [part[number] for part in pieces]
            when = self._is_used(number * block, (number + 1) * block, found.tokens, used)
            made += ops.call(expand, inputs, when=when, otherwise=nothing)
        return ops.concat(made)

    def _is_used(self, start: int, end: int, tokens: Tensor, characters: Tensor) -> Tensor:
        """Whether a text with so many tokens and characters has one of these entries."""
        first_character = self.front.tokens + 1  # behind the tokens; character 0 is none
        flags = []
        if start < first_character:
            flags.append(self.ops.at_least(tokens, start))
        if end > first_character and self.front.mixed:
            flags.append(self.ops.at_least(characters, max(1, start - first_character)))
        return self.ops.either(*flags)

    def _expand(self, emitted: Tensor, low: Tensor, high: Tensor) -> Tensor:
        """The first two codes of each entry to its features, four in a number."""
        ops, count, size = self.ops, -(-self.front.hashed // CODE_FEATURES), low.shape[0]
        steps = -(-count // 2) - 1
        codes = ops.pack([emitted, high])
        if steps:
            codes = self._more_codes(codes, low, high, steps)
        turned = ops.tensor((size, codes.shape[0]), "int64")
        order = ops.constant(np.array([1, 0], np.int32))
        ops.write("TRANSPOSE", [codes, order], [turned], table="TransposeOptions")
        numbers = ops.reshape(ops.cast(ops.bitcast(turned, "uint8"), "int32"), size, 8 * codes.shape[0])
        if numbers.shape[1] > self.words:
            numbers = self._first_columns(numbers, self.words)
        return ops.gather(ops.constant(feature_fields()), numbers)

    def _more_codes(self, codes: Tensor, low: Tensor, high: Tensor, steps: int) -> Tensor:
        """All codes, in a window that each step moves by two."""
        ops, size = self.ops, low.shape[0]
        window = ops.concat([ops.filled((2 * steps, size), 0, "int64"), codes])

        def body(_: Tensor, state: Sequence[Tensor], __: Sequence[Tensor]) -> Sequence[Tensor]:
            low, high, window = state
            low, high = next_codes(ops, low, high)
            rest = ops.split(window, [2, 2 * steps])[1]
            return low, high, ops.concat([rest, ops.pack([low, high])])

        return ops.repeat(ops.constant(np.array([steps], np.int32)), (low, high, window), (), body)[2]

    def _first_columns(self, numbers: Tensor, count: int) -> Tensor:
        ops, sizes = self.ops, [count, numbers.shape[1] - count]
        made = [ops.tensor((numbers.shape[0], size), "int32") for size in sizes]
        given = [numbers, ops.constant(np.array(sizes, np.int32)), ops.constant(np.array(1, np.int32))]
        ops.write("SPLIT_V", given, made, table="SplitVOptions", numSplits=2)
        return made[0]

    def _sums(self, fields: Tensor, found: Rows) -> Tensor:
        """The sums of trigrams as int8 [tokens, features]."""
        ops, tokens = self.ops, self.front.tokens
        place = ops.add(found.last, tokens + 1)  # characters stand behind the tokens in the list of entries
        ends, starts = ops.rows(place, 1, tokens), ops.rows(place, 0, tokens)
        null = ops.constant(null_fields(self.front.hashed).reshape(1, -1))
        empty = ops.multiply(ops.reshape(ops.rows(found.empty, 1, tokens), tokens, 1), null)
        inputs = [ops.running_sum(fields), starts, ends, empty]
        if self.front.max_bytes <= SHORT_WORD:
            return self._short_sums(*inputs)
        with ops.subgraph(*inputs) as (short, own):
            ops.returns(self._short_sums(*own))
        with ops.subgraph(*inputs) as (long, own):
            ops.returns(self._long_sums(*own))
        is_long = ops.at_least(ops.largest(found.counts), SHORT_WORD + 1)
        return ops.call(long, inputs, when=is_long, otherwise=short)[0]

    def _short_sums(self, running: Tensor, starts: Tensor, ends: Tensor, empty: Tensor) -> Tensor:
        ops = self.ops
        return ops.cast(self._spread(ops.add(self._between(running, starts, ends), empty)), "int8")

    def _long_sums(self, running: Tensor, starts: Tensor, ends: Tensor, empty: Tensor) -> Tensor:
        """Words of any length: part by part, so that no sum of fields leaves its byte."""
        ops = self.ops

        def body(_: Tensor, state: Sequence[Tensor], fixed: Sequence[Tensor]) -> Sequence[Tensor]:
            (start, total), (running, ends) = state, fixed
            end = ops.minimum(ops.add(start, SHORT_WORD), ends)
            return end, ops.add(total, self._spread(self._between(running, start, end)))

        rounds = ops.constant(np.array([-(-self.front.max_bytes // SHORT_WORD)], np.int32))
        total = ops.repeat(rounds, (starts, self._spread(empty)), (running, ends), body)[1]
        return ops.cast(ops.maximum(ops.minimum(total, SHORT_WORD), -SHORT_WORD), "int8")

    def _between(self, running: Tensor, starts: Tensor, ends: Tensor) -> Tensor:
        return self.ops.subtract(self.ops.gather(running, ends), self.ops.gather(running, starts))

    def _spread(self, fields: Tensor) -> Tensor:
        """Four features in a number -> numbers [tokens, features]."""
        ops = self.ops
        biased = ops.add(fields, ops.filled(fields.shape, sum(_BIAS << 8 * place for place in range(_FIELDS))))
        raw = ops.reshape(ops.bitcast(biased, "uint8"), fields.shape[0], _FIELDS * fields.shape[1])
        return ops.subtract(ops.cast(raw, "int32"), ops.filled(raw.shape, _BIAS))
