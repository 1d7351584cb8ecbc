"""The files of a comparison: ours, and what other tools make of the same checkpoint.

Each peer gets what its own guide says, and all calibrate on the same rows. A file that exists is not made again; ours
are, whenever the code of this library changes. `peer_onnx.py` and `peer_tflite.py` have the tools of each format.
"""

import hashlib
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import peer_onnx
import peer_tflite
import product_floor
from peer_task import Task, feed, made
from peer_worker import Candidate, Row

from quantize.recipe import RECIPES as KNOWN

OURS = "export-mobile"
# In the order of the table; of recipes that a tree does not have yet, nothing is measured.
RECIPES = tuple(name for name in ("float32", "fp16", "int8-dynamic", "int4", "int8") if name in KNOWN)
# The export measures these rows itself; the comparison measures all.
EXPORT_ROWS = 64
PACKAGES = ("exporters", "models_tf", "quantize")

Files = dict[int, Path]


@dataclass(frozen=True, kw_only=True)
class Peer:
    """A file to be made: `make` gives files by the length that they take, 0 for any."""

    name: str
    recipe: str
    kind: str
    make: Callable[[], Files]

    def candidate(self) -> Candidate:
        return Candidate(name=self.name, recipe=self.recipe, kind=self.kind, files=self.make())


def all_peers(task: Task) -> list[Peer]:
    return [*_ours(task), *_torch(task), *_onnx_runtime(task), *_tflite(task), *_openvino(task)]


def _ours(task: Task) -> list[Peer]:
    def make(recipe: str, ending: str) -> Files:
        folder = task.work / f"ours_{recipe}_{_code()}"
        if not (folder / "report.json").is_file():
            command: list[Any] = ["--checkpoint", task.checkpoint, "--quantize", recipe, "--output", folder]
            command += ["--max-seq-len", task.longest, "--eval-data", task.eval_data, "--eval-rows", EXPORT_ROWS]
            command += ["--calibration-data", task.calibration_data] if KNOWN[recipe].needs_calibration else []
            print("making", folder.name, flush=True)
            _export(list(map(str, command)))
        return {0: next(folder.glob(f"*.{ending}"))}

    return [
        Peer(name=OURS, recipe=recipe, kind=kind, make=lambda r=recipe, e=ending: make(r, e))
        for ending, kind in (("tflite", "LiteRT"), ("onnx", "ONNX Runtime"))
        for recipe in RECIPES
    ]


def _export(arguments: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "exporters", *arguments], check=False, capture_output=True, encoding="utf-8"
    )
    if done.returncode:
        raise RuntimeError((done.stderr or done.stdout).strip().rpartition("\n")[2])


def _code() -> str:
    """Tells one state of this library's code from another."""
    root, digest = Path(__file__).parents[1], hashlib.sha256()
    for package in PACKAGES:
        for path in sorted((root / package).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:8]


def _torch(task: Task) -> list[Peer]:
    kinds = ("PyTorch", "torch.compile")
    return [Peer(name="PyTorch", recipe="float32", kind=kind, make=lambda: {0: task.checkpoint}) for kind in kinds]


def _onnx_runtime(task: Task) -> list[Peer]:
    return [
        Peer(name=name, recipe=recipe, kind="ONNX Runtime", make=lambda make=make: {0: make(task)})
        for (name, recipe), make in peer_onnx.MAKERS.items()
    ]


def _tflite(task: Task) -> list[Peer]:
    def make(name: str, recipe: str) -> Files:
        write = peer_tflite.MAKERS[name, recipe]
        return {
            length: made(
                task.work / f"{name}_{recipe}_{length}.tflite",
                lambda path, length=length: path.write_bytes(write(task, length)),
            )
            for length in task.lengths
        }

    return [
        Peer(name=name, recipe=recipe, kind="LiteRT", make=lambda n=name, r=recipe: make(n, r))
        for name, recipe in peer_tflite.MAKERS
    ]


def _openvino(task: Task) -> list[Peer]:
    def converted(path: Path) -> None:
        import openvino

        openvino.save_model(openvino.convert_model(peer_onnx.exported(task)), path, compress_to_fp16=False)

    def quantized(path: Path) -> None:
        import nncf
        import openvino

        def transform(row: Row) -> dict[str, np.ndarray]:
            return feed(row)

        result = nncf.quantize(
            openvino.convert_model(peer_onnx.exported(task)),
            nncf.Dataset(list(task.calibration), transform),
            model_type=nncf.ModelType.TRANSFORMER,
            subset_size=len(task.calibration),
        )
        openvino.save_model(result, path, compress_to_fp16=False)

    makers = {("OpenVINO", "float32"): converted, ("OpenVINO, NNCF", "int8"): quantized}
    return [
        Peer(
            name=name,
            recipe=recipe,
            kind="OpenVINO",
            make=lambda make=make, recipe=recipe: {0: made(task.work / f"openvino_{recipe}.xml", make)},
        )
        for (name, recipe), make in makers.items()
    ]


def floor(task: Task, shapes: product_floor.Shapes) -> list[Candidate]:
    """The products alone, at each length."""
    folder = task.work / f"products_{_code()}"
    folder.mkdir(exist_ok=True)
    files = {length: product_floor.write(folder, shapes, length) for length in task.lengths}
    return [
        Candidate(
            name=target, recipe=recipe, kind="products", files={n: paths[target, recipe] for n, paths in files.items()}
        )
        for target, recipe in next(iter(files.values()))
    ]
