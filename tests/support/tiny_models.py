"""Tiny PRADO and SGNN models, their rows and their conversions, made once for all tests of conversion and quantization.

Norms and biases are random: defaults of 1 and 0 hide bugs.
"""

import functools
from typing import Any

import numpy as np
import tensorflow as tf
import tf_keras as keras

from models_tf.ops.projection.config import ProjectionConfig
from models_tf.prado.config import BRANCHES, PradoConfig
from models_tf.prado.model import Prado
from models_tf.sgnn.config import SgnnConfig
from models_tf.sgnn.model import Sgnn
from support import conversions

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
    return conversions.single_rows({"features": values})


def logits(values: np.ndarray, kind: str = "prado") -> np.ndarray:
    return model(kind).features_to_logits(tf.constant(values)).numpy()


@functools.cache
def files(kind: str = "prado", batch: int = 1) -> conversions.Files:
    inputs = {"features": ((batch, LENGTH, FEATURE_SIZE), "int8")}
    return conversions.Files(model(kind).features_to_logits, inputs, lambda: rows(features(CALIBRATION_ROWS)))


def run_tflite(content: bytes, values: np.ndarray, **options: Any) -> np.ndarray:
    """Logits of LiteRT; options as in `conversions.run_tflite`."""
    return conversions.run_tflite(content, {"features": values}, **options)["logits"]


def run_onnx(onnx_model: Any, values: np.ndarray, *, one_by_one: bool = False) -> np.ndarray:
    return conversions.run_onnx(onnx_model, {"features": values}, one_by_one=one_by_one)["logits"]
