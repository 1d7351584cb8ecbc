"""Bytes-in graphs of the projection alone, and the texts and runtimes that they are compared with the C++ core on.

tflite-runtime cannot share a process with TensorFlow, which other tests load: this module run as a program reads a
model and rows from a file and writes what the model answers.
"""

import os
import random
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from models_tf.ops.projection.config import ProjectionConfig
from support.projection_strings import _text, around

LATIN = "abcdefghijklmnopqrstuvwxyz0123456789áéíóúñüöäàèçß"
MIXED = {"features": "mixed", "presence_feature": True}

# Name -> the projection, and how many of 100 strings it gets.
CONFIGS: dict[str, tuple[ProjectionConfig, int]] = {
    "plain": (ProjectionConfig(feature_size=64, pad_to=8, max_bytes=64, **MIXED), 20),
    "many tokens": (ProjectionConfig(feature_size=64, pad_to=220, max_bytes=440, token_separators="a.", **MIXED), 5),
    "separators": (
        ProjectionConfig(feature_size=32, pad_to=6, max_bytes=48, presence_feature=True, token_separators=".,!?'-"),
        20,
    ),
    "vocabulary": (
        ProjectionConfig(
            feature_size=128, pad_to=16, max_bytes=127, token_separators="'- ", vocabulary=LATIN + "дпρσ日\x00", **MIXED
        ),
        20,
    ),
    "alphabetic": (
        ProjectionConfig(
            feature_size=24, pad_to=4, max_bytes=80, alphabetic_only=True, normalize_spaces=True, features="mixed"
        ),
        15,
    ),
    "long words": (ProjectionConfig(feature_size=192, pad_to=5, max_bytes=512, **MIXED), 15),
    "bundled": (
        ProjectionConfig(feature_size=1536, pad_to=32, max_bytes=128, token_separators="'-", vocabulary=LATIN, **MIXED),
        5,
    ),
}


def texts(name: str, count: int) -> list[bytes]:
    """All planes, broken UTF-8, controls, long words, ends around the room for the text, any bytes at all."""
    config, _ = CONFIGS[name]
    rng = random.Random(name)
    fixed = [b"", b" ", b"\x00", b"a\x00b", b"\xff", b"'", b"''a-'b", "ȺȾ".encode() * (config.max_bytes // 4)]
    found = [*fixed, *around(config.max_bytes, count // 5)]
    while len(found) < count:
        kind = rng.random()
        if kind < 0.1:
            data = bytes(rng.randrange(256) for _ in range(rng.randrange(config.max_bytes + 8)))
        elif kind < 0.15:
            data = rng.choice((b"x", "é".encode(), b"ab", "日本".encode(), "Ⱥ".encode())) * rng.randint(20, 400)
            data = b"x" * rng.randrange(4) + data
        else:
            data = b" ".join(_text(rng) for _ in range(1 + config.max_bytes // 64))
        found.append(data)
    return found[:count]


def rows(data: Sequence[bytes], size: int) -> np.ndarray:
    """uint8 [texts, size], cut and zero-padded, as an app does it."""
    found = np.zeros((len(data), size), np.uint8)
    for row, text in zip(found, data, strict=True):
        part = text[:size]
        row[: len(part)] = np.frombuffer(part, np.uint8)
    return found


def run_tflite(interpreter: object, given: np.ndarray) -> Iterator[np.ndarray]:
    """Features of each row."""
    interpreter.allocate_tensors()
    source, target = (part()[0]["index"] for part in (interpreter.get_input_details, interpreter.get_output_details))
    for row in given:
        interpreter.set_tensor(source, row[None])
        interpreter.invoke()
        yield interpreter.get_tensor(target)[0]


def in_tflite_runtime(model: bytes, given: np.ndarray, folder: Path) -> np.ndarray:
    """The features of all rows in tflite-runtime."""
    (folder / "model.tflite").write_bytes(model)
    np.save(folder / "rows.npy", given)
    command = [sys.executable, "-m", "support.bytes_fronts", str(folder)]
    paths = os.pathsep.join(str(parent) for parent in Path(__file__).resolve().parents[1:3])
    environment = {**os.environ, "PYTHONPATH": paths}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        raise RuntimeError(f"exit code {done.returncode}: {done.stderr}")
    return np.load(folder / "features.npy")


def _main(folder: Path) -> None:
    from tflite_runtime.interpreter import Interpreter

    interpreter = Interpreter(str(folder / "model.tflite"), num_threads=1)
    np.save(folder / "features.npy", np.stack(list(run_tflite(interpreter, np.load(folder / "rows.npy")))))


if __name__ == "__main__":
    _main(Path(sys.argv[1]))
