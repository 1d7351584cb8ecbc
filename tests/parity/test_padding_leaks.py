"""What stands in padding does not leak into the answers: static int8 files of every variant and head, in both formats.

Made as an export makes them: rewritten weights, the mask of `exporters.sources.mask`, ranges from calibration rows.
"""

import dataclasses
import functools
from typing import Any

import numpy as np
import pytest

from models_tf.encoder.config import EncoderConfig
from models_tf.encoder.graph import NetworkGraph
from support import tiny_files
from support.conversions import Files
from support.tiny_models import CONVERTED, converted_network

OPT = dataclasses.replace(CONVERTED["mobilebert"].config, num_ffn=4)
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
VALUES = tiny_files.inputs(16, seed=9)
STEP = 1.001  # one int8 step, and the rounding of float32


@functools.cache
def graph(variant: str, head: str) -> NetworkGraph:
    return tiny_files.graph_of(converted_network(VARIANTS[variant], head))


@functools.cache
def files(variant: str, head: str) -> Files:
    return tiny_files.files_of(graph(variant, head))


def of_tokens(outputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Answers for padding are nobody's: those for tokens, and those for the whole row."""
    mask = VALUES["mask"]
    return {name: v[mask > 0] if v.shape[:2] == mask.shape else v for name, v in outputs.items()}


def follows(found: dict[str, np.ndarray], expected: dict[str, np.ndarray]) -> None:
    """A file that answers the same for everything would pass a leak test too."""
    for name, values in of_tokens(expected).items():
        assert np.corrcoef(of_tokens(found)[name].ravel(), values.ravel())[0, 1] > 0.98, name


@pytest.mark.slow
@pytest.mark.parametrize(("variant", "head"), CASES)
def test_padding_moves_no_answer_of_a_tflite_file_by_more_than_one_step(variant, head):
    int8 = files(variant, head).tflite("int8")
    clean, changed = (tiny_files.run_tflite(int8, v, raw=True) for v in (VALUES, tiny_files.other_padding(VALUES)))
    follows(clean, graph(variant, head).predict(VALUES))
    for name, values in of_tokens(clean).items():
        assert values.dtype == np.int8
        moved = np.abs(values.astype(int) - of_tokens(changed)[name])
        assert moved.max() <= 1, name


@pytest.mark.slow
@pytest.mark.parametrize(("variant", "head"), CASES)
def test_padding_moves_no_answer_of_an_onnx_file_by_more_than_one_step(variant, head):
    int8, ranges = files(variant, head).onnx("int8"), files(variant, head).onnx_ranges
    clean, changed = (tiny_files.run_onnx(int8, v) for v in (VALUES, tiny_files.other_padding(VALUES)))
    follows(clean, graph(variant, head).predict(VALUES))
    for name, values in of_tokens(clean).items():
        low, high = ranges.ranges[name]
        moved = np.abs(values - of_tokens(changed)[name])
        # Answers are float here; a step of their calibrated range is what int8 would give them.
        assert moved.max() <= STEP * (high - low) / 255, name
