"""Names, shapes and types of what goes into a token model and comes out. Projection models keep their own names."""

from dataclasses import dataclass

IDS = "ids"
MASK = "mask"
SEGMENTS = "segments"
LOGITS = "logits"
START_LOGITS = "start_logits"
END_LOGITS = "end_logits"
HIDDEN = "hidden"
POOLED = "pooled"
EMBEDDING = "embedding"

_DTYPES = ("int32", "int8", "float32")


@dataclass(frozen=True, kw_only=True)
class TensorSpec:
    """One input or output of a graph."""

    name: str
    shape: tuple[int, ...]  # without the batch
    dtype: str = "int32"

    def __post_init__(self) -> None:
        if not self.name:
            raise ValueError("`name` must not be empty. Received: ''.")
        if any(size < 1 for size in self.shape):
            raise ValueError(f"`shape` must hold sizes of at least 1, without the batch. Received: {self.shape}.")
        if self.dtype not in _DTYPES:
            raise ValueError(f"`dtype` must be one of {', '.join(_DTYPES)}. Received: {self.dtype!r}.")
