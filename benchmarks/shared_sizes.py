"""Bytes of ALBERT's files, which store shared weights once: every recipe, both formats.

    python benchmarks/shared_sizes.py [--preset base] [--max-seq-len 128] [--result docs/results/albert_sizes.json]

No pretrained ALBERT is at hand, so the weights are random. So are biases and norms: zeros and ones would be folded away
and make the files smaller than those of a trained model. Bytes depend on nothing else. A few random rows calibrate,
since ranges do not change the byte count either.
"""

import argparse
import dataclasses
import json
import shlex
import sys
from pathlib import Path
from typing import Any

import numpy as np

from exporters.data import rows
from exporters.formats import artifacts
from exporters.formats.base import get
from exporters.report.versions import versions
from exporters.request import ExportRequest
from exporters.sources import base as sources
from exporters.sources.tokens import TokenSource
from models_tf.checkpoints.encoder import with_tensors
from quantize.recipe import RECIPES

CALIBRATION_ROWS = 4
TARGETS = ("tflite", "onnx")


def with_random_vectors(tensors: dict[str, np.ndarray], seed: int = 0) -> dict[str, np.ndarray]:
    """The same weights, with biases and betas around 0 and gammas around 1."""
    generator = np.random.default_rng(seed)
    found = {}
    for name, value in tensors.items():
        noise = generator.normal(0, 0.1, value.shape) if value.ndim == 1 else 0.0
        found[name] = (value + noise).astype(value.dtype)
    return found


def files(preset: str, max_seq_len: int) -> tuple[int, list[dict[str, Any]]]:
    """Parameters of the checkpoint and bytes of every file, converted once and quantized by each recipe."""
    request = ExportRequest(
        model="albert", random_init=True, preset=preset, max_seq_len=max_seq_len, quantize="int8", target=TARGETS
    )
    source = sources.load(request)
    if not isinstance(source, TokenSource):
        raise TypeError(f"A token model was expected. Received: {type(source).__name__}.")
    tensors = with_random_vectors(dict(source.checkpoint.tensors))
    source = dataclasses.replace(source, checkpoint=with_tensors(source.checkpoint, tensors))
    data = source.rows(calibrate=True)
    model = source.build(data)
    converted = artifacts.convert_all(model.graph, TARGETS)
    feeds = rows.calibration_feeds(data, model.graph.input_names)

    def few() -> Any:
        return (row for _, row in zip(range(CALIBRATION_ROWS), feeds() if feeds else (), strict=False))

    found = []
    for recipe in (RECIPES[name] for name in ("float32", "fp16", "int8-dynamic", "int8")):
        for file in artifacts.build(converted, recipe, few):
            seen = get(file.format).open(file.content)
            found.append(
                {
                    "target": file.format,
                    "recipe": recipe.name,
                    "size_bytes": len(file.content),
                    "weight_bytes": seen.weight_bytes,
                    "problems": seen.audit(recipe),
                }
            )
            print(*found[-1].values(), flush=True)
    return sum(value.size for value in tensors.values()), found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--preset", default="base")
    parser.add_argument("--max-seq-len", type=int, default=128)
    parser.add_argument("--result", type=Path, default=Path("docs/results/albert_sizes.json"))
    options = parser.parse_args()
    parameters, found = files(options.preset, options.max_seq_len)
    document = {
        "command": "python " + shlex.join(sys.argv),
        "what": "bytes of the files of ALBERT with a classifier of two labels; random weights, biases and norms",
        "preset": options.preset,
        "max_seq_len": options.max_seq_len,
        "parameters": parameters,
        "files": found,
        "versions": versions(),
    }
    options.result.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
