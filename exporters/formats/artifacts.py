"""From a graph to the bytes of every file: convert once, quantize as the recipe says, put the projection in front.

Functions on values; nothing here touches the file system. What the files must hold is checked in `audit.py`.
"""

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from exporters.formats.graph import Graph
from exporters.formats.tensor_names import TEXT
from exporters.formats.tflite.convert import to_tflite, trace
from models_tf.errors import InputError
from quantize.errors import RecipeError
from quantize.recipe import RECIPES, Recipe, entry

FLOAT = RECIPES["float32"]

_TOKEN_THREADS = 2

# Gives the calibration rows, one at a time: arrays by the names of the inputs. Called once for each target.
Calibration: TypeAlias = Callable[[], Iterable[Mapping[str, np.ndarray]]]


@dataclass(frozen=True, kw_only=True)
class Artifact:
    """The bytes of one model file."""

    target: str
    graph: str
    recipe: str
    content: bytes

    @property
    def name(self) -> str:
        return f"{self.graph}_{self.recipe.replace('-', '_')}.{self.target}"


@dataclass(frozen=True, kw_only=True)
class FloatModels:
    """What the converters made; every recipe starts from these. A target that is not asked for is None.

    `tflite` holds a model for each signature.
    """

    tflite: dict[str, bytes] | None
    onnx: Any


def convert(graph: Graph, targets: tuple[str, ...]) -> FloatModels:
    """Float models of the graph, with static shapes."""
    traced = {rows: trace(graph.function, graph.shapes(rows)) for rows in {1, *graph.signatures.values()}}
    onnx = None
    if "onnx" in targets:
        from exporters.formats.onnx.convert import to_onnx

        onnx = to_onnx(traced[1], graph.rows)
    tflite = None
    if "tflite" in targets:
        tflite = {name: to_tflite(traced[rows]) for name, rows in graph.signatures.items()}
    return FloatModels(tflite=tflite, onnx=onnx)


def build(floats: FloatModels, recipe: Recipe, graph: Graph, calibration: Calibration | None = None) -> list[Artifact]:
    """The files of each target: the graph, and with a projection the one that takes text."""
    files: list[tuple[str, str, bytes]] = []
    try:
        if floats.tflite is not None:
            files += [("tflite", *file) for file in _tflite(floats.tflite, recipe, graph, calibration)]
        if floats.onnx is not None:
            files += [("onnx", *file) for file in _onnx(floats.onnx, recipe, graph, calibration)]
    except RecipeError as error:
        raise InputError(f"{error} Choose another --quantize.") from error
    return [Artifact(target=target, graph=name, recipe=recipe.name, content=content) for target, name, content in files]


def _tflite(
    models: dict[str, bytes], recipe: Recipe, graph: Graph, calibration: Calibration | None
) -> Iterator[tuple[str, bytes]]:
    from quantize.tflite.calibrate import calibrate
    from quantize.tflite.flatbuffer import read_model, write_model
    from quantize.tflite.passes.compact import compact
    from quantize.tflite.passes.merge_signatures import merge_signatures
    from quantize.tflite.passes.prepend_projection import prepend_projection
    from quantize.tflite.quantizers import QUANTIZERS

    first = next(iter(models.values()))
    ranges = calibrate(first, _rows(calibration), threads=_threads(graph)) if recipe.needs_calibration else None
    quantize = entry(QUANTIZERS, recipe.name, format_name="tflite")

    if len(models) == 1 and graph.projection is None:
        yield graph.name, quantize(first, ranges)
        return
    parts = {name: read_model(quantize(content, ranges)) for name, content in models.items()}
    yield graph.name, write_model(merge_signatures(parts))
    if graph.projection is not None:
        text = copy.deepcopy(next(iter(parts.values())))
        prepend_projection(text, graph.projection)
        compact(text)
        yield TEXT, write_model(text)


def _onnx(model: Any, recipe: Recipe, graph: Graph, calibration: Calibration | None) -> Iterator[tuple[str, bytes]]:
    from quantize.onnx.calibrate import calibrate
    from quantize.onnx.passes.prepend_projection import prepend_projection
    from quantize.onnx.quantizers import QUANTIZERS

    ranges = calibrate(model, _rows(calibration), threads=_threads(graph)) if recipe.needs_calibration else None
    model = entry(QUANTIZERS, recipe.name, format_name="onnx")(model, ranges)
    yield graph.name, model.SerializeToString(deterministic=True)
    if graph.projection is not None:
        yield TEXT, prepend_projection(model, graph.projection).SerializeToString(deterministic=True)


def _threads(graph: Graph) -> int:
    """Token models take a tenth of a second a row; the small ones with a projection lose more than they gain by two."""
    return _TOKEN_THREADS if graph.projection is None else 1


def _rows(calibration: Calibration | None) -> Iterable[Mapping[str, np.ndarray]]:
    if calibration is None:
        raise ValueError("A static recipe needs calibration rows. Received: none.")
    return calibration()
