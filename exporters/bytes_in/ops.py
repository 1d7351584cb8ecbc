"""`Ops`: the small operators that a bytes-in graph is made of. Each format writes them in its own way.

A `Value` is what an operator makes. Numbers are int32 unless a name says *wide*: those have 64 bits, and wrap. Vectors
have one axis; where two operands differ in length, one of them has a single element. Flags are booleans.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np

Value: TypeAlias = Any


class Ops(Protocol):
    """Writes operators into a graph."""

    def constant(self, values: np.ndarray) -> Value: ...

    # numbers
    def add(self, a: Value, b: Value | int) -> Value: ...
    def subtract(self, a: Value, b: Value | int) -> Value: ...
    def multiply(self, a: Value, b: Value | int) -> Value: ...
    def minimum(self, a: Value, b: Value | int) -> Value: ...
    def shift_right(self, a: Value, bits: int) -> Value:
        """Of a number that is not negative."""
        ...

    def shift_right_by(self, a: Value, bits: np.ndarray, index: Value) -> Value:
        """The same by a number of bits from a table."""
        ...

    def remainder(self, a: Value, divisor: int) -> Value: ...
    def running_sum(self, a: Value) -> Value:
        """Sums up to and including each element."""
        ...

    def largest(self, a: Value) -> Value: ...
    def smallest(self, a: Value) -> Value: ...

    # flags
    def equal(self, a: Value, b: Value | int) -> Value: ...
    def at_least(self, a: Value, b: Value | int) -> Value: ...
    def both(self, *flags: Value) -> Value: ...
    def number(self, flag: Value) -> Value:
        """1 or 0."""
        ...

    def choose(self, flag: Value, yes: Value | int, no: Value | int) -> Value: ...

    # vectors
    def places(self, like: Value) -> Value:
        """0, 1, 2 and so on."""
        ...

    def moved(self, a: Value, by: int) -> Value:
        """Element i is a[i + by], and 0 outside."""
        ...

    def joined(self, *vectors: Value) -> Value:
        """One behind the other."""
        ...

    def rows(self, a: Value, start: int, count: int) -> Value:
        """Some elements of a vector of tokens."""
        ...

    def lookup(self, table: np.ndarray, index: Value) -> Value:
        """Numbers from a table of constants."""
        ...

    def columns(self, tables: Sequence[np.ndarray], index: Value) -> list[Value]:
        """The same of several tables of bytes."""
        ...

    def pick(self, a: Value, index: Value) -> Value:
        """Numbers, or wide ones."""
        ...

    def sums(self, a: Value, index: Value, count: int) -> Value:
        """`count` sums, of the numbers with index 0, 1, 2 and so on."""
        ...

    def packed(self, kept: Value, *vectors: Value) -> list[Value]:
        """The kept elements of each vector, from place 1 on; 0 at place 0 and, where there are more places, behind."""
        ...

    # wide numbers
    def wide(self, a: Value) -> Value:
        """A number that is not negative."""
        ...

    def wide_add(self, a: Value, b: Value) -> Value: ...
    def wide_multiply(self, a: Value, factor: Value | int) -> Value: ...
    def wide_choose(self, flag: Value, yes: Value, no: Value) -> Value: ...
    def xor(self, a: Value, b: Value | int) -> Value: ...
    def mix(self, a: Value) -> Value:
        """Each number xor itself shifted right by 47 bits."""
        ...

    def mix_both(self, a: Value, b: Value) -> Sequence[Value]:
        """`mix` of two vectors of one length."""
        ...

    def with_low_bits(self, a: Value, low: Value) -> Value:
        """The lowest two bits replaced by those of `low`, numbers of 0 to 3."""
        ...

    def blocks(self, parts: Value, start: Value, count: int) -> Value:
        """`count` wide numbers, made of the bytes of `parts` (unsigned numbers, lowest byte first). `start` is where
        each part begins, counted in bytes over all of them.
        """
        ...

    def repeat(
        self,
        rounds: Value,
        state: Sequence[Value],
        fixed: Sequence[Value],
        body: "Callable[[Value, Sequence[Value], Sequence[Value]], Sequence[Value]]",
    ) -> list[Value]:
        """The state after so many rounds of `body(round, state, fixed)`."""
        ...
