"""Fuzzes the projection core and the three wrappers with libFuzzer under sanitizers.

    python -m tests.fuzz --runs 1000000 --result docs/results/fuzz.json

`--runs` is that of the core; each wrapper gets a tenth. Exit code 0 if nothing was found, 1 if something was: the input
stays in `--keep`.
"""

import argparse
import dataclasses
import json
import platform
import shlex
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [entry for entry in (str(ROOT), str(ROOT / "tests")) if entry not in sys.path]

from tests.fuzz import harnesses  # noqa: E402


def main(argv: list[str] | None = None) -> int:
    """Returns the exit code."""
    words = sys.argv[1:] if argv is None else argv
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=1_000_000, help="executions of the core; a tenth of each wrapper")
    parser.add_argument("--seed", type=int, default=16)
    parser.add_argument("--only", choices=tuple(harnesses.DRIVEN), action="append", help="this harness; repeatable")
    parser.add_argument("--result", metavar="FILE", help="write what was counted, as JSON")
    parser.add_argument("--keep", metavar="DIR", help="build here, and leave corpora and findings")
    options = parser.parse_args(words)
    if why := harnesses.missing():
        print(f"python -m tests.fuzz {why}.", file=sys.stderr)
        return 2
    folder = Path(options.keep or tempfile.mkdtemp(prefix="fuzz-")).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    names = tuple(options.only or harnesses.DRIVEN)
    programs, results = harnesses.build(folder, names), []
    for name in names:
        runs = options.runs if name == "core" else options.runs // 10
        result = harnesses.run(name, programs[name], folder, runs=runs, seed=options.seed)
        results.append(result)
        rest = f"FINDING, see {folder}: {result.finding}" if result.finding else "nothing found"
        print(f"{name:10} {result.executions:>10,} executions  {result.seconds:>7.1f} s  {rest}", flush=True)
    document = {
        "command": shlex.join(["python", "-m", "tests.fuzz", *words]),
        "machine": platform.machine(),
        "compiler": harnesses.version(),
        "sanitizers": "address, undefined",
        "seed": options.seed,
        "harnesses": [
            {key: value for key, value in dataclasses.asdict(result).items() if key != "input"} for result in results
        ],
    }
    if options.result:
        Path(options.result).write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    return 1 if any(result.finding for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
