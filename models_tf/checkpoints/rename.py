"""The lines of a rename table: our name of a tensor and PyTorch's.

A kernel of PyTorch is [out, in] and ours [in, out]: `transpose`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class PortLine:
    """One tensor: our name, PyTorch's name, and whether it is stored transposed."""

    ours: str
    theirs: str
    transpose: bool = False

    def swap(self, shape: Sequence[int]) -> tuple[int, ...]:
        """A shape of the other side."""
        return tuple(reversed(shape)) if self.transpose else tuple(shape)


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


def layer(ours: str, theirs: str, dense_parts: Mapping[str, str], norms: Mapping[str, str]) -> list[PortLine]:
    """The parts of a layer, our names of them -> PyTorch's."""
    found = [line for part, name in dense_parts.items() for line in dense(ours + part, theirs + name)]
    return found + [line for part, name in norms.items() for line in norm(ours + part, theirs + name)]
