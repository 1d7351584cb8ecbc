"""Symbolic links, special files, and names that are tricks."""

import os
import random
import shutil
import socket
from collections.abc import Callable
from pathlib import Path

from tests.attack import materials
from tests.attack.case import ADDED, Case
from tests.attack.command import Finished
from tests.attack.outcome import Kind, Outcome
from tests.attack.values import text

SECRET = b"nobody may read or touch this"
NAMES = (
    "..", ".", "../aside", "/", "//", "a/../../aside/x", "~", "~root", "$HOME", "-rf", "--help", "-", "a\nb", "a\tb",
    "a\rb", "\x1b[31mred", "a" * 255, "a" * 256, "a" * 300, "a/" * 2000 + "a", "é", "日本", "a b", "a;b", "a'b", 'a"b',
    "a`b", "%s", "*", "CON", "a\\b", "\u202eabc", "", " ", "nul\0l", "/dev/null", "/dev/full", "/dev/zero",
    "/proc/self/mem", "/proc/self/fd/1",
)  # fmt: skip


def special(path: Path, rng: random.Random, aside: Path) -> str:
    """Put something else than a file at `path`; says what."""
    choice = rng.choice(
        ("itself", "outside", "/dev/zero", "/dev/null", "fifo", "socket", "folder", "nowhere", "parent")
    )
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
    if choice == "itself":
        path.symlink_to(path.name)
    elif choice == "outside":
        path.symlink_to(aside / "secret.txt")
    elif choice == "nowhere":
        path.symlink_to(aside / "not-there")
    elif choice == "parent":
        path.symlink_to("..")
    elif choice == "fifo":
        os.mkfifo(path)
    elif choice == "folder":
        path.mkdir()
    elif choice == "socket":
        here = Path.cwd()
        os.chdir(path.parent)  # a socket's name has at most 107 characters
        try:
            with socket.socket(socket.AF_UNIX) as server:
                server.bind(path.name)
        finally:
            os.chdir(here)
    else:
        path.symlink_to(choice)
    return choice


def no_secret(case: Case, finished: Finished) -> str:
    """What lies outside of a checkpoint is neither shown nor copied."""
    for name, stream in (("stdout", finished.stdout), ("stderr", finished.stderr)):
        if SECRET in stream:
            return f"{name} shows a file outside of the folder"
    for path in case.output.rglob("*") if case.output.is_dir() else []:
        if path.is_file() and not path.is_symlink() and path.stat().st_size < 1 << 20 and SECRET in path.read_bytes():
            return f"{path.name} holds a file outside of the folder"
        if path.is_symlink():
            return f"{path.name} in the output is a symbolic link"
    return ""


def checkpoint_links(rng: random.Random, folder: Path) -> Outcome:
    """A file of a checkpoint is a link, a pipe, a socket or a folder."""
    case = Case.of("links: checkpoint", folder)
    model = rng.choice(("bert", "bert", "prado", "albert"))
    place = materials.copy(model, case.inputs)
    names = [path.name for path in place.iterdir()]
    names += ["added_tokens.json", "special_tokens_map.json", "tokenizer_config.json", "tokenizer.json", "spiece.model"]
    names += ["model.safetensors.index.json", "pytorch_model.bin", "README.md"]
    name = rng.choice(names)
    what = special(place / name, rng, case.aside)
    output = ["--output", str(case.output)]
    choices = [
        ["compress", "--checkpoint", str(place), "--drop-layers", "top:1", *output],
        [
            "compress",
            "--checkpoint",
            str(place),
            "--prune-vocab",
            "--vocab-data",
            str(materials.place() / "rows.tsv"),
            *output,
        ],
    ]
    if model == "prado":
        choices = [["--checkpoint", str(place), "--eval-data", str(materials.place() / "rows.tsv"), *output]]
    elif rng.random() < 0.05:
        choices = [["--checkpoint", str(place), "--quantize", "float32", "--target", "onnx", *output]]
    return case.run(f"{model}/{name} is {what}", rng.choice(choices), problems=[no_secret])


