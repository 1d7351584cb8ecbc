"""The most memory that a command takes, its child processes counted, as a whole and by stage.

    python benchmarks/memory.py --name bert-base-int8 --result FILE -- \
        python -m exporters --model bert --random-init --preset base --quantize int8 --output FOLDER

Every 50 ms the resident sizes (RSS) of the command and of all its descendants are added up from /proc. Pages that two
processes share (libraries, a model file that both map) count twice: the sum is never too small. `anonymous_bytes` is
what of it no file backs. A process whose parent has ended still counts. The stages are those that the command prints
with their seconds on stderr. RESULT keeps what it says of other names.
"""

import argparse
import ctypes
import json
import os
import re
import shlex
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from in_turn import redact

from exporters.report.versions import cpu_name

EVERY_SECONDS = 0.05
_PAGE = os.sysconf("SC_PAGE_SIZE")
_STAGE = re.compile(r"^(?P<name>\S.*?) +(?P<seconds>\d+\.\d) s$")
_BURST_SECONDS = 0.05  # lines that were held back come at once; a stage of its own takes longer
_PR_SET_CHILD_SUBREAPER = 36


@dataclass(frozen=True, kw_only=True)
class Sample:
    """Of one moment: the sum over all processes, what of it no file backs, and how many processes there were."""

    at: float
    resident: int
    anonymous: int
    processes: int


@dataclass(frozen=True, kw_only=True)
class Stage:
    name: str
    start: float
    end: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--name", required=True, help="of this measurement in RESULT")
    parser.add_argument("--result", type=Path, required=True)
    parser.add_argument("command", nargs="+", metavar="COMMAND", help="after --")
    options = parser.parse_args()
    found = json.loads(options.result.read_text(encoding="utf-8"))["runs"] if options.result.exists() else {}
    run = found[options.name] = measured(options.command)
    head = {"sum": "RSS of the command and all its descendants", "every_seconds": EVERY_SECONDS}
    result = head | {"runs": found}
    options.result.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    for name, peak in run["stages"].items():
        print(f"{name:<44} {peak / 1e9:6.2f} GB")
    print(f"{'peak':<44} {run['peak_bytes'] / 1e9:6.2f} GB in {run['processes']} processes")
    raise SystemExit(run["exit_code"])


def measured(command: list[str]) -> dict[str, Any]:
    """Run the command to its end; its stderr is passed on."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    start, load = time.monotonic(), os.getloadavg()[0]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    lines: list[tuple[float, str]] = []
    reader = threading.Thread(target=passed_on, args=(process.stderr, lines), daemon=True)
    reader.start()
    samples: list[Sample] = []
    while process.poll() is None:
        samples.append(sample())
        time.sleep(EVERY_SECONDS)
    seconds = time.monotonic() - start
    reader.join(timeout=5)
    top = max(samples, key=lambda one: one.resident)
    return {
        "command": shlex.join(redact(part) for part in command),
        "cpu": cpu_name(),
        "cores": os.cpu_count(),
        "exit_code": process.returncode,
        "seconds": round(seconds, 1),
        "load": round(max(load, os.getloadavg()[0]), 1),
        "samples": len(samples),
        "peak_bytes": top.resident,
        "anonymous_bytes": top.anonymous,
        "processes": max(one.processes for one in samples),
        "stages": by_stage(samples, stages(lines)),
    }


def passed_on(stream: IO[str], lines: list[tuple[float, str]]) -> None:
    for line in stream:
        lines.append((time.monotonic(), line.rstrip("\n")))
        sys.stderr.write(line)


def sample() -> Sample:
    sizes = [size for pid in descendants(os.getpid()) if (size := statm(pid)) is not None]
    resident, shared = (sum(column) for column in zip(*sizes, strict=True)) if sizes else (0, 0)
    return Sample(at=time.monotonic(), resident=resident, anonymous=resident - shared, processes=len(sizes))


def descendants(root: int) -> list[int]:
    """The processes below `root`, without it."""
    below: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            except OSError:  # it has ended
                continue
            below.setdefault(int(fields[1]), []).append(int(entry.name))
    found, open_ = [], [root]
    while open_:
        children = below.get(open_.pop(), [])
        found += children
        open_ += children
    return found


def statm(pid: int) -> tuple[int, int] | None:
    """Resident and file-backed bytes; None if the process has ended."""
    try:
        fields = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()
    except OSError:
        return None
    return int(fields[1]) * _PAGE, int(fields[2]) * _PAGE


def stages(lines: list[tuple[float, str]]) -> list[Stage]:
    """When each stage ran. A line is printed at its end, or later, in one burst: then the last line's end is known."""
    found: list[Stage] = []
    following: float | None = None
    for place in range(len(lines) - 1, -1, -1):
        at, line = lines[place]
        if match := _STAGE.match(line):
            is_held = place + 1 < len(lines) and lines[place + 1][0] - at < _BURST_SECONDS and following is not None
            end = following if is_held and following is not None else at
            following = end - float(match["seconds"])
            found.append(Stage(name=match["name"], start=following, end=end))
    return found[::-1]


def by_stage(samples: list[Sample], ran: list[Stage]) -> dict[str, int]:
    peaks: dict[str, int] = {}
    for stage in ran:
        inside = [one.resident for one in samples if stage.start - EVERY_SECONDS <= one.at <= stage.end + EVERY_SECONDS]
        if inside:
            peaks[stage.name] = max(peaks.get(stage.name, 0), *inside)
    return peaks


if __name__ == "__main__":
    main()
