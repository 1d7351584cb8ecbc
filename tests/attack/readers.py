"""Commands that read a checkpoint or rows, cheap ones more often than whole exports."""

import random
from collections.abc import Callable
from pathlib import Path

from tests.attack import materials
from tests.attack.case import LARGEST_BYTES, Case
from tests.attack.outcome import Outcome

ROWS = {"tagger": "rows.conll", "squad": "squad.json"}
# Limits of `models_tf/limits.py`, low enough for bombs of 64 MB.
LOWERED = {"EXPORT_MOBILE_LIMIT_LINE_BYTES": str(1 << 20), "EXPORT_MOBILE_LIMIT_ROWS": "100000"}
RECIPES = ("float32", "int8", "int8-dynamic", "fp16", "int4", "int8-full")


def rows_of(model: str) -> str:
    """Unharmed rows for a model."""
    return str(materials.place() / ROWS.get(model, "rows.tsv"))


def compress(case: Case, model: str) -> list[str]:
    """Reads all of a checkpoint and writes another one, without TensorFlow."""
    return [
        "compress",
        "--checkpoint",
        str(case.inputs / model),
        "--drop-layers",
        "top:1",
        "--output",
        str(case.output),
    ]


def export(rng: random.Random, case: Case, model: str) -> list[str]:
    """A whole export, of one format and some recipe."""
    target, recipe = rng.choice(("tflite", "onnx")), rng.choice(RECIPES)
    rest = ["--output", str(case.output), "--max-seq-len", "8", "--eval-data", rows_of(model)]
    return ["--checkpoint", str(case.inputs / model), "--quantize", recipe, "--target", target, *rest]


def read_checkpoint(
    rng: random.Random, case: Case, model: str, what: str, *, cheap: bool = True, exports: float = 0.02
) -> Outcome:
    """One of the commands that read a token model."""
    cheap = cheap and model in ("bert", "powerbert", "albert", "ghostbert", "tagger", "squad")
    arguments = compress(case, model) if cheap and rng.random() > exports else export(rng, case, model)
    return case.run(what, arguments)


def tokenize(rng: random.Random, case: Case, model: str, what: str) -> Outcome:
    """Commands that read rows with the tokenizer of a checkpoint; none of them starts TensorFlow if it is refused."""
    folder, rows = str(case.inputs / model), rows_of(model)
    vocabulary = ["--prune-vocab", "--vocab-data", rows]
    arguments = ["compress", "--checkpoint", folder, *vocabulary, "--output", str(case.output)]
    if model == "powerbert" and rng.random() < 0.1:
        arguments = ["explain", "--checkpoint", folder, "--data", rows]
    return case.run(what, arguments)


def read_rows(
    rng: random.Random,
    case: Case,
    name: str,
    what: str,
    *,
    model: str = "bert",
    largest_bytes: int = LARGEST_BYTES,
    lowered: bool = False,
) -> Outcome:
    """One of the commands that read rows. `lowered`: with limits of the size of the file."""
    rows, checkpoint = str(case.inputs / name), str(materials.place() / model)
    prune = ["--prune-vocab", "--vocab-data", rows, "--output", str(case.output)]
    choices = [["compress", "--checkpoint", checkpoint, *prune]] * 6
    shipped = {"bert": ("export-bert/model_int8.onnx", "export-prado/features_int8.onnx")}
    for file in shipped.get(model, ()):
        choices += [["check", str(materials.place() / file), "--data", rows]] * 3
    if model == "tagger":
        choices += [["check", str(materials.place() / "export-tagger/model_float32.onnx"), "--data", rows]] * 3
    if not lowered and rng.random() < 0.04:
        choices = [
            ["train", "--train", rows, "--dev", rows, "--epochs", "1", "--output", str(case.output)],
            [
                "--checkpoint",
                checkpoint,
                "--eval-data",
                rows,
                "--output",
                str(case.output),
                "--quantize",
                "float32",
                "--target",
                "onnx",
            ],
            [
                "--checkpoint",
                checkpoint,
                "--calibration-data",
                rows,
                "--output",
                str(case.output),
                "--target",
                "tflite",
            ],
            ["ablate", "--checkpoint", checkpoint, "--data", rows, "--rows", "2"],
        ]
    limits = LOWERED if lowered else {}
    return case.run(what, rng.choice(choices), largest_bytes=largest_bytes, environment=limits)


def read_model_file(rng: random.Random, case: Case, path: Path, what: str) -> Outcome:
    """One of the commands that read a model file or its export folder."""
    name = rng.choices(list(FILE_COMMANDS), [share for share, _ in FILE_COMMANDS.values()])[0]
    arguments = FILE_COMMANDS[name][1](rng, case, path)
    return case.run(f"{name}: {what}", arguments, app=name == "android")


# How often each runs, and its arguments. Those that load the file in a runtime take a second.
FILE_COMMANDS: dict[str, tuple[float, Callable[[random.Random, Case, Path], list[str]]]] = {
    "inspect --no-runtime": (6, lambda rng, _case, path: ["inspect", str(path), "--no-runtime", *_json(rng)]),
    "inspect": (1, lambda rng, _case, path: ["inspect", str(path), *_json(rng)]),
    "check": (0.8, lambda _rng, case, path: ["check", str(path), "--data", _rows_for(path)]),
    "check folder": (0.2, lambda _rng, case, path: ["check", str(path.parent), "--data", _rows_for(path)]),
    "bench": (0.3, lambda _rng, _case, path: ["bench", str(path), "--rounds", "5", "--seconds", "0.5"]),
    "ledger": (0.03, lambda _rng, _case, path: ["ledger", str(path), "--rows", "1"]),
    "verify": (1, lambda _rng, _case, path: ["verify", str(path.parent)]),
    "demo": (2, lambda _rng, case, path: ["demo", str(path.parent), "--output", str(case.output)]),
    "android": (
        2,
        lambda rng, case, path: ["android", str(path.parent), "--package", "a.b", "--output", str(case.output)],
    ),
    "compare": (0.5, lambda _rng, _case, path: ["compare", str(path.parent)]),
}


def _json(rng: random.Random) -> list[str]:
    return ["--json"] if rng.random() < 0.3 else []


def _rows_for(path: Path) -> str:
    return str(materials.place() / ("rows.conll" if "float32" in path.name else "rows.tsv"))
