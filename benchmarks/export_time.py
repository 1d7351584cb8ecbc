"""What an export costs: seconds, processor seconds and memory of the command, all checks on, one export at a time.

    python benchmarks/export_time.py CHECKPOINT EVAL_DATA CALIBRATION_DATA WORK_FOLDER --max-seq-len 64 --result FILE

int8 in both formats: the checkpoint on its rows, then MobileBERT (24 layers) and BERT-base with random weights on
generated rows. Seconds by the clock count only on a machine that does nothing else: `load` is how many processes wanted
a core meanwhile. Processor seconds include those of child processes; `peak_bytes` is the largest resident size of the
command itself. `--only` names the models to measure, the others keep what RESULT says.
"""

import argparse
import json
import os
import shlex
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from in_turn import redact

from exporters.report.versions import cpu_name

RANDOM = {"mobilebert-24": ("mobilebert", "opt"), "bert-base": ("bert", "base")}
MODELS = ("checkpoint", *RANDOM)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("checkpoint", "eval_data", "calibration_data", "work"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--max-seq-len", type=int, default=64, help="of the checkpoint; others have the default")
    parser.add_argument("--only", nargs="+", choices=MODELS, default=MODELS)
    parser.add_argument("--result", type=Path, required=True)
    options = parser.parse_args()
    found = json.loads(options.result.read_text(encoding="utf-8"))["exports"] if options.result.exists() else {}
    for name in options.only:
        found[name] = measured(arguments(name, options), options.work / name)
        print(name, found[name], flush=True)
        result = {
            "command": f"python benchmarks/export_time.py {shlex.join(redact(arg) for arg in sys.argv[1:])}",
            "cpu": cpu_name(),
            "cores": os.cpu_count(),
            "exports": found,
        }
        options.result.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


def arguments(name: str, options: argparse.Namespace) -> list[str]:
    if name in RANDOM:
        model, preset = RANDOM[name]
        return ["--model", model, "--preset", preset, "--random-init"]
    data = ["--eval-data", options.eval_data, "--calibration-data", options.calibration_data]
    return [str(part) for part in ("--checkpoint", options.checkpoint, "--max-seq-len", options.max_seq_len, *data)]


def measured(asked: list[str], folder: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "exporters", *asked, "--quantize", "int8", "--output", str(folder), "--force"]
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{shlex.join(command)} ended with {process.returncode}.")
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    return {
        "rows": report["data"]["eval_rows"],
        "seconds": round(seconds, 1),
        "processor_seconds": round(usage.ru_utime + usage.ru_stime, 1),
        "peak_bytes": 1024 * usage.ru_maxrss,
        "load": round(os.getloadavg()[0], 1),
        "stages": {name: round(value, 1) for name, value in report["seconds"].items()},
    }


if __name__ == "__main__":
    main()
