"""Writes requirements/lock.txt: every package of `.[test]` with its exact version and the SHA-256 of its file.

    python tools/write_lock.py            # what pip would install now
    python tools/write_lock.py --keep     # the versions of the lock as it is, such as after a package was added

Run it with the Python of CI, in the checkout: pip chooses the files for the machine that it runs on. Nothing is
installed. torch stands there as a comment, by version alone: a file for one kind of machine (CPU, CUDA) is chosen by
the index that a machine is set up for, and its hash would refuse the others. `via` says who asks for a package.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
LOCK = ROOT / "requirements" / "lock.txt"
EXTRA = "test"
BUILD = "setuptools"  # what pyproject.toml builds with: the install takes it from the environment
BY_VERSION = ("torch",)
_PIN = re.compile(r"^(?P<name>[a-z0-9][a-z0-9.-]*)==(?P<version>[^ ;\\]+)", re.MULTILINE)
_HEAD = """\
# Every package of `.[test]` for CPython 3.11 on Linux (x86-64), written by tools/write_lock.py. Do not edit.
# pip install --require-hashes --no-deps -r requirements/lock.txt && pip install --no-build-isolation -e ".[test]"
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", action="store_true", help="keep the versions of the lock")
    parser.add_argument(
        "--report", type=Path, help="a report of `pip install --dry-run --report` in place of a new one"
    )
    options = parser.parse_args()
    report = options.report.read_text(encoding="utf-8") if options.report else resolved(keep=options.keep)
    LOCK.parent.mkdir(exist_ok=True)
    LOCK.write_text(lock(json.loads(report)["install"]), encoding="utf-8")


def resolved(*, keep: bool) -> str:
    """What pip says it would install into an empty environment."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed"]
    with tempfile.TemporaryDirectory() as place:
        if keep:
            pins = Path(place, "constraints.txt")
            pins.write_text("\n".join(found[0] for found in _PIN.finditer(LOCK.read_text(encoding="utf-8"))))
            command += ["--constraint", str(pins)]
        report = Path(place, "report.json")
        subprocess.run([*command, "--report", str(report), f".[{EXTRA}]", BUILD], cwd=ROOT, check=True)
        return report.read_text(encoding="utf-8")


def lock(installed: Sequence[Mapping[str, Any]]) -> str:
    """The file. Our own entry, which is a folder, is where the graph starts."""
    entries = {canonicalize_name(one["metadata"]["name"]): one for one in installed}
    via = asked_by(entries)
    lines = [_HEAD]
    for name, entry in sorted(entries.items()):
        version = entry["metadata"]["version"]
        asks = f"    # via {', '.join(sorted(via.get(name, ())))}\n" if via.get(name) else ""
        if name in BY_VERSION:
            lines.append(f"# {name}=={version.split('+')[0]} (by version alone, see tools/write_lock.py)\n{asks}")
        elif "archive_info" in entry["download_info"]:
            digest = entry["download_info"]["archive_info"]["hashes"]["sha256"]
            lines.append(f"{name}=={version} \\\n    --hash=sha256:{digest}\n{asks}")
    return "".join(lines)


def asked_by(entries: Mapping[str, Mapping[str, Any]]) -> dict[str, set[str]]:
    """Name -> those that ask for it here, with the extras they were asked for themselves."""
    asked: dict[str, set[str]] = {}
    seen: set[tuple[str, str]] = set()
    own = next(name for name, one in entries.items() if "dir_info" in one["download_info"])
    waiting = [(own, ""), (own, EXTRA), (BUILD, "")]
    while waiting:
        name, extra = waiting.pop()
        if (name, extra) in seen or name not in entries:
            continue
        seen.add((name, extra))
        for text in entries[name]["metadata"].get("requires_dist", ()):
            wanted = Requirement(text)
            if wanted.marker is not None and not wanted.marker.evaluate({**default_environment(), "extra": extra}):
                continue
            child = canonicalize_name(wanted.name)
            if child != name:
                asked.setdefault(child, set()).add(name)
            waiting += [(child, ""), *((child, canonicalize_name(one)) for one in wanted.extras)]
    return asked


if __name__ == "__main__":
    main()
