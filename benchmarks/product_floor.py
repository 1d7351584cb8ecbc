"""The products of an encoder and nothing else, as files of the same shapes: the least time that a runtime can take.

Query, key, value, scores, context, output and the two layers of the FFN, one behind the other; no bias, mask, softmax,
norm, activation or look-up. As in the files of a classifier, the last layer computes one token behind keys and values.
Weights are random: only the time counts. The int8 files are made by the quantizers of this library, so that products,
scales and kernels are those of our own files.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

CALIBRATION_ROWS = 4
INPUT = "x"


@dataclass(frozen=True, kw_only=True)
class Shapes:
    layers: int
    hidden: int
    heads: int
    intermediate: int


def write(folder: Path, shapes: Shapes, length: int) -> dict[tuple[str, str], Path]:
    """(format, recipe) -> file, for float32, int8-dynamic and int8. Files that exist are kept."""
    from exporters.formats.graph import trace
    from exporters.formats.onnx.convert import to_onnx
    from exporters.formats.tflite.convert import to_tflite
    from quantize.onnx import calibrate as onnx_calibrate
    from quantize.onnx.quantizers import QUANTIZERS as ONNX
    from quantize.tflite import calibrate as tflite_calibrate
    from quantize.tflite.quantizers import QUANTIZERS as TFLITE

    recipes = ("float32", "int8-dynamic", "int8")
    found = {
        (target, recipe): folder / f"products_{recipe}_{length}.{target}"
        for target in ("tflite", "onnx")
        for recipe in recipes
    }
    if all(path.is_file() for path in found.values()):
        return found
    products = _products(shapes, length)  # holds the kernels until all files are written
    fixed, free = (
        trace(products, {INPUT: ((*axes, shapes.hidden), "float32")}) for axes in ((1, length), (None, None))
    )
    rng = np.random.default_rng(0)
    rows = [{INPUT: rng.normal(size=(1, length, shapes.hidden)).astype(np.float32)} for _ in range(CALIBRATION_ROWS)]
    tflite, onnx = to_tflite(fixed), to_onnx(free)
    for recipe in recipes:
        ranges = tflite_calibrate.calibrate(tflite, rows) if recipe == "int8" else None
        found["tflite", recipe].write_bytes(TFLITE[recipe](tflite, ranges))
        ranges = onnx_calibrate.calibrate(onnx, rows) if recipe == "int8" else None
        found["onnx", recipe].write_bytes(ONNX[recipe](onnx, ranges).SerializeToString())
    return found


def multiplications(shapes: Shapes, length: int) -> int:
    """Of the products below; the last layer has one token behind keys and values."""
    hidden, dense = shapes.hidden, 2 * shapes.hidden**2 + 2 * shapes.hidden * shapes.intermediate
    keys_and_values = 2 * hidden**2 * length
    tokens = [length] * (shapes.layers - 1) + [1]
    return sum(keys_and_values + count * (dense + 2 * length * hidden) for count in tokens)


def _products(shapes: Shapes, length: int) -> Callable[..., Any]:
    import tensorflow as tf

    size = shapes.hidden // shapes.heads
    wide, middle = shapes.hidden, shapes.intermediate
    rng = np.random.default_rng(1)

    def kernel(rows: int, columns: int, scale: float = 1.0) -> Any:
        # Of a size that keeps the values of one layer to the next.
        values = rng.normal(size=(rows, columns)) * scale / np.sqrt(rows)
        return tf.Variable(values.astype(np.float32), trainable=False)

    # Scores and context are sums of `size` and `length` terms: what a softmax would scale is in the kernels.
    layers = [
        [
            kernel(wide, wide, 1 / np.sqrt(size)),
            kernel(wide, wide),
            kernel(wide, wide, 1 / np.sqrt(length)),
            kernel(wide, wide),
            kernel(wide, middle),
            kernel(middle, wide),
        ]
        for _ in range(shapes.layers)
    ]

    def heads(values: Any) -> Any:
        return tf.transpose(tf.reshape(values, (1, -1, shapes.heads, size)), (0, 2, 1, 3))

    def function(x: Any) -> Any:
        x = given = tf.reshape(x, (-1, wide))
        for index, (query, key, value, output, up, down) in enumerate(layers):
            # From what was given, in all layers: values that are cubed in each of them would soon be infinite.
            asking = given if index < shapes.layers - 1 else given[:1]
            scores = tf.matmul(heads(asking @ query), heads(given @ key), transpose_b=True)
            context = tf.matmul(scores, heads(x @ value))
            x = tf.reshape(tf.transpose(context, (0, 2, 1, 3)), (-1, wide)) @ output @ up @ down
        return {"y": x}

    return function


def runner(path: Path, length: int) -> Callable[[], Any]:
    """One call of a file of products on random values, in its own runtime with one thread."""
    rng = np.random.default_rng(2)
    if path.suffix == ".onnx":
        from quantize.onnx.session import make_session

        session = make_session(path.read_bytes())
        (given,) = session.get_inputs()
        values = rng.normal(size=(1, length, given.shape[-1])).astype(np.float32)
        return lambda: session.run(None, {INPUT: values})
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(model_path=str(path), num_threads=1)
    interpreter.allocate_tensors()
    (detail,) = interpreter.get_input_details()
    values = rng.normal(size=detail["shape"]).astype(detail["dtype"])

    def call() -> None:
        interpreter.set_tensor(detail["index"], values)
        interpreter.invoke()

    return call
