"""The lines of a rename table: our name of a tensor and PyTorch's.

A kernel of PyTorch is [out, in] and ours [in, out]: `transpose`. Rows of a table that no token uses stay behind:
`skipped_rows`.
"""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True, kw_only=True)
class PortLine:
    """One tensor: our name, PyTorch's name, whether it is stored transposed, and how many of its first rows are not
    ours; those are written as zeros.
    """

    ours: str
    theirs: str
    transpose: bool = False
    skipped_rows: int = 0

    def stored_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """PyTorch's shape of a tensor that is ours."""
        if self.transpose:
            return tuple(reversed(shape))
        return (shape[0] + self.skipped_rows, *shape[1:]) if self.skipped_rows else tuple(shape)

    def take(self, value: "np.ndarray") -> "np.ndarray":
        """Ours, of what is stored."""
        return value.T if self.transpose else value[self.skipped_rows :] if self.skipped_rows else value

    def put(self, value: "np.ndarray") -> "np.ndarray":
        """What is stored, of ours."""
        import numpy as np

        if self.transpose or not self.skipped_rows:
            return value.T if self.transpose else value
        return np.concatenate((np.zeros_like(value, shape=(self.skipped_rows, *value.shape[1:])), value))


def table(ours: str, theirs: str) -> list[PortLine]:
    return [PortLine(ours=ours, theirs=f"{theirs}.weight")]


def dense(ours: str, theirs: str) -> list[PortLine]:
    return [
        PortLine(ours=f"{ours}.kernel", theirs=f"{theirs}.weight", transpose=True),
        PortLine(ours=f"{ours}.bias", theirs=f"{theirs}.bias"),
    ]


def norm(ours: str, theirs: str) -> list[PortLine]:
    return [
        PortLine(ours=f"{ours}.gamma", theirs=f"{theirs}.weight"),
        PortLine(ours=f"{ours}.beta", theirs=f"{theirs}.bias"),
    ]


def embeddings(theirs: str) -> list[PortLine]:
    """The three tables and their norm."""
    return [
        *table("word_embedding", f"{theirs}word_embeddings"),
        *table("position_embedding", f"{theirs}position_embeddings"),
        *table("segment_embedding", f"{theirs}token_type_embeddings"),
        *norm("embedding_norm", f"{theirs}LayerNorm"),
    ]


def behind(unused: int, lines: Iterable[PortLine]) -> list[PortLine]:
    """The lines, with positions that begin behind `unused` rows of their table."""
    return [
        dataclasses.replace(line, skipped_rows=unused) if line.ours == "position_embedding" else line for line in lines
    ]


def weights_of(*parts: str) -> frozenset[str]:
    """PyTorch's names of the kernels and biases of these parts, or of the gammas and betas."""
    return frozenset(f"{part}.{kind}" for part in parts for kind in ("weight", "bias"))


def layer(ours: str, theirs: str, dense_parts: Mapping[str, str], norms: Mapping[str, str]) -> list[PortLine]:
    """The parts of a layer, our names of them -> PyTorch's."""
    found = [line for part, name in dense_parts.items() for line in dense(ours + part, theirs + name)]
    return found + [line for part, name in norms.items() for line in norm(ours + part, theirs + name)]