def export_links(rng: random.Random, folder: Path) -> Outcome:
    """A file of an export folder is a link, a pipe, a socket or a folder."""
    case = Case.of("links: export folder", folder)
    place = materials.copy(rng.choice(("export-bert", "export-prado")), case.inputs, "export")
    name = rng.choice([*(path.name for path in place.iterdir()), "more.onnx", "more.tflite", "sub"])
    what = special(place / name, rng, case.aside)
    rows = str(materials.place() / "rows.tsv")
    choices: dict[str, list[str]] = {
        "verify": ["verify", str(place)],
        "compare": ["compare", str(place)],
        "demo": ["demo", str(place), "--output", str(case.output)],
        "android": ["android", str(place), "--package", "a.b", "--output", str(case.output)],
        "check": ["check", str(place), "--data", rows],
        "inspect": ["inspect", str(place / name)],
        "bench": ["bench", str(place / name), "--rounds", "5", "--seconds", "0.5"],
        "clean": ["clean", str(place), "--yes", "--older-than", "0m"],
    }
    command = rng.choices(list(choices), [3, 3, 3, 3, 1, 2, 1, 1])[0]
    return case.run(f"{command}: {name} is {what}", choices[command], problems=[no_secret], app=command == "android")


def rows_links(rng: random.Random, folder: Path) -> Outcome:
    """Rows, baselines and reports that are links, pipes, devices. A link to a file is as good as the file."""
    case = Case.of("links: rows", folder)
    name = f"rows.{rng.choice(('tsv', 'csv', 'jsonl', 'conll', 'tsv.gz', 'json', 'txt'))}"
    what = special(case.inputs / name, rng, case.aside)
    rows = str(case.inputs / name)
    model = str(materials.place() / "export-bert" / "model_int8.onnx")
    choices = [
        [
            "compress",
            "--checkpoint",
            str(materials.place() / "bert"),
            "--prune-vocab",
            "--vocab-data",
            rows,
            "--output",
            str(case.output),
        ],
        ["check", model, "--data", rows],
        ["check", model, "--data", str(materials.place() / "rows.tsv"), "--baseline", rows],
        ["compare", rows],
        ["--checkpoint", str(materials.place() / "prado"), "--eval-data", rows, "--output", str(case.output)],
        ["train", "--train", rows, "--dev", rows, "--output", str(case.output), "--epochs", "1"],
    ]
    return case.run(f"{name} is {what}", rng.choices(choices, [4, 3, 2, 2, 2, 1])[0])


def names(rng: random.Random, folder: Path) -> Outcome:
    """Names that are tricks, as output and as input."""
    case = Case.of("path tricks", folder)
    name: str | bytes = rng.choice((*NAMES, text(rng)))
    if rng.random() < 0.1:
        name = b"\xff\xfe\x80"
    if isinstance(name, str) and rng.random() < 0.3 and not name.startswith("/"):
        name = f"sub/{name}"
    rows, checkpoint = str(materials.place() / "rows.tsv"), str(materials.place() / "bert")
    places: list[Callable[[], list[str | bytes]]] = [
        lambda: ["compress", "--checkpoint", checkpoint, "--drop-layers", "top:1", "--output", name],
        lambda: ["compress", "--checkpoint", name, "--drop-layers", "top:1", "--output", str(case.output)],
        lambda: [
            "compress",
            "--checkpoint",
            checkpoint,
            "--prune-vocab",
            "--vocab-data",
            name,
            "--output",
            str(case.output),
        ],
        lambda: ["compare", str(materials.place() / "export-bert"), "--output", name],
        lambda: ["compare", name],
        lambda: ["inspect", name],
        lambda: ["verify", name],
        lambda: ["demo", name, "--output", str(case.output)],
        lambda: ["demo", str(materials.place() / "export-bert"), "--output", name],
        lambda: ["android", str(materials.place() / "export-bert"), "--package", name, "--output", name],
        lambda: ["check", name, "--data", rows],
        lambda: ["clean", name],
        lambda: ["--checkpoint", checkpoint, "--eval-data", name, "--output", str(case.output)],
        lambda: ["train", "--train", name, "--dev", rows, "--output", str(case.output)],
        lambda: ["ablate", "--checkpoint", name, "--data", rows, "--output", str(case.output)],
    ]
    place = rng.choice(places)
    arguments = [word for word in place() if "\0" not in os.fsdecode(word)]  # no system passes a NUL
    what = f"{os.fsdecode(arguments[0])}: {name[:40]!r}"
    return case.run(what, arguments, problems=[no_secret], inputs=ADDED)


KINDS: dict[str, Kind] = {
    "links checkpoint": checkpoint_links,
    "links export": export_links,
    "links rows": rows_links,
    "path tricks": names,
}
SHARES = {"links checkpoint": 2, "links export": 2, "links rows": 1.5, "path tricks": 3}
