"""`Site`: every address of the page, and the file behind it. An address that is not in this table does not exist.

The page is examples/web, the engines are packages of npm, the models are export folders. A file that is a link to a
place outside of its folder is refused, now and when it is read.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from exporters.demonstration.models import WebModel
from exporters.example_files import example_folder
from exporters.runtimes.npm import LITERT_JS, LITERT_UTILS, ORT_WEB, REMEDY, node_modules
from models_tf.errors import InputError
from models_tf.folders.real_path import real_path

START = "index.html"
MODELS = "models.json"
PAGE_SUFFIXES = (".html", ".css", ".js")
# Of each package what a browser loads: one thread, on a processor.
ENGINE_FILES: Mapping[str, tuple[str, ...]] = {
    ORT_WEB: (
        "dist/ort.wasm.min.mjs",
        "dist/ort-wasm-simd-threaded.mjs",
        "dist/ort-wasm-simd-threaded.wasm",
    ),
    LITERT_JS: (
        "dist/index.js",
        "wasm/litert_wasm_internal.js",
        "wasm/litert_wasm_internal.wasm",
        "wasm/litert_wasm_compat_internal.js",
        "wasm/litert_wasm_compat_internal.wasm",
    ),
    LITERT_UTILS: ("dist/index.js",),
}
_NEEDS = {ORT_WEB: (ORT_WEB,), LITERT_JS: (LITERT_JS, LITERT_UTILS)}


@dataclass(frozen=True, kw_only=True)
class Kept:
    """A file inside of a folder."""

    root: Path
    path: Path

    def inside(self) -> Path:
        """The file itself; InputError if it is not a file of the folder any more, or a link out of it."""
        real = real_path(self.path)
        if not real.is_relative_to(real_path(self.root)) or not real.is_file():
            raise InputError(f"{self.path} must be a file inside of {self.root}. Received: a link, or no file.")
        return real


@dataclass(frozen=True, kw_only=True)
class Site:
    """By address without the first slash. `models_json` is the content of models.json."""

    files: Mapping[str, Kept]
    models_json: bytes


def build_site(models: Sequence[WebModel]) -> Site:
    """Checks that every file is there; remedies are in the errors."""
    files: dict[str, Kept] = {}
    page = example_folder("web")
    for path in sorted(page.rglob("*")):
        place = path.relative_to(page)
        # In a checkout somebody may keep engines and models of his own beside the page.
        if path.suffix in PAGE_SUFFIXES and place.parts[0] not in ("engines", "models"):
            files[place.as_posix()] = Kept(root=page, path=path)
    files |= dict(_engines(frozenset[str]().union(*(model.packages for model in models))))
    names = _names([model.folder for model in models])
    for name, model in zip(names, models, strict=True):
        files |= {f"models/{name}/{file}": Kept(root=model.folder, path=model.folder / file) for file in model.files}
    for kept in files.values():
        kept.inside()
    listed = json.dumps([f"models/{name}" for name in names], indent=1)
    return Site(files=files, models_json=f"{listed}\n".encode())


def _engines(packages: frozenset[str]) -> Iterator[tuple[str, Kept]]:
    for package in sorted({needed for wanted in packages for needed in _NEEDS[wanted]}):
        home = node_modules(package)
        root = None if home is None else (home / package)
        missing = [file for file in ENGINE_FILES[package] if root is None or not (root / file).is_file()]
        if root is None or missing:
            what = f"no package {package}" if root is None else f"{root} without {missing[0]}"
            raise InputError(f"demo needs the engines that run files in a browser. Received: {what}. Run `{REMEDY}`.")
        for file in ENGINE_FILES[package]:
            yield f"engines/{package}/{file}", Kept(root=root, path=root / file)


def _names(folders: Sequence[Path]) -> list[str]:
    """A plain name of its own for each folder, for addresses and for folders of any system."""
    names: list[str] = []
    for folder in folders:
        plain = re.sub(r"[^A-Za-z0-9._-]+", "-", real_path(folder).name).strip(".-")[:80] or "model"
        tries = (plain if number == 1 else f"{plain}-{number}" for number in range(1, len(folders) + 1))
        names.append(next(name for name in tries if name not in names))
    return names
