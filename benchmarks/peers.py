"""Our files beside what a user would pick instead, for one BERT classifier: accuracy, bytes, latency, in one run.

    pip install -e ".[export,torch]" transformers onnxscript openvino nncf
    python benchmarks/peers.py CHECKPOINT EVAL_DATA CALIBRATION_DATA WORK_FOLDER --result FILE

Every candidate runs in a process of its own with one thread, and they take turns, so that a busy moment hits all of
them. Time is the processor's: at 16, 64 and 128 tokens, and over the real lengths of every eighth evaluation row, in
their order. A file that takes any length gets each row as it is; any other gets it padded to the longest, except that
for the three lengths it is made anew. Accuracy is that of all evaluation rows. Beside them stands the floor: the
products of the network alone, as files of the same shapes in the same runtime. Files and answers in WORK_FOLDER are
kept, so a stopped run continues; times are always taken anew, and our files are made again when the code changes. What
cannot be made or run is named with the reason. `peer_table.py` prints the tables of the docs from FILE.
"""

import argparse
import hashlib
import json
import math
import shlex
import statistics
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import peer_files
import product_floor
from in_turn import redact
from peer_task import Task
from peer_worker import Candidate, Row, Worker, padded

from exporters import ExportRequest
from exporters.data import rows as data_rows
from exporters.report.versions import cpu_name, versions
from exporters.sources import base as sources

