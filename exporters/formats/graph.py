"""`Graph`: the inference function to convert, with the names, static shapes and signatures of its files."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from exporters.formats.tensor_names import LOGITS, SIGNATURE
from models_tf.spec import TensorSpec

if TYPE_CHECKING:
    from exporters.bytes_in.settings import BytesIn

# Token models take a tenth of a second per row; small projection models lose by a second thread.
_TOKEN_THREADS = 2


@dataclass(frozen=True, kw_only=True)
class BytesGraph:
    """A graph that takes the bytes of a text: the projection as builtin operators. With `labels` it also answers
    probabilities and the best label; of a `multi_label` model each label has a probability of its own.
    """

    front: "BytesIn"
    labels: bool = False
    multi_label: bool = False


@dataclass(frozen=True, kw_only=True)
class MediaPipeForm:
    """What a classifier's file holds beside the network for MediaPipe: the vocabulary is the bytes of vocab.txt."""

    name: str
    labels: tuple[str, ...]
    vocabulary: bytes = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class Graph:
    """`function` takes and returns tensors by name. File names start with `name`.

    `signatures` gives the number of rows of each signature. A format whose files take any number of rows makes one
    signature and tries it with `rows`. `projection` is the config of the projection op, for a second file that takes
    text; `bytes_in` is for a third one, which takes the bytes of a text. `strip_names` leaves out the names of inner
    tensors where a format stores them. With `any_length` the first axis of every input, time, is the longest one, and
    files take shorter ones too. `io` is the type of features and answers at the border of the files (`io.py`), None for
    that of the recipe. `mediapipe` is for a second file of a token model, in formats that have it.
    """

    name: str
    function: Callable[..., Any]
    inputs: tuple[TensorSpec, ...]
    signatures: Mapping[str, int] = field(default_factory=lambda: {SIGNATURE: 1})
    projection: str | None = None
    bytes_in: BytesGraph | None = None
    rows: Mapping[str, np.ndarray] | None = None
    strip_names: bool = False
    any_length: bool = False
    io: str | None = None
    mediapipe: MediaPipeForm | None = None
    _traced: dict[tuple[int | None, bool], Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def input_names(self) -> tuple[str, ...]:
        return tuple(spec.name for spec in self.inputs)

    @property
    def calibration_threads(self) -> int:
        return _TOKEN_THREADS if self.projection is None else 1

    def without_function(self) -> "Graph":
        """All that is known of it, once it is converted: the function holds the weights."""
        return replace(self, function=_converted)

    def traced(self, rows: int | None = 1, *, any_length: bool = False) -> Any:
        """The concrete function for `rows` rows (None: any number), traced once for all formats.

        `any_length` leaves time unknown while it is traced.
        """
        if (rows, any_length) not in self._traced:
            shapes = {
                spec.name: ((rows, *((None, *spec.shape[1:]) if any_length else spec.shape)), spec.dtype)
                for spec in self.inputs
            }
            self._traced[rows, any_length] = trace(self.function, shapes)
        return self._traced[rows, any_length]


def _converted(**_values: Any) -> Any:
    raise RuntimeError("the graph is converted, its function is gone")


def trace(function: Callable[..., Any], inputs: Mapping[str, tuple[tuple[int | None, ...], str]]) -> Any:
    """A concrete function with keyword inputs {name: (shape, dtype)}. A single output is called `logits`."""
    import tensorflow as tf

    specs = {name: tf.TensorSpec(shape, tf.as_dtype(dtype), name=name) for name, (shape, dtype) in inputs.items()}

    @tf.function(autograph=False)
    def named(**values: tf.Tensor) -> dict[str, tf.Tensor]:
        result = function(**values)
        return result if isinstance(result, dict) else {LOGITS: result}

    return named.get_concrete_function(**specs)
