"""Speed of the projection op, as ratios of one run.

    python benchmarks/projection_speed.py [--output docs/results/projection_speed.json]

The C++ core beside memcpy of the same output bytes, hashing and expanding alone and with tokenising, for
an output that stays in the cache and one that does not; the Python reference; and the TensorFlow op on one
and on two threads where TensorFlow is installed. Best of several repetitions each. Ratios, not gates: a
busy machine moves them by a tenth or so.
"""

import argparse
import json
import os
import platform
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from models_tf.ops.projection import reference  # noqa: E402  (the checkout need not be installed)
from models_tf.ops.projection.config import ProjectionConfig  # noqa: E402

CORE = ROOT / "models_tf/ops/projection"
SOURCES = [CORE / name for name in ("config.cc", "text.cc", "hashing.cc", "projection.cc")]
DRIVER = ROOT / "benchmarks/projection_speed.cc"
CONFIGS = {
    "words": ProjectionConfig(feature_size=512),
    "mixed": ProjectionConfig(feature_size=512, features="mixed"),
}
TOKENS_PER_TEXT = 32
# Texts and repetitions: 1 MB of output, which a second-level cache holds, and 64 MB, which it does not; a few
# seconds each, so that the best repetition finds a quiet moment.
SIZES = {"1 MB": (64, 10_000), "64 MB": (4096, 80)}
COMMON = re.findall(
    r"\w+",
    "the of and to a in is you that it for on with as are this be at have from or one had by word but not what all "
    "were we when your can said there use an each which she do how their if will up other about out many then them "
    "these so some her would make like him into time has look two more write go see number no way could people my "
    "than first water been call who its now find long down day did get come made may part play weather restaurant",
)


def make_texts(count: int) -> list[str]:
    """Sentences of common words and, every fifth word, letters at random: 4.6 letters a word on average."""
    rng = random.Random(0)

    def word() -> str:
        if rng.random() < 0.8:
            return rng.choice(COMMON)
        return "".join(rng.choice("abcdefghijklmnoprstuvwy") for _ in range(rng.randint(4, 11)))

    return [" ".join(word() for _ in range(TOKENS_PER_TEXT)) for _ in range(count)]


def measure_core(texts: list[str], repetitions: int) -> dict[str, Any]:
    compiler = os.environ.get("CXX") or shutil.which("c++") or shutil.which("g++")
    if not compiler:
        raise SystemExit("A C++17 compiler is needed. Received: none. Remedy: set CXX.")
    with tempfile.TemporaryDirectory() as folder:
        program, lines = Path(folder, "driver"), Path(folder, "texts")
        lines.write_text("\n".join(texts) + "\n", encoding="utf-8")
        sources = [str(path) for path in [*SOURCES, DRIVER]]
        subprocess.run([compiler, "-std=c++17", "-O3", f"-I{CORE}", *sources, "-o", str(program)], check=True)
        command = [str(program), str(lines), str(repetitions), *(config.to_text() for config in CONFIGS.values())]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    results = {}
    for name, line in zip(CONFIGS, output.splitlines(), strict=True):
        tokens, size_bytes, copying, writing, whole = map(float, line.split())
        results[name] = {
            "memcpy_gb_per_s": size_bytes / copying / 1e9,
            "hash_and_expand_tokens_per_s": tokens / writing,
            "hash_and_expand_of_memcpy": copying / writing,
            "with_tokenising_tokens_per_s": tokens / whole,
            "with_tokenising_of_memcpy": copying / whole,
        }
    return results


def best_seconds(work: Callable[[], object], repetitions: int) -> float:
    best = float("inf")
    for _ in range(repetitions):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best


def measure_reference(texts: list[str]) -> dict[str, float]:
    texts = texts[:8]
    return {
        name: len(texts) * TOKENS_PER_TEXT / best_seconds(lambda c=config: reference.project(c, texts), 20)
        for name, config in CONFIGS.items()
    }


