"""Which layers to drop: top:2, bottom:2, alternate:odd, alternate:even:2, symmetric:2, contribution:2 or 1,4.

The strategies of Sajjad et al., "On the effect of dropping layers". Layers count from 0, as everywhere here; the paper
counts from 1, so its odd layers are our even ones. Parses text and picks numbers; `layers.py` removes the layers.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from models_tf.errors import InputError

STRATEGIES = TOP, BOTTOM, ALTERNATE, SYMMETRIC, CONTRIBUTION = (
    "top",
    "bottom",
    "alternate",
    "symmetric",
    "contribution",
)
LISTED = "listed"
PARITIES = ("even", "odd")
FORMS = (
    "top:K, bottom:K, alternate:odd, alternate:even, alternate:odd:K, symmetric:K, contribution:K or numbers as in 1,4"
)


@dataclass(frozen=True, kw_only=True)
class LayerChoice:
    """`count` layers by a strategy (None: every layer of the parity), or the listed `layers`."""

    strategy: str
    count: int | None = None
    parity: str | None = None
    layers: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.strategy not in (*STRATEGIES, LISTED):
            raise InputError(f"Layers are dropped by {FORMS}. Received: {self.strategy}.")
        if self.count is not None and (not isinstance(self.count, int) or self.count < 1):
            raise InputError(f"At least 1 layer must be dropped, or none asked for. Received: {self.count}.")
        if self.strategy == LISTED:
            if not self.layers or len(set(self.layers)) != len(self.layers) or min(self.layers) < 0:
                raise InputError(f"Layers to drop must be numbers from 0, each once. Received: {list(self.layers)}.")
        elif (self.parity in PARITIES) != (self.strategy == ALTERNATE) or self.layers:
            raise InputError(f"Layers are dropped by {FORMS}. Received: {self}.")
        elif self.count is None and self.strategy != ALTERNATE:
            raise InputError(f"{self.strategy} needs a count, such as {self.strategy}:2. Received: none.")

    @property
    def needs_data(self) -> bool:
        return self.strategy == CONTRIBUTION

    def __str__(self) -> str:
        if self.strategy == LISTED:
            return ",".join(map(str, self.layers))
        return ":".join(str(part) for part in (self.strategy, self.parity, self.count) if part is not None)

    def check(self, layers: int) -> None:
        """Refuses a choice that does not fit a model with this many layers: at least one must stay."""
        unknown = [layer for layer in self.layers if layer >= layers]
        if unknown:
            raise InputError(f"--drop-layers must name layers from 0 to {layers - 1}. Received: {unknown[0]}.")
        count = len(self.layers) if self.layers else self.count
        if count is not None and count >= layers:
            raise InputError(
                f"--drop-layers must leave at least 1 of the model's {layers} layers. Received: {count} to drop."
            )
        if self.strategy == ALTERNATE:
            candidates = _alternate(layers, str(self.parity))
            if count is not None and count > len(candidates):
                raise InputError(
                    f"--drop-layers alternate:{self.parity} has {len(candidates)} layers to drop of {layers}. "
                    f"Received: {count}."
                )
            if len(candidates) == layers:
                raise InputError(
                    f"--drop-layers must leave at least 1 of the model's {layers} layers. Received: {self}."
                )

    def resolve(self, layers: int, similarity: Sequence[float] | None = None) -> list[int]:
        """The layers to drop, ascending. `contribution` needs the `similarity` of each layer's input and output."""
        self.check(layers)
        count = self.count or 0
        if self.strategy == LISTED:
            return sorted(self.layers)
        if self.strategy == TOP:
            return list(range(layers - count, layers))
        if self.strategy == BOTTOM:
            return list(range(count))
        if self.strategy == ALTERNATE:
            candidates = _alternate(layers, str(self.parity))
            return candidates[-count:] if count else candidates  # from the top: lower layers matter more
        if self.strategy == SYMMETRIC:
            first = (layers - count + 1) // 2  # if the rest is odd, one more stays below than above
            return list(range(first, first + count))
        if similarity is None or len(similarity) != layers:
            raise ValueError(f"`similarity` must have a number for each of {layers} layers. Received: {similarity}.")
        # The most similar first; among equals, the higher layer.
        return sorted(sorted(range(layers), key=lambda layer: (-similarity[layer], -layer))[:count])


def parse_layers(text: str) -> LayerChoice:
    """Parses `--drop-layers`."""
    name, *rest = (part.strip() for part in text.split(":"))
    parity = rest.pop(0) if name == ALTERNATE and rest else None
    if name in STRATEGIES and len(rest) <= 1 and (name != ALTERNATE or parity in PARITIES):
        if not rest and name == ALTERNATE:
            return LayerChoice(strategy=name, parity=parity)
        if rest and _is_number(rest[0]):
            return LayerChoice(strategy=name, parity=parity, count=int(rest[0]))
    numbers = [part.strip() for part in text.split(",")]
    if all(map(_is_number, numbers)):
        return LayerChoice(strategy=LISTED, layers=tuple(map(int, numbers)))
    raise InputError(f"--drop-layers must be {FORMS}. Received: {text!r}.")


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 6


def _alternate(layers: int, parity: str) -> list[int]:
    return list(range(PARITIES.index(parity), layers, 2))
