"""What bytes-in costs: files, time and memory beside text-in and features-in, for three lengths of text.

    python benchmarks/bytes_in.py WORK_FOLDER [--result docs/results/bytes_in.json]

The bundled CLINC150 model in int8, with room for 32 tokens in 128 bytes, 128 in 512 and 512 in 2,560. Each graph is
timed with a text that fills the room and with one of 40 bytes, in all runtimes that are installed; files take turns,
one thread, the processor's time (`export-mobile bench`). Features-in is given with the time of the C++ core, which an
app calls first, and with padded features. An export that is done is not repeated.
"""

import argparse
import json
import shlex
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

from in_turn import redact

from exporters import BenchRequest, bench
from exporters.report.versions import cpu_name, versions
from models_tf.ops.projection.config import ProjectionConfig
from models_tf.ops.projection.library import HostProjection

ROOMS = {128: 32, 512: 128, 2560: 512}  # bytes -> tokens
GRAPHS = ("bytes", "features", "text")
TARGETS = ("tflite", "onnx")
SENTENCE = (
    "play some jazz music by miles davis on spotify please and then set an alarm for seven thirty in the morning, ok? "
)
SHORT = "what is the weather like in new york now"
CORE_CALLS = 300
PARITY = 5  # the exit code of an export whose files were written and differ from Keras by more than rounding


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--result", type=Path, default=Path("docs/results/bytes_in.json"))
    options = parser.parse_args()
    rows = []
    for room, tokens in ROOMS.items():
        folder = exported(options.work / f"bytes-{room}", room=room, tokens=tokens)
        for text in ((SENTENCE * (room // len(SENTENCE) + 1))[:room], SHORT):
            rows += measured(folder, text, room=room, rounds=options.rounds)
            print(*(shown(row) for row in rows[-9:]), sep="\n", flush=True)
    result = {
        "command": f"python benchmarks/bytes_in.py {shlex.join(redact(arg) for arg in sys.argv[1:])}",
        "cpu": cpu_name(),
        "versions": versions(),
        "model": "prado, CLINC150, int8",
        "threads": 1,
        "rounds": options.rounds,
        "rows": rows,
    }
    options.result.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    print(*tables(rows), sep="\n")


def tables(rows: list[dict[str, Any]]) -> list[str]:
    """The lines of both tables of docs/bytes.md: times, and sizes, loading and memory."""
    lines = ["| room | text | runtime | bytes-in | features-in and core | text-in |", "|---|---|---|---|---|---|"]
    places = dict.fromkeys((row["room_bytes"], row["text_bytes"], row["runtime"]) for row in rows)
    for room, size, runtime in places:
        found = {
            row["graph"]: row
            for row in rows
            if (row["room_bytes"], row["text_bytes"], row["runtime"]) == (room, size, runtime)
        }
        times = (found[graph]["ms"] + found[graph]["core_ms"] for graph in GRAPHS)
        lines.append(f"| {room:,} | {size:,} | {runtime} | " + " | ".join(f"{ms:.2f}" for ms in times) + " |")
    lines += ["", "| file, room | runtime | bytes | loads in, ms | memory, MB |", "|---|---|---|---|---|"]
    for row in rows:
        if row["text_bytes"] == row["room_bytes"]:
            memory = "unknown" if row["peak_bytes"] is None else f"{row['peak_bytes'] / 1e6:.1f}"
            lines.append(
                f"| {row['graph']}_int8.{row['target']}, {row['room_bytes']:,} | {row['runtime']} | "
                f"{row['size_bytes']:,} | {row['load_ms']:.1f} | {memory} |"
            )
    return lines


def exported(folder: Path, *, room: int, tokens: int) -> Path:
    if not (folder / "report.json").is_file():
        command = ["--model", "prado", "--task", "clinc150", "--quantize", "int8", "--max-seq-len", tokens]
        command += ["--max-bytes", room, "--output", folder]
        done = subprocess.run([sys.executable, "-m", "exporters", *map(str, command)], check=False)
        if done.returncode not in (0, PARITY):  # 480 rows of padding exceed the float parity of a model for 32 tokens
            done.check_returncode()
    return folder


def measured(folder: Path, text: str, *, room: int, rounds: int) -> list[dict[str, Any]]:
    """One entry for each graph in each runtime."""
    settings = json.loads((folder / "projection.json").read_text(encoding="utf-8"))
    core = core_milliseconds(HostProjection(ProjectionConfig.from_dict(settings["config"])), text)
    files = tuple(folder / f"{graph}_int8.{target}" for target in TARGETS for graph in GRAPHS)
    found = bench(BenchRequest(files=files, runtime=("all",), rounds=rounds, seconds=600, text=text))
    entries = []
    for one in found.files:
        graph, target = Path(one.path).stem.split("_")[0], Path(one.path).suffix.removeprefix(".")
        entries.append(
            {
                "room_bytes": room,
                "tokens": settings["max_seq_len"],
                "text_bytes": len(text.encode()),
                "graph": graph,
                "target": target,
                "runtime": one.runtime,
                "size_bytes": one.size_bytes,
                "ms": round(one.times("cpu").median_ms, 4),
                "quartiles_ms": [round(one.times("cpu").q1_ms, 4), round(one.times("cpu").q3_ms, 4)],
                "core_ms": round(core, 4) if graph == "features" else 0.0,
                "load_ms": round(one.load("cpu"), 2),
                "peak_bytes": one.peak_bytes,
            }
        )
    return entries


def core_milliseconds(projection: HostProjection, text: str) -> float:
    """The C++ core by itself, called as an app calls it."""
    taken = []
    for _ in range(CORE_CALLS):
        start = time.thread_time()
        projection.project([text])
        taken.append(time.thread_time() - start)
    return 1000 * median(taken)


def shown(row: dict[str, Any]) -> str:
    memory = "unknown" if row["peak_bytes"] is None else f"{row['peak_bytes'] / 1e6:.1f} MB"
    total = row["ms"] + row["core_ms"]
    return (
        f"{row['room_bytes']:>5} {row['text_bytes']:>5} {row['graph']:<9} {row['runtime']:<15} {row['size_bytes']:>8,} "
        f"{total:8.3f} ms  load {row['load_ms']:6.1f} ms  {memory}"
    )


if __name__ == "__main__":
    main()
