"""What ghosts cost: the same exports with and without them, one thread, interleaved, time of the thread and not of the clock.

    python benchmarks/ghost_cost.py --plain DIR --ghosts DIR [--rounds 15] [--json FILE]

Each DIR holds `model_<recipe>.tflite` and `.onnx` for one `--max-seq-len`; recipes that both have are compared. CPU time of the
thread leaves out what other programs take; it is no phone's time.
"""

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

RUNS = 4  # of which the quickest counts


def tflite(path: Path) -> Callable[[], Any]:
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(model_path=str(path), num_threads=1)
    interpreter.allocate_tensors()
    for detail in interpreter.get_input_details():
        interpreter.set_tensor(detail["index"], row(detail["name"], tuple(detail["shape"])))
    return interpreter.invoke


def onnx(path: Path) -> Callable[[], Any]:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    feed = {value.name: row(value.name, (1, value.shape[1])) for value in session.get_inputs()}
    return lambda: session.run(None, feed)


def row(name: str, shape: tuple[int, ...]) -> np.ndarray:
    """Some ids, no padding, one segment: what stands in a row does not change the time."""
    return {"ids": np.arange(1000, 1000 + shape[1]), "mask": np.ones(shape[1])}.get(name, np.zeros(shape[1])).astype(
        np.int32
    )[None]


def quickest_ms(run: Callable[[], Any]) -> float:
    run()
    times = []
    for _ in range(RUNS):
        start = time.thread_time()
        run()
        times.append(time.thread_time() - start)
    return 1000 * min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plain", type=Path, required=True)
    parser.add_argument("--ghosts", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    names = sorted(
        {p.name for p in options.plain.glob("model_*.*")} & {p.name for p in options.ghosts.glob("model_*.*")}
    )
    found = {}
    for name in names:
        start = tflite if name.endswith(".tflite") else onnx
        runs = [start(folder / name) for folder in (options.plain, options.ghosts)]
        pairs = np.array([[quickest_ms(run) for run in runs] for _ in range(options.rounds)])
        low, middle, high = np.percentile(pairs[:, 1] / pairs[:, 0], [25, 50, 75])
        found[name] = {
            "plain_ms": round(float(np.median(pairs[:, 0])), 2),
            "ghosts_ms": round(float(np.median(pairs[:, 1])), 2),
            "ratio": round(float(middle), 3),
            "ratio_quartiles": [round(float(low), 3), round(float(high), 3)],
            "rounds": options.rounds,
            "plain_bytes": (options.plain / name).stat().st_size,
            "ghosts_bytes": (options.ghosts / name).stat().st_size,
        }
        print(name, found[name])
    if options.json is not None:
        command = f"python benchmarks/ghost_cost.py --plain PLAIN --ghosts GHOSTS --rounds {options.rounds}"
        options.json.write_text(json.dumps({"command": command, "files": found}, indent=2) + "\n")


if __name__ == "__main__":
    main()
