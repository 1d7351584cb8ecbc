"""A function and its files in every recipe of both formats, each made once, and the runtimes that run them."""

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from exporters.formats import base
from exporters.formats.graph import Graph
from exporters.formats.onnx.convert import to_onnx
from models_tf.spec import TensorSpec
from quantize.onnx import quantizers as onnx_quantizers
from quantize.onnx.calibrate import calibrate as calibrate_onnx
from quantize.ranges import CalibrationRanges
from quantize.recipe import RECIPES
from quantize.tflite import quantizers as tflite_quantizers
from quantize.tflite.calibrate import calibrate

Feed = Mapping[str, np.ndarray]
# Recipes of both formats: of token models, and of every model. int4 refuses those with few dense layers.
OF_TOKENS = tuple(name for name in tflite_quantizers.QUANTIZERS if name in onnx_quantizers.QUANTIZERS)
EVERYWHERE = tuple(name for name in OF_TOKENS if name != "int4")


class Files:
    """Made when they are asked for. `calibration` gives rows for the ranges. With `any_length` the second axis of all
    inputs is open, as in an export.
    """

    def __init__(
        self,
        function: Any,
        inputs: Mapping[str, tuple[tuple[int, ...], str]],
        calibration: Callable[[], list[Feed]],
        *,
        any_length: bool = False,
    ) -> None:
        self._calibration, self._any_length = calibration, any_length
        specs = tuple(TensorSpec(name=name, shape=shape[1:], dtype=dtype) for name, (shape, dtype) in inputs.items())
        self._rows = next(iter(inputs.values()))[0][0]
        self._graph = Graph(
            name="model", function=function, inputs=specs, signatures={"serving_default": self._rows},
            any_length=any_length,
        )  # fmt: skip
        self._made: dict[tuple[str, str], Any] = {}

    @functools.cached_property
    def traced(self) -> Any:
        return self._graph.traced(self._rows)

    @functools.cached_property
    def float_tflite(self) -> bytes:
        (made,) = base.get("tflite").convert(self._graph).values()
        return made

    @functools.cached_property
    def float_onnx(self) -> Any:
        return base.get("onnx").convert(self._graph) if self._any_length else to_onnx(self.traced)

    @functools.cached_property
    def tflite_ranges(self) -> CalibrationRanges:
        return calibrate(self.float_tflite, self._calibration())

    @functools.cached_property
    def onnx_ranges(self) -> CalibrationRanges:
        return calibrate_onnx(self.float_onnx, self._calibration())

    def tflite(self, recipe: str) -> bytes:
        if ("tflite", recipe) not in self._made:
            ranges = self.tflite_ranges if RECIPES[recipe].needs_calibration else None
            self._made["tflite", recipe] = tflite_quantizers.QUANTIZERS[recipe](self.float_tflite, ranges)
        return self._made["tflite", recipe]

    def onnx(self, recipe: str) -> Any:
        if ("onnx", recipe) not in self._made:
            ranges = self.onnx_ranges if RECIPES[recipe].needs_calibration else None
            self._made["onnx", recipe] = onnx_quantizers.QUANTIZERS[recipe](self.float_onnx, ranges)
        return self._made["onnx", recipe]


def single_rows(values: Feed) -> list[dict[str, np.ndarray]]:
    return [{name: array[i : i + 1] for name, array in values.items()} for i in range(len(next(iter(values.values()))))]


def run_tflite(
    content: bytes, values: Feed, *, signature: str | None = None, resolver: str = "AUTO", raw: bool = False
) -> dict[str, np.ndarray]:
    """Outputs of LiteRT, in batches of the graph's own size; `raw` leaves int8 as it is."""
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    interpreter = Interpreter(model_content=content, experimental_op_resolver_type=OpResolverType[resolver])
    runner = interpreter.get_signature_runner(signature)
    count = len(next(iter(values.values())))
    size = int(runner.get_input_details()[next(iter(values))]["shape"][0])
    found: dict[str, list[np.ndarray]] = {}
    for start in range(0, count, size):
        answers = runner(**{name: array[start : start + size] for name, array in values.items()})
        for name, array in answers.items():
            scale, zero_point = runner.get_output_details()[name]["quantization"]
            exact = raw or array.dtype != np.int8
            found.setdefault(name, []).append(array if exact else (array.astype(np.float32) - zero_point) * scale)
    return {name: np.concatenate(arrays) for name, arrays in found.items()}


def run_onnx(model: Any, values: Feed, *, one_by_one: bool = True) -> dict[str, np.ndarray]:
    """Outputs of ONNX Runtime, row by row or all at once."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    names = [value.name for value in session.get_outputs()]
    answers = [session.run(names, row) for row in (single_rows(values) if one_by_one else [values])]
    return {name: np.concatenate(parts) for name, parts in zip(names, zip(*answers, strict=True), strict=True)}