LENGTHS = (16, 64, 128)
ROUNDS, REAL_ROUNDS = 40, 3
WARM_UP = 3
# Rows whose real lengths are timed, and how many a worker takes in a turn.
REAL_STEP, TURN = 8, 10
PEER_PACKAGES = ("torch", "transformers", "onnxscript", "openvino", "nncf", "ai-edge-quantizer", "tensorflow")
FLAGS = ("avx2", "avx512f", "avx512_vnni", "avx_vnni")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("checkpoint", "eval_data", "calibration_data", "work"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--result", type=Path, required=True)
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    rows, labels, task = _read(options)
    shapes = _shapes(task.checkpoint)
    candidates, left_out = _candidates(task)
    floor = peer_files.floor(task, shapes)
    workers, answers = {}, {}
    for candidate in [*candidates, *floor]:
        try:
            worker = Worker(candidate)
            if candidate not in floor:
                answers[candidate] = _answers(worker, candidate, rows, task)
            worker.times([_full(rows, length) for length in LENGTHS])
            workers[candidate] = worker
        except RuntimeError as error:
            left_out.append(_left_out(candidate, error))
    real = rows[::REAL_STEP]
    latency: dict[Candidate, dict[str, Any]] = {candidate: {} for candidate in workers}
    for length in LENGTHS:
        print(f"timing {length} tokens", flush=True)
        for candidate, taken in in_turn(workers, [_full(rows, length)], options.rounds).items():
            latency[candidate][str(length)] = taken
    print(f"timing {len(real)} texts as long as they are", flush=True)
    for candidate, taken in in_turn({c: w for c, w in workers.items() if c not in floor}, real, REAL_ROUNDS).items():
        latency[candidate]["real"] = taken
    for worker in workers.values():
        worker.close()
    document = {
        "command": f"python benchmarks/peers.py {shlex.join(redact(word) for word in sys.argv[1:])}",
        "rows": len(rows),
        "calibration_rows": len(task.calibration),
        "tokens": {"all": _tokens(rows), "timed": _tokens(real)},
        "latency": {
            "cpu": cpu_name(),
            "flags": _flags(),
            "threads": 1,
            "clock": "processor time, ms",
            "rounds": {"lengths": options.rounds, "real": REAL_ROUNDS},
        },
        "files": [
            _record(candidate, found, answers, labels, latency[candidate])
            for candidate, found in answers.items()
            if candidate in workers
        ],
        "floor": [
            {"runtime": RUNTIMES[candidate.name], "recipe": candidate.recipe, "latency_ms": latency[candidate]}
            for candidate in floor
            if candidate in workers
        ],
        "multiplications": {str(length): product_floor.multiplications(shapes, length) for length in LENGTHS},
        "left_out": left_out,
        "versions": {**versions(), **_peer_versions()},
    }
    options.result.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    print(f"{len(document['files'])} files measured, {len(left_out)} left out: {options.result}")


RUNTIMES = {"tflite": "LiteRT", "onnx": "ONNX Runtime"}


def _read(options: argparse.Namespace) -> tuple[list[Row], np.ndarray, Task]:
    """Evaluation rows without padding, their labels, and what files are made from."""
    request = ExportRequest(
        model="bert",
        checkpoint=options.checkpoint,
        eval_data=options.eval_data,
        calibration_data=options.calibration_data,
        max_seq_len=max(LENGTHS),
        quantize="int8",
        output=options.work / "out",
    )
    data = sources.load(request).rows(calibrate=True)
    labels = np.asarray(next(iter(data.evaluation.task_rows.targets.values())))
    feed = next(data.evaluation.chunks(len(data.evaluation)))
    names = ("ids", "mask", "segments")
    given = data_rows.calibration_feeds(data, names)
    calibration = tuple(_without_padding(dict(row)) for row in given()) if given is not None else ()
    task = Task(
        checkpoint=options.checkpoint,
        eval_data=options.eval_data,
        calibration_data=options.calibration_data,
        calibration=calibration,
        lengths=LENGTHS,
        work=options.work,
    )
    rows = [_without_padding({name: feed[name][i : i + 1] for name in names}) for i in range(len(labels))]
    return rows, labels, task


def _without_padding(row: Row) -> Row:
    length = int(row["mask"].sum())
    return {name: np.ascontiguousarray(values[:, :length]) for name, values in row.items()}


def _shapes(checkpoint: Path) -> product_floor.Shapes:
    config = json.loads((checkpoint / "config.json").read_text(encoding="utf-8"))
    return product_floor.Shapes(
        layers=config["num_hidden_layers"],
        hidden=config["hidden_size"],
        heads=config["num_attention_heads"],
        intermediate=config["intermediate_size"],
    )


def _candidates(task: Task) -> tuple[list[Candidate], list[dict[str, str]]]:
    found, left_out = [], []
    for peer in peer_files.all_peers(task):
        try:
            found.append(peer.candidate())
        except Exception as error:  # noqa: BLE001 - tools of others fail in many ways; the table names it and goes on
            left_out.append(_left_out(peer, error))
    return found, left_out


def _left_out(peer: Candidate | peer_files.Peer, error: Exception) -> dict[str, str]:
    reason = " ".join(redact(word) for word in f"{type(error).__name__}: {error}".split())
    print("left out:", peer.name, peer.recipe, reason, flush=True)
    return {"tool": peer.name, "recipe": peer.recipe, "runtime": peer.kind, "reason": reason}


def _answers(worker: Worker, candidate: Candidate, rows: list[Row], task: Task) -> np.ndarray:
    """Logits of all rows by the file that a user would ship; kept under what made them."""
    digest = hashlib.sha256(f"{candidate.name} {candidate.recipe} {candidate.kind}".encode())
    for path in candidate.parts:
        digest.update(path.read_bytes())
    for row in rows:
        digest.update(row["ids"].tobytes())
    kept = task.work / f"answers_{digest.hexdigest()[:16]}.npy"
    if not kept.is_file():
        print("running", candidate.name, candidate.recipe, candidate.kind, flush=True)
        partial = kept.with_suffix(".partial.npy")
        np.save(partial, worker.answers([padded(row, candidate.longest) for row in rows]), allow_pickle=False)
        partial.rename(kept)
    return np.load(kept, allow_pickle=False)


def _full(rows: list[Row], length: int) -> Row:
    """A row of real words that is `length` long."""
    ids = np.concatenate([row["ids"][:, 1:-1] for row in rows], axis=1)[:, :length]
    return {"ids": ids, "mask": np.ones_like(ids), "segments": np.zeros_like(ids)}


def in_turn(workers: dict[Candidate, Worker], rows: list[Row], rounds: int) -> dict[Candidate, dict[str, float]]:
    """Median over the rounds of the mean over the rows, with quartiles, in milliseconds.

    Several rows are real ones, which a file of one length gets padded to its longest.
    """
    turns = [rows[i : i + TURN] for i in range(0, len(rows), TURN)]
    warm_up = WARM_UP if len(rows) == 1 else 1
    means: dict[Candidate, list[float]] = {candidate: [] for candidate in workers}
    for turn in range(rounds + warm_up):
        taken: dict[Candidate, list[float]] = {candidate: [] for candidate in workers}
        for part in turns:
            for candidate, worker in workers.items():
                given = part if len(rows) == 1 else [padded(row, candidate.longest) for row in part]
                taken[candidate] += worker.times(given)
        for candidate, times in taken.items() if turn >= warm_up else ():
            means[candidate].append(statistics.fmean(times))
    return {candidate: spread(times) for candidate, times in means.items()}


def spread(times: list[float]) -> dict[str, float]:
    quartiles = np.percentile(times, (25, 50, 75))
    return {name: round(float(value), 3) for name, value in zip(("low", "median", "high"), quartiles, strict=True)}


def _tokens(rows: list[Row]) -> dict[str, float]:
    sizes = [row["ids"].shape[1] for row in rows]
    return {"rows": len(sizes), "mean": round(statistics.fmean(sizes), 2), "longest": max(sizes)}


def _record(
    candidate: Candidate,
    logits: np.ndarray,
    answers: dict[Candidate, np.ndarray],
    labels: np.ndarray,
    latency: dict[str, Any],
) -> dict[str, Any]:
    """`agreement` is with PyTorch, or where that could not run, with our own float32 file."""
    found = logits.argmax(1)
    float_answers = {other.kind: values for other, values in answers.items() if other.recipe == "float32"}
    base = float_answers.get("PyTorch", next(iter(float_answers.values()))).argmax(1)
    share = float((found == labels).mean())
    return {
        "tool": candidate.name,
        "recipe": candidate.recipe,
        "runtime": candidate.kind,
        "any_length": not candidate.longest,
        "size_bytes": candidate.size_bytes,
        "right": int((found == labels).sum()),
        "accuracy": round(100 * share, 2),
        "standard_error": round(100 * math.sqrt(share * (1 - share) / len(labels)), 2),
        "agreement": int((found == base).sum()),
        "latency_ms": latency,
    }


def _flags() -> list[str]:
    """What decides how fast int8 is on x86."""
    info = Path("/proc/cpuinfo")
    words = set(info.read_text(encoding="utf-8").split()) if info.is_file() else set()
    return [flag for flag in FLAGS if flag in words]


def _peer_versions() -> dict[str, str]:
    installed = {distribution.metadata["Name"] for distribution in metadata.distributions()}
    return {name: metadata.version(name) for name in PEER_PACKAGES if name in installed}


if __name__ == "__main__":
    main()