_TF_PROGRAM = """
import sys, time
sys.path.insert(0, sys.argv[1])
import tensorflow as tf
from models_tf.ops.projection.config import ProjectionConfig
from models_tf.ops.projection.layer import sequence_projection
texts = tf.constant(open(sys.argv[2], encoding="utf-8").read().splitlines())
for kind in ("words", "mixed"):
    config = ProjectionConfig(feature_size=512, features=kind)
    best = float("inf")
    for _ in range(int(sys.argv[3])):
        start = time.perf_counter()
        _, lengths = sequence_projection(texts, config)
        tokens = int(tf.reduce_sum(lengths))
        best = min(best, time.perf_counter() - start)
    print(kind, tokens / best)
"""


def measure_tensorflow(texts: list[str], repetitions: int) -> dict[str, Any]:
    """Tokens per second of the op, in a process for each thread count."""
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        lines = Path(folder, "texts")
        lines.write_text("\n".join(texts) + "\n", encoding="utf-8")
        for threads in (1, 2):
            command = [sys.executable, "-c", _TF_PROGRAM, str(ROOT), str(lines), str(repetitions)]
            environment = {**os.environ, "EXPORT_MOBILE_THREADS": str(threads)}
            done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment)
            if done.returncode != 0:
                return {"left_out": (done.stderr.strip().splitlines() or ["no message"])[-1]}
            results[f"{threads}_threads"] = {
                kind: float(speed) for kind, speed in (line.split() for line in done.stdout.splitlines())
            }
    for kind in CONFIGS:
        results[f"two_threads_of_one_{kind}"] = results["2_threads"][kind] / results["1_threads"][kind]
    return results


def measure() -> dict[str, Any]:
    texts = make_texts(max(count for count, _ in SIZES.values()))
    core = {size: measure_core(texts[:count], repetitions) for size, (count, repetitions) in SIZES.items()}
    python = measure_reference(texts)
    return {
        "feature_size": 512,
        "tokens_per_text": TOKENS_PER_TEXT,
        "machine": {"processor": platform.machine(), "cores": os.cpu_count(), "load": os.getloadavg()[0]},
        "core": core,
        "python_reference_tokens_per_s": python,
        "core_times_reference": {
            name: core["1 MB"][name]["with_tokenising_tokens_per_s"] / python[name] for name in CONFIGS
        },
        "tensorflow_op": measure_tensorflow(texts[:1024], 60),
    }


def show(results: dict[str, Any]) -> str:
    lines = ["F = 512, int8 output, one core, best of several repetitions", ""]
    lines.append("| output | features | hash + expand, tokens/s | of memcpy | with tokenising, tokens/s | of memcpy |")
    lines.append("|---|---|---|---|---|---|")
    for size, kinds in results["core"].items():
        for name, r in kinds.items():
            lines.append(
                f"| {size} | {name} | {r['hash_and_expand_tokens_per_s'] / 1e6:.1f} M "
                f"| {r['hash_and_expand_of_memcpy']:.2f} | {r['with_tokenising_tokens_per_s'] / 1e6:.1f} M "
                f"| {r['with_tokenising_of_memcpy']:.2f} |"
            )
    for name, times in results["core_times_reference"].items():
        speed = results["python_reference_tokens_per_s"][name]
        lines.append(f"Python reference, {name}: {speed:,.0f} tokens/s; the core is {times:,.0f} times as fast.")
    tensorflow = results["tensorflow_op"]
    if "left_out" in tensorflow:
        lines.append(f"TensorFlow op left out: {tensorflow['left_out']}")
    else:
        for name in CONFIGS:
            one, two = tensorflow["1_threads"][name], tensorflow["2_threads"][name]
            lines.append(f"TensorFlow op, {name}: {one / 1e6:.1f} M tokens/s on one thread, {two / 1e6:.1f} M on two.")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=ROOT / "docs/results/projection_speed.json")
    arguments = parser.parse_args()
    results = measure()
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    arguments.output.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    print(show(results))


if __name__ == "__main__":
    main()
