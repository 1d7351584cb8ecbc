"""Exports for the tests of shipped files, and damaged copies of them."""

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np

from exporters.formats.tflite.runner import TfliteRunner
from quantize.tflite.flatbuffer import read_model, write_model

BUNDLED = Path(__file__).parents[2] / "models_tf" / "bundled"


def copy_of(folder: Path, to: Path, *names: str) -> Path:
    """A folder with some of the files of an export, by default all."""
    to.mkdir()
    for name in names or [path.name for path in folder.iterdir() if path.is_file()]:
        shutil.copy(folder / name, to / name)
    return to


def shuffled(content: bytes, *, seed: int = 0) -> bytes:
    """Half of the largest int8 weights of a .tflite file in another order: same size, same scheme, other answers."""
    model = read_model(content)
    largest = max(model.buffers, key=lambda buffer: 0 if buffer.data is None else len(buffer.data))
    data = np.array(largest.data, np.uint8)
    generator = np.random.default_rng(seed)
    places = generator.permutation(data.size)[: data.size // 2]
    data[places] = data[generator.permutation(places)]
    largest.data = data
    return bytes(write_model(model))


def with_bias(content: bytes, label: int, change: int, labels: int) -> bytes:
    """A .tflite file whose last int32 bias of that many labels is changed for one of them."""
    model = read_model(content)
    found = False
    for graph in model.subgraphs:
        for tensor in graph.tensors:
            data = model.buffers[tensor.buffer].data
            if data is not None and len(data) == 4 * labels and list(tensor.shape) == [labels]:
                bias = np.array(data, np.uint8).view(np.int32).copy()
                bias[label] += change
                model.buffers[tensor.buffer].data = bias.view(np.uint8)
                found = True
    if not found:
        raise LookupError("no bias of that size")
    return bytes(write_model(model))


def one_row_worse(content: bytes, right: Callable[[np.ndarray], np.ndarray], feed: dict, labels: int) -> bytes:
    """A copy that gets exactly one row wrong which the file gets right, and no other row differently."""
    inputs = tuple(feed)

    def answers(candidate: bytes) -> np.ndarray:
        return right(TfliteRunner(candidate, name="copy", inputs=inputs)(feed)["logits"])

    before = answers(content)
    for label in range(labels):
        low, high = 0, 1 << 16
        while high - low > 1:  # the smallest change that loses a row
            middle = (low + high) // 2
            lost = before & ~answers(with_bias(content, label, -middle, labels))
            low, high = (low, middle) if lost.any() else (middle, high)
        copy = with_bias(content, label, -high, labels)
        after = answers(copy)
        if (before & ~after).sum() == 1 and not (~before & after).any():
            return copy
    raise LookupError("no change of a bias loses exactly one row")
