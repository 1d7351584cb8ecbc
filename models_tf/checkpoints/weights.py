"""The weights of a checkpoint folder, in whichever of four ways they are stored: names, shapes, float32 values.

Leaves out which tensors a model needs: `port.py`.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from models_tf.checkpoints.json_text import read_json_file
from models_tf.checkpoints.safetensors_file import SafetensorsFile
from models_tf.checkpoints.torch_file import TorchFile
from models_tf.errors import InputError

WEIGHTS_FILE = "model.safetensors"
# In the order of preference; an index names the files that hold the parts.
_SINGLE_FILES: dict[str, Callable[[Path], "WeightFile"]] = {
    WEIGHTS_FILE: SafetensorsFile,
    "pytorch_model.bin": TorchFile,
}
# What other libraries put in front of all names: PyTorch's DataParallel and compile, sentence-transformers.
WRAPPERS = ("module.", "_orig_mod.", "0.auto_model.", "auto_model.")
_OTHER_FRAMEWORKS = ("tf_model.h5", "flax_model.msgpack", "model.ckpt.index")


class WeightFile(Protocol):
    """One file of weights."""

    path: Path

    @property
    def names(self) -> tuple[str, ...]: ...

    def shape(self, name: str) -> tuple[int, ...]: ...

    def read(self, name: str) -> np.ndarray: ...


@dataclass(frozen=True, kw_only=True)
class WeightFiles:
    """Every tensor with the file it is in; a value is read when it is asked for, and not kept.

    `wrapper` is what another library put in front of all names; names here are without.
    """

    folder: Path
    sources: Mapping[str, WeightFile]
    wrapper: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name.removeprefix(self.wrapper) for name in self.sources)

    @property
    def files(self) -> tuple[Path, ...]:
        return tuple(dict.fromkeys(source.path for source in self.sources.values()))

    def file(self, name: str) -> Path:
        return self.sources[self.wrapper + name].path

    def shape(self, name: str) -> tuple[int, ...]:
        return self.sources[self.wrapper + name].shape(self.wrapper + name)

    def read(self, name: str) -> np.ndarray:
        """float32, whatever the file holds."""
        return self.sources[self.wrapper + name].read(self.wrapper + name)


def open_weights(folder: Path) -> WeightFiles:
    """model.safetensors, else its parts with an index, else pytorch_model.bin, else its parts."""
    for name, reader in _SINGLE_FILES.items():
        path, index = folder / name, folder / f"{name}.index.json"
        if path.is_file():
            file = reader(path)
            sources = dict.fromkeys(file.names, file)
            return WeightFiles(folder=folder, sources=sources, wrapper=wrapper_of(sources))
        if index.is_file():
            sources = _parts(index, reader)
            return WeightFiles(folder=folder, sources=sources, wrapper=wrapper_of(sources))
    others = [name for name in _OTHER_FRAMEWORKS if (folder / name).exists()]
    received = f" Received: {others[0]}, of another framework: save it from PyTorch first." if others else ""
    raise InputError(
        f"Checkpoint folder {folder} lacks {' and '.join(_SINGLE_FILES)}: one of them is needed.{received}"
    )


def wrapper_of(names: Collection[str]) -> str:
    """The wrappers that all of the names begin with, one inside the other."""
    found = ""
    while wrapper := next((one for one in WRAPPERS if names and all(n.startswith(found + one) for n in names)), ""):
        found += wrapper
    return found


def _parts(index: Path, reader: Callable[[Path], WeightFile]) -> dict[str, WeightFile]:
    document = read_json_file(index)
    table = document.get("weight_map") if isinstance(document, dict) else None
    if not isinstance(table, dict) or not table or not all(isinstance(file, str) for file in table.values()):
        raise InputError(f'{index} must have "weight_map", an object of tensor and file names.')
    suffix = Path(index.name.removesuffix(".index.json")).suffix
    files: dict[str, WeightFile] = {}
    for name in dict.fromkeys(table.values()):
        # A name and no path: nothing outside of the folder is read.
        if "/" in name or "\\" in name or "\0" in name or not name.endswith(suffix) or name.startswith("."):
            raise InputError(f"{index} must name *{suffix} files of its own folder. Received: {name!r}.")
        path = index.parent / name
        if not path.is_file():
            raise InputError(f"{index} names {name}, which the folder lacks: the checkpoint is not complete.")
        files[name] = reader(path)
    for file in files.values():
        for tensor in file.names:
            if table.get(tensor) != file.path.name:
                raise InputError(f"{file.path}: tensor {tensor} is not in that file by {index.name}.")
    held = {name: frozenset(file.names) for name, file in files.items()}
    for tensor, name in table.items():
        if tensor not in held[name]:
            raise InputError(f"{index} says that {name} holds {tensor}, which it does not.")
    return {tensor: files[name] for tensor, name in table.items()}
