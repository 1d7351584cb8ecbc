"""Tiny PRADO and SGNN models, their rows and their conversions, made once for all tests of conversion and quantization.

Norms and biases are random: defaults of 1 and 0 hide bugs.
"""

import functools
from typing import Any

import numpy as np
import tensorflow as tf
import tf_keras as keras

from exporters.formats.graph import trace
from exporters.formats.onnx.convert import to_onnx
from exporters.formats.tflite.convert import to_tflite
from models_tf.ops.projection.config import ProjectionConfig
from models_tf.prado.config import BRANCHES, PradoConfig
from models_tf.prado.model import Prado
from models_tf.sgnn.config import SgnnConfig
from models_tf.sgnn.model import Sgnn
from quantize.onnx.calibrate import calibrate as calibrate_onnx
from quantize.ranges import CalibrationRanges
from quantize.tflite.calibrate import calibrate

KINDS = ("prado", "sgnn")
LENGTH = 12
FEATURE_SIZE = 32
NUM_LABELS = 5
CALIBRATION_ROWS = 64


@functools.cache
def model(kind: str = "prado") -> Any:
    keras.utils.set_random_seed(0)
    projection = ProjectionConfig(feature_size=FEATURE_SIZE, presence_feature=True)
    settings: dict[str, Any] = {"num_labels": NUM_LABELS, "projection": projection, "max_seq_len": LENGTH}
    if kind == "prado":
        made = Prado(PradoConfig(embedding_size=8, **dict.fromkeys(BRANCHES, 4), **settings))
    else:
        made = Sgnn(SgnnConfig(hidden_size=16, **settings))
    generator = np.random.default_rng(0)
    for weight in made.weights:
        noise = generator.normal(0, 0.3, weight.shape)
        weight.assign(np.abs(1 + noise) if "variance" in weight.name else weight.numpy() + noise)
    return made


def features(count: int, seed: int = 1) -> np.ndarray:
    """Texts of 1 to LENGTH tokens: ternary values, column 0 marks the tokens, zeros after them."""
    generator = np.random.default_rng(seed)
    x = generator.choice(np.array([-1, 0, 0, 1], np.int8), (count, LENGTH, FEATURE_SIZE))
    x[:, :, 0] = 1
    for row, length in enumerate(generator.integers(1, LENGTH + 1, count)):
        x[row, length:] = 0
    return x


def rows(values: np.ndarray) -> list[dict[str, np.ndarray]]:
    return [{"features": row[None]} for row in values]


def logits(values: np.ndarray, kind: str = "prado") -> np.ndarray:
    return model(kind).features_to_logits(tf.constant(values)).numpy()


@functools.cache
def traced(kind: str = "prado", batch: int = 1) -> Any:
    return trace(model(kind).features_to_logits, {"features": ((batch, LENGTH, FEATURE_SIZE), "int8")})


@functools.cache
def float_tflite(kind: str = "prado", batch: int = 1) -> bytes:
    return to_tflite(traced(kind, batch))


@functools.cache
def float_onnx(kind: str = "prado") -> Any:
    return to_onnx(traced(kind))


@functools.cache
def tflite_ranges(kind: str = "prado") -> CalibrationRanges:
    return calibrate(float_tflite(kind), rows(features(CALIBRATION_ROWS)))


@functools.cache
def onnx_ranges(kind: str = "prado") -> CalibrationRanges:
    return calibrate_onnx(float_onnx(kind), rows(features(CALIBRATION_ROWS)))


def run_tflite(
    content: bytes, values: np.ndarray, *, signature: str | None = None, resolver: str = "AUTO", raw: bool = False
) -> np.ndarray:
    """Logits of LiteRT; `raw` leaves int8 as it is."""
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    interpreter = Interpreter(model_content=content, experimental_op_resolver_type=OpResolverType[resolver])
    runner = interpreter.get_signature_runner(signature)
    size = int(runner.get_input_details()["features"]["shape"][0])
    found = np.concatenate(
        [runner(features=values[start : start + size])["logits"] for start in range(0, len(values), size)]
    )
    if raw or found.dtype != np.int8:
        return found
    scale, zero_point = runner.get_output_details()["logits"]["quantization"]
    return (found.astype(np.float32) - zero_point) * scale


def run_onnx(onnx_model: Any, values: np.ndarray, *, one_by_one: bool = False) -> np.ndarray:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(onnx_model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    batches = [row[None] for row in values] if one_by_one else [values]
    return np.concatenate([session.run(["logits"], {"features": batch})[0] for batch in batches])
