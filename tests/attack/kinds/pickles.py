"""Pickles: nothing in a checkpoint or beside a model is ever executed."""

import io
import os
import pickle
import random
import zipfile
from pathlib import Path

from tests.attack import materials
from tests.attack.case import Case
from tests.attack.command import Finished
from tests.attack.outcome import Kind, Outcome

NAMES = (
    "pytorch_model.bin",
    "model.bin",
    "model.pt",
    "tf_model.h5",
    "training_args.bin",
    "state.pkl",
    "model.safetensors",
)


class _Touch:
    """Makes a file when it is loaded."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __reduce__(self) -> object:
        return os.mkdir, (str(self._path),)


def executed(case: Case, _finished: Finished) -> str:
    return "a pickle was executed" if (case.folder / "owned").exists() else ""


def pickled(rng: random.Random, folder: Path) -> Outcome:
    """A pickle that would make a folder, under the names that other tools load."""
    case = Case.of("pickles", folder)
    model = rng.choice(("bert", "prado"))
    place = materials.copy(model, case.inputs)
    content = pickle.dumps(_Touch(case.folder / "owned"), protocol=rng.choice((0, 2, 4)))
    if rng.random() < 0.5:  # as torch.save writes it
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            archive.writestr("archive/data.pkl", content)
            archive.writestr("archive/version", "3")
        content = buffer.getvalue()
    name = rng.choice(NAMES)
    if rng.random() < 0.7:
        (place / "model.safetensors").unlink()
    (place / name).write_bytes(content)
    arguments = ["compress", "--checkpoint", str(place), "--drop-layers", "top:1", "--output", str(case.output)]
    if model == "prado":
        arguments = ["--checkpoint", str(place), "--output", str(case.output), "--quantize", "float32"]
    if rng.random() < 0.2:
        rows = case.inputs / "logits.npy"
        rows.write_bytes(
            b"\x93NUMPY\x01\x00v\x00{'descr': '|O', 'fortran_order': False, 'shape': (24,), }".ljust(127)
            + b"\n"
            + content
        )
        table = str(materials.place() / "rows.tsv")
        arguments = [
            "train",
            "--train",
            table,
            "--dev",
            table,
            "--teacher-logits",
            str(rows),
            "--output",
            str(case.output),
        ]
    return case.run(f"{model}/{name}", arguments, problems=[executed])


KINDS: dict[str, Kind] = {"pickles": pickled}
SHARES = {"pickles": 0.7}
