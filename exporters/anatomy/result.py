"""`Anatomy`: everything that an inspection found, as a value."""

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from exporters.anatomy.parts import CustomOp
from exporters.anatomy.runtime_plan import RuntimePlan
from exporters.formats.model_file import Signature


@dataclass(frozen=True, kw_only=True)
class Kind:
    """Constants of one type: how many, their bytes in the file, and how many of these are weights."""

    dtype: str
    count: int
    size_bytes: int
    weight_bytes: int


@dataclass(frozen=True, kw_only=True)
class Duplicate:
    """Constants with the same bytes, stored once for each of `names`."""

    names: tuple[str, ...]
    size_bytes: int

    @property
    def wasted_bytes(self) -> int:
        return self.size_bytes * (len(self.names) - 1)


@dataclass(frozen=True, kw_only=True)
class QuantizedWeights:
    """Weights quantized in the same way; `names` are those of some that are not symmetric."""

    dtype: str
    granularity: str
    symmetric: bool
    count: int
    lowest_zero_point: int
    highest_zero_point: int
    names: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class InFloat:
    """What is left in float in a quantized file: operators of a kind, or weights that they read (`size_bytes`)."""

    operator: str
    count: int
    reason: str
    size_bytes: int = 0


@dataclass(frozen=True, kw_only=True)
class GraphOps:
    name: str
    operators: Mapping[str, int]


@dataclass(frozen=True, kw_only=True)
class Anatomy:
    """What a model file holds and what the runtimes will do with it.

    The bytes of `kinds`, `metadata_bytes` and `structure_bytes` add up to `size_bytes`, and the bytes of `layers` to
    those of `kinds`. `weights` are the constants with at least two axes and 64 elements: their bytes by type.
    `quantized_share` is the share of these bytes that has at most 16 bits and is not float; None without weights.
    """

    file: str
    format: str
    sha256: str
    size_bytes: int
    min_runtime: str
    facts: Mapping[str, Any]
    scheme: str
    signatures: Mapping[str, Signature]
    graphs: tuple[GraphOps, ...]
    custom: tuple[CustomOp, ...]
    parameters: int
    kinds: tuple[Kind, ...]
    metadata_bytes: int
    structure_bytes: int
    layers: Mapping[str, int]
    weights: Mapping[str, int]
    quantized_share: float | None
    quantized: tuple[QuantizedWeights, ...]
    float_operators: tuple[InFloat, ...]
    float_weights: tuple[InFloat, ...]
    duplicates: tuple[Duplicate, ...]
    duplicated_bytes: int
    plan: RuntimePlan | None

    def to_dict(self) -> dict[str, Any]:
        found = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        for name, value in found.items():
            if isinstance(value, tuple):
                found[name] = [dataclasses.asdict(each) for each in value]
            elif isinstance(value, Mapping):
                found[name] = dict(value)
        found["signatures"] = {name: each.to_dict() for name, each in self.signatures.items()}
        found["plan"] = None if self.plan is None else self.plan.to_dict()
        return found

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False)
