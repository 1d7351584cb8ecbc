"""Which files of an export folder the page needs, and which of its model files a browser can run.

A browser has no custom ops, so of projection models only the bytes-in files run there; LiteRT.js takes no int8 as input
or output. The page itself decides the same again, and shows the reason.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from exporters.formats.tensor_names import MEDIAPIPE
from exporters.runtimes.npm import LITERT_JS, ORT_WEB
from exporters.shipped import device_tokenizer
from models_tf.checkpoints.json_text import read_json_file
from models_tf.errors import InputError

PROJECTION, TOKENS = "projection.json", "model.json"
# Beside the description and the model files. Where one is missing the page says what it needs it for.
_BESIDE = ("labels.txt", "tokenizer.json", "examples.json", "manifest.json")
_ENGINES = {".tflite": LITERT_JS, ".onnx": ORT_WEB}
_LITERT_TYPES = {"float32", "int32", "uint8"}


@dataclass(frozen=True, kw_only=True)
class WebModel:
    """An export folder as the page sees it; `packages` are those of npm that run its files."""

    folder: Path
    files: tuple[str, ...]
    packages: frozenset[str]


def read_model(folder: Path) -> WebModel:
    """Refuses a folder that the page could not show."""
    if not folder.is_dir():
        received = "a file" if folder.exists() else "no such folder"
        raise InputError(f"demo needs a folder that export-mobile wrote. Received: {folder} ({received}).")
    name = next((name for name in (PROJECTION, TOKENS) if (folder / name).is_file()), None)
    if name is None:
        raise InputError(
            f"demo needs a folder that export-mobile wrote, with {PROJECTION} or {TOKENS}. Received: {folder}, "
            "which has neither."
        )
    if name == TOKENS:
        device_tokenizer.check(folder / name, "demo")
    offered = [file for file, entry in _listed(folder, name).items() if _runs(name, file, entry)]
    if not offered:
        remedy = "--graphs bytes" if name == PROJECTION else "--io float32, or --target onnx"
        raise InputError(
            f"demo needs a model file that a browser runs. Received: {folder}, which has none. Export with {remedy}."
        )
    missing = [file for file in offered if not (folder / file).is_file()]
    if missing:
        raise InputError(f"{folder / name} names {missing[0]}. Received: a folder without it. Export again.")
    beside = [file for file in _BESIDE if (folder / file).is_file()]
    packages = frozenset(_ENGINES[Path(file).suffix] for file in offered)
    return WebModel(folder=folder, files=(name, *beside, *offered), packages=packages)


def _listed(folder: Path, name: str) -> Mapping[str, Any]:
    try:
        document = read_json_file(folder / name)
    except OSError as error:
        raise InputError(f"{folder / name} must be JSON. Received: {error.strerror}. Export again.") from error
    files = document.get("files") if isinstance(document, dict) else None
    if not isinstance(files, dict):
        raise InputError(f"{folder / name} must list the model files. Received: {str(files)[:40]}. Export again.")
    # A name is one of this folder: nothing else can be meant, and nothing else is served.
    return {file: entry for file, entry in files.items() if Path(file).name == file}


def _runs(name: str, file: str, entry: Any) -> bool:
    suffix, types = Path(file).suffix, set(_types(entry))
    if suffix not in _ENGINES or not types or file.startswith(f"{MEDIAPIPE}_"):  # that one answers no logits
        return False
    if name == PROJECTION and "uint8" not in types:
        return False
    return suffix != ".tflite" or types <= _LITERT_TYPES


def _types(entry: Any) -> Iterator[str]:
    """Of all inputs and outputs, whatever form the entry has."""
    if isinstance(entry, dict):
        if isinstance(entry.get("dtype"), str):
            yield entry["dtype"]
        for value in entry.values():
            yield from _types(value)
    elif isinstance(entry, list):
        for value in entry:
            yield from _types(value)
