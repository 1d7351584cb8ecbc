"""What runs while a fault happens: every command that takes a while or writes something, tiny.

A job names its arguments; ROOT is the folder of materials, IN that of the case, OUT where its output goes. `writes`
says what comes out: a folder with a manifest, a training's folder, files in an app, one file, or nothing.
"""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.attack import materials
from tests.attack.case import Case
from tests.attack.faults.started import start

FOLDER, TRAINING, APP, FILE, NOTHING = "folder", "training", "app", "file", "nothing"
RESULT = "result"
_BASELINE = ("--baseline", "OUT", "--update-baseline")
_BERT = ("--model", "bert", "--checkpoint", "ROOT/bert", "--max-seq-len", "16")
_ROWS = ["--eval-data", "ROOT/rows.tsv"]
_TRAIN = ["train", "--train", "ROOT/rows.tsv", "--dev", "ROOT/rows.tsv", "--epochs", "3", "--batch-size", "8"]


@dataclass(frozen=True, kw_only=True)
class Job:
    """`arguments` without the program; `endless` runs until it is told to stop."""

    name: str
    arguments: tuple[str, ...]
    writes: str
    endless: bool = False
    environment: Mapping[str, str] = field(default_factory=dict)

    def words(self, case: Case, *more: str) -> list[str]:
        places = {"ROOT": str(materials.place()), "IN": str(case.inputs), "OUT": str(case.output)}
        words = [*self.arguments, *more]
        for name, place in places.items():
            words = [word.replace(name, place) for word in words]
        return words

    def prepare(self, case: Case) -> dict[str, str]:
        """What must lie there before; returns the environment."""
        if self.writes == APP:
            case.output.mkdir(parents=True)
            (case.output / "build.gradle.kts").write_text("// an app\n")
        if "bin" in self.environment.get("PATH", ""):
            program = case.inputs / "bin" / "npm"
            program.parent.mkdir()
            program.write_text("#!/bin/sh\nexec sleep 600\n")
            program.chmod(0o755)
        return {name: value.replace("IN", str(case.inputs)) for name, value in self.environment.items()}


JOBS = {
    job.name: job
    for job in (
        Job(
            name="export bert",
            arguments=("--checkpoint", "ROOT/bert", *_ROWS, "--quantize", "int8", "--output", "OUT"),
            writes=FOLDER,
        ),
        Job(
            name="export prado",
            arguments=("--checkpoint", "ROOT/prado", *_ROWS, "--quantize", "int8", "--output", "OUT"),
            writes=FOLDER,
        ),
        Job(name="train prado", arguments=(*_TRAIN, "--model", "prado", "--output", "OUT"), writes=TRAINING),
        Job(name="train bert", arguments=(*_TRAIN, *_BERT, "--output", "OUT"), writes=TRAINING),
        Job(
            name="compress",
            arguments=("compress", "--checkpoint", "ROOT/bert", "--drop-layers", "top:1", "--output", "OUT"),
            writes=FOLDER,
        ),
        Job(
            name="ablate",
            arguments=("ablate", "--checkpoint", "ROOT/bert", "--data", "ROOT/rows.tsv", "--output", "OUT"),
            writes=FILE,
        ),
        Job(
            name="explain",
            arguments=("explain", "--checkpoint", "ROOT/powerbert", "--data", "ROOT/rows.tsv", "--json"),
            writes=NOTHING,
        ),
        Job(
            name="check",
            arguments=(
                "check",
                "ROOT/export-prado",
                "--data",
                "ROOT/rows.tsv",
                "--update-baseline",
                "--baseline",
                "OUT",
            ),
            writes=FILE,
        ),
        Job(
            name="bench",
            arguments=("bench", "ROOT/export-prado/features_int8.tflite", "--rounds", "400", "--seconds", "20"),
            writes=NOTHING,
        ),
        Job(
            name="android",
            arguments=("android", "ROOT/export-bert", "--package", "com.example", "--output", "OUT"),
            writes=APP,
        ),
        Job(name="demo", arguments=("demo", "ROOT/export-bert"), writes=NOTHING, endless=True),
        Job(name="demo page", arguments=("demo", "ROOT/export-bert", "--output", "OUT"), writes=FOLDER),
        Job(
            name="setup web",
            arguments=("setup", "web"),
            writes=NOTHING,
            endless=True,
            # npm is a program that never ends: what is under attack is our side of it.
            environment={"PATH": "IN/bin:/usr/bin:/bin", "EXPORT_MOBILE_CACHE": "IN/cache", "NODE_PATH": ""},
        ),
    )
}
_ENDLESS_SECONDS = 1.5


def seconds(job: Job, folder: Path) -> float:
    """How long it takes here when nothing happens to it; measured once for a run, in a folder beside the case's."""
    if job.endless:
        return _ENDLESS_SECONDS
    known = materials.place() / f"seconds-{job.name.replace(' ', '-')}.json"
    if known.exists():
        return float(json.loads(known.read_text()))
    unharmed = folder / "unharmed"
    unharmed.mkdir()
    case = Case.of("unharmed", unharmed)
    running = start(job.words(case), folder=unharmed, cwd=case.inputs, environment=job.prepare(case))
    done = running.finish()
    if done.code not in (0, 3, 4):
        raise RuntimeError(f"{job.name} fails unharmed: {done.code} {done.stderr.decode(errors='replace')[-1000:]}")
    temporary = known.with_suffix(f".{time.monotonic_ns()}")
    temporary.write_text(json.dumps(done.seconds))
    temporary.replace(known)
    return done.seconds
