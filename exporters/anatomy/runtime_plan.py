"""`RuntimePlan`: what a runtime does with a file when it loads it, as a value. `partitions.py` asks for it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True)
class RuntimePlan:
    """Operators by name, with how many there are. With a `problem` the runtime cannot load the file: all else is empty.

    TFLite: `delegated` are the operators that the delegate takes, in `partitions` pieces; the runtime's own kernels run
    the `kept` ones. ONNX: `kept` is the optimized graph, which has the operators `fused` in place of those `replaced`.
    """

    runtime: str
    version: str
    problem: str = ""
    delegate: str = ""
    partitions: int | None = None
    delegated: Mapping[str, int] = field(default_factory=dict)
    kept: Mapping[str, int] = field(default_factory=dict)
    fused: Mapping[str, int] = field(default_factory=dict)
    replaced: Mapping[str, int] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        counts = ("delegated", "kept", "fused", "replaced")
        plain = {name: getattr(self, name) for name in ("runtime", "version", "problem", "delegate", "partitions")}
        return plain | {name: dict(getattr(self, name)) for name in counts}
