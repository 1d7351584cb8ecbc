"""Small stand-ins for what a page is made of: an export folder without a real model, and packages of npm."""

import json
from pathlib import Path
from typing import Any

from exporters.demonstration.site import ENGINE_FILES

BYTES_IN = {"input": {"name": "text", "dtype": "uint8", "shape": [1, 16]}}
LOGITS = {"output": {"name": "logits", "dtype": "float32", "shape": [1, 2]}}


def bytes_folder(folder: Path, **changes: Any) -> Path:
    """As `export` writes it for a projection model, with files that no runtime takes."""
    folder.mkdir(parents=True)
    files = {
        "bytes_int8.tflite": {"serving_default": {**BYTES_IN, **LOGITS}},
        "bytes_int8.onnx": {**BYTES_IN, "output": {"name": "logits", "dtype": "float", "shape": [1, 2]}},
        "text_int8.tflite": {"serving_default": {"input": {"name": "text", "dtype": "string", "shape": [1]}, **LOGITS}},
    }
    document = {
        "format": "export-mobile-projection/1",
        "config": {"max_bytes": 16},
        "labels": "labels.txt",
        "multi_label": False,
        "files": files,
        **changes,
    }
    (folder / "projection.json").write_text(json.dumps(document))
    (folder / "labels.txt").write_text("yes\nno\n")
    (folder / "private.txt").write_text("not for the page")
    for name in files:
        (folder / name).write_bytes(b"model")
    return folder


def engines(folder: Path) -> Path:
    """A folder node_modules with empty files of the engines."""
    for package, names in ENGINE_FILES.items():
        for name in names:
            path = folder / package / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"")
        (folder / package / "package.json").write_text('{"version": "0"}')
    return folder
