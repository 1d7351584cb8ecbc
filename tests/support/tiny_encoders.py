"""Tiny MobileBERT-shaped networks, their rows and their conversions, made once for all tests of quantization.

Norms, biases and the row of padding are random, gammas have both signs: defaults of 1 and 0 hide bugs.
"""

import functools
from typing import Any

import numpy as np

from exporters.formats.graph import trace
from exporters.formats.onnx.convert import to_onnx
from exporters.formats.tflite.convert import to_tflite
from models_tf.encoder.config import EncoderConfig
from models_tf.encoder.graph import NetworkGraph
from models_tf.encoder.heads import Head
from models_tf.encoder.network import Network
from models_tf.encoder.rewrites.apply import apply
from quantize.onnx.calibrate import calibrate as calibrate_onnx
from quantize.ranges import CalibrationRanges
from quantize.tflite.calibrate import calibrate

HEADS = {
    "classification": Head(kind="classification", num_labels=3),
    "question-answering": Head(kind="question-answering", num_labels=2),
    "base": Head(kind="base"),
}
LENGTH = 16
VOCABULARY = 500
CALIBRATION_ROWS = 64
# Below the scores of these weights by more than their spread; see `mask_value` of `NetworkGraph`.
MASK = -60.0
CONFIG = EncoderConfig(
    vocab_size=VOCABULARY,
    hidden_size=32,
    num_layers=2,
    num_heads=4,
    intermediate_size=32,
    embedding_size=16,
    bottleneck_size=16,
    num_ffn=2,
    max_positions=24,
    use_bottleneck=True,
    key_query_shared=True,
    activation="relu",
    norm="no_norm",
    trigram=True,
    pooler=False,
)


def random_tensors(config: EncoderConfig, head: Head) -> dict[str, np.ndarray]:
    generator = np.random.default_rng(0)
    tensors = {}
    for name, shape in config.shapes(head).items():
        if name.endswith("gamma"):
            values = generator.uniform(0.7, 1.2, shape) * generator.choice([1, 1, 1, -1], shape)
        elif name.endswith(("beta", "bias")):
            values = generator.normal(0, 0.1, shape)
        elif name.endswith("kernel"):
            # Queries and keys that give scores of a few units; outputs that do not outgrow the skip path.
            gain = 2.5 if "query" in name or "key" in name else 0.5 if "output" in name else 1.0
            values = generator.normal(0, gain / np.sqrt(shape[0]), shape)
        else:
            values = generator.normal(0, 0.5, shape)
        tensors[name] = values.astype(np.float32)
    return tensors


@functools.cache
def network(head: str = "classification") -> Network:
    return Network(config=CONFIG, head=HEADS[head], tensors=random_tensors(CONFIG, HEADS[head]))


@functools.cache
def graph(head: str = "classification", fold: str = "full", mask_value: float = MASK) -> NetworkGraph:
    rewritten, _ = apply(network(head), fold=fold, max_seq_len=LENGTH, one_segment=False)
    return NetworkGraph(rewritten, LENGTH, mask_value)


@functools.cache
def traced(head: str = "classification", fold: str = "full", mask_value: float = MASK) -> Any:
    made = graph(head, fold, mask_value)
    return trace(made, {spec.name: ((1, *spec.shape), spec.dtype) for spec in made.inputs})


@functools.cache
def float_tflite(head: str = "classification", fold: str = "full", mask_value: float = MASK) -> bytes:
    return to_tflite(traced(head, fold, mask_value))


@functools.cache
def float_onnx(head: str = "classification", fold: str = "full", mask_value: float = MASK) -> Any:
    return to_onnx(traced(head, fold, mask_value))


def inputs(count: int, seed: int = 1, *, shortest: int = 2) -> dict[str, np.ndarray]:
    """Rows of `shortest` to LENGTH tokens in two segments."""
    generator = np.random.default_rng(seed)
    lengths = generator.integers(shortest, LENGTH + 1, (count, 1))
    mask = (np.arange(LENGTH) < lengths).astype(np.int32)
    ids = generator.integers(1, VOCABULARY, (count, LENGTH)).astype(np.int32)
    segments = (np.arange(LENGTH) > lengths // 2).astype(np.int32)
    return {"ids": ids * mask, "mask": mask, "segments": segments * mask}


def rows(values: dict[str, np.ndarray]) -> list[dict[str, np.ndarray]]:
    return [{name: array[i : i + 1] for name, array in values.items()} for i in range(len(values["ids"]))]


def outputs(values: dict[str, np.ndarray], head: str = "classification", fold: str = "full") -> dict[str, np.ndarray]:
    return graph(head, fold).predict(values)


@functools.cache
def tflite_ranges(head: str = "classification", fold: str = "full", mask_value: float = MASK) -> CalibrationRanges:
    return calibrate(float_tflite(head, fold, mask_value), rows(inputs(CALIBRATION_ROWS)))


@functools.cache
def onnx_ranges(head: str = "classification", fold: str = "full", mask_value: float = MASK) -> CalibrationRanges:
    return calibrate_onnx(float_onnx(head, fold, mask_value), rows(inputs(CALIBRATION_ROWS)))


def run_tflite(
    content: bytes, values: dict[str, np.ndarray], *, resolver: str = "AUTO", raw: bool = False
) -> dict[str, np.ndarray]:
    """Outputs of LiteRT; `raw` leaves int8 as it is."""
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    interpreter = Interpreter(model_content=content, experimental_op_resolver_type=OpResolverType[resolver])
    runner = interpreter.get_signature_runner()
    found: dict[str, list[np.ndarray]] = {}
    for row in rows(values):
        for name, array in runner(**row).items():
            scale, zero_point = runner.get_output_details()[name]["quantization"]
            exact = raw or array.dtype != np.int8
            found.setdefault(name, []).append(array if exact else (array.astype(np.float32) - zero_point) * scale)
    return {name: np.concatenate(arrays) for name, arrays in found.items()}


def run_onnx(onnx_model: Any, values: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Outputs of ONNX Runtime, row by row."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(onnx_model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    names = [value.name for value in session.get_outputs()]
    answers = [session.run(names, row) for row in rows(values)]
    return {name: np.concatenate(parts) for name, parts in zip(names, zip(*answers, strict=True), strict=True)}
