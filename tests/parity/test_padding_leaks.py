"""What stands in padding does not leak into the answers: static int8 files of every variant and head, in both formats.

Made as an export makes them: rewritten weights, the mask of `exporters.sources.mask`, ranges from calibration rows.
"""

import dataclasses
import functools
from typing import Any

import numpy as np
import pytest

from exporters.formats.graph import trace
from exporters.formats.onnx.convert import to_onnx
from exporters.formats.tflite.convert import to_tflite
from exporters.sources.mask import choose_mask
from models_tf.encoder.config import EncoderConfig
from models_tf.encoder.graph import NetworkGraph
from models_tf.encoder.heads import Head
from models_tf.encoder.network import Network
from models_tf.encoder.rewrites.apply import apply
from quantize.onnx.calibrate import calibrate as calibrate_onnx
from quantize.onnx.static import quantize_static as quantize_static_onnx
from quantize.tflite.calibrate import calibrate
from quantize.tflite.static import quantize_static
from support import tiny_encoders

HEADS = {
    "classification": Head(kind="classification", num_labels=3),
    "token-classification": Head(kind="token-classification", num_labels=3),
    "question-answering": Head(kind="question-answering", num_labels=2),
    "base": Head(kind="base"),
}
OPT = dataclasses.replace(tiny_encoders.CONFIG, num_ffn=4)
# As config.json can name them; without a bottleneck a layer is as wide as the hidden states.
WIDE: dict[str, Any] = {"use_bottleneck": False, "key_query_shared": False, "bottleneck_size": 32}
VARIANTS: dict[str, EncoderConfig] = {
    "opt": OPT,
    "tiny": dataclasses.replace(OPT, use_bottleneck_attention=True, key_query_shared=False, num_ffn=2),
    "no shared key and query": dataclasses.replace(OPT, key_query_shared=False, num_ffn=2),
    "no trigram": dataclasses.replace(OPT, trigram=False, num_ffn=2),
    "no bottleneck": dataclasses.replace(OPT, num_ffn=2, **WIDE),
    "layer norm and gelu": dataclasses.replace(OPT, norm="layer_norm", activation="gelu", num_ffn=2),
    "one ffn and a pooler": dataclasses.replace(OPT, num_ffn=1, pooler=True),
    "bert": dataclasses.replace(
        OPT, num_ffn=1, norm="layer_norm", activation="gelu", trigram=False, pooler=True, embedding_size=32, **WIDE
    ),
}
# Every variant with the head that answers for every token, and with that of which one token is enough; the two others
# differ from the first in the last layer alone, and are held on one variant each.
CASES = [(variant, head) for variant in VARIANTS for head in ("token-classification", "classification")]
CASES += [("opt", "question-answering"), ("tiny", "base")]
VALUES = tiny_encoders.inputs(16, seed=9)
STEP = 1.001  # one int8 step, and the rounding of float32


@functools.cache
def graph(variant: str, head: str) -> NetworkGraph:
    config = VARIANTS[variant]
    tensors = tiny_encoders.random_tensors(config, HEADS[head])
    rows = tiny_encoders.inputs(tiny_encoders.CALIBRATION_ROWS)
    network, _ = apply(
        Network(config=config, head=HEADS[head], tensors=tensors),
        fold="full",
        max_seq_len=tiny_encoders.LENGTH,
        one_segment=False,
        rows=rows,
    )
    return NetworkGraph(network, tiny_encoders.LENGTH, choose_mask(network, rows, batch=16))


@functools.cache
def traced(variant: str, head: str) -> Any:
    made = graph(variant, head)
    return trace(made, {spec.name: ((1, *spec.shape), spec.dtype) for spec in made.inputs})


def other_padding(values: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    generator = np.random.default_rng(3)
    padding = 1 - values["mask"]
    ids = values["ids"] + padding * generator.integers(1, tiny_encoders.VOCABULARY, padding.shape)
    segments = values["segments"] + padding * generator.integers(0, 2, padding.shape)
    return {"ids": ids.astype(np.int32), "mask": values["mask"], "segments": segments.astype(np.int32)}


def of_tokens(outputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Answers for padding are nobody's: those for tokens, and those for the whole row."""
    mask = VALUES["mask"]
    return {name: v[mask > 0] if v.shape[:2] == mask.shape else v for name, v in outputs.items()}


def follows(found: dict[str, np.ndarray], expected: dict[str, np.ndarray]) -> None:
    """A file that answers the same for everything would pass a leak test too."""
    for name, values in of_tokens(expected).items():
        assert np.corrcoef(of_tokens(found)[name].ravel(), values.ravel())[0, 1] > 0.98, name


@pytest.mark.parametrize(("variant", "head"), CASES)
def test_padding_moves_no_answer_of_a_tflite_file_by_more_than_one_step(variant, head):
    content = to_tflite(traced(variant, head))
    int8 = quantize_static(content, calibrate(content, tiny_encoders.rows(tiny_encoders.inputs(64))))
    clean, changed = (tiny_encoders.run_tflite(int8, v, raw=True) for v in (VALUES, other_padding(VALUES)))
    follows(clean, graph(variant, head).predict(VALUES))
    for name, values in of_tokens(clean).items():
        assert values.dtype == np.int8
        moved = np.abs(values.astype(int) - of_tokens(changed)[name])
        assert moved.max() <= 1, name


@pytest.mark.parametrize(("variant", "head"), CASES)
def test_padding_moves_no_answer_of_an_onnx_file_by_more_than_one_step(variant, head):
    model = to_onnx(traced(variant, head))
    ranges = calibrate_onnx(model, tiny_encoders.rows(tiny_encoders.inputs(64)))
    int8 = quantize_static_onnx(model, ranges)
    clean, changed = (tiny_encoders.run_onnx(int8, v) for v in (VALUES, other_padding(VALUES)))
    follows(clean, graph(variant, head).predict(VALUES))
    for name, values in of_tokens(clean).items():
        low, high = ranges.ranges[name]
        moved = np.abs(values - of_tokens(changed)[name])
        # Answers are float here; a step of their calibrated range is what int8 would give them.
        assert moved.max() <= STEP * (high - low) / 255, name
