"""Exported models on the page of examples/web, in Chromium: bytes, and time to load, to the first label, of a text.

    PYTHONPATH=tests python benchmarks/web.py RESULT.json FOLDER[=ROWS.tsv] [FOLDER[=ROWS.tsv] ...]

ROWS.tsv has texts in its first column; without it the texts are those of examples.json. Each visit is a new browser
context, so nothing is cached but WebAssembly that Chromium itself keeps, and files take turns. `page_ms`: from opening
the page until the model is loaded. `engine_ms`: start of the engine, fetching included. `load_ms`: fetching and opening
the model and its tokenizer. `first_label_ms`: from the first text until the label is on the screen. `text_ms`: a text,
tokenizing included, over all visits. Quartiles of the clock; `load_average` says how busy the machine was. `gzip_bytes`
is the model as a server sends it (level 6). Needs Chromium, node and the npm packages playwright-core, onnxruntime-web
and @litertjs/core, in folders that NODE_PATH names.
"""

import csv
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from exporters import DemoRequest, demo
from exporters.demonstration.models import read_model
from exporters.report.versions import cpu_name
from exporters.runtimes import npm
from support import browser, playwright

VISITS, TEXTS = 7, 200
_FIRST = """new Promise((done) => {
  const area = document.getElementById("text");
  const answers = document.getElementById("answers");
  const begun = performance.now();
  new MutationObserver((_, observer) => {
    if (answers.querySelector(".chosen")) {
      observer.disconnect();
      requestAnimationFrame(() => setTimeout(() => done(performance.now() - begun)));
    }
  }).observe(answers, { childList: true });
  area.value = TEXT;
  area.dispatchEvent(new Event("input"));
})"""


def measure(exports: Sequence[tuple[Path, Sequence[str]]]) -> dict[str, Any]:
    found: dict[tuple[str, str], dict[str, list[float]]] = {}
    for _ in range(VISITS):
        for folder, texts in exports:
            for file in files_of(folder):
                times = visit(folder, file, texts)
                own = found.setdefault((folder.name, file), {name: [] for name in times})
                for name, values in times.items():
                    own[name] += values
    sizes = {(folder.name, file): (folder / file).read_bytes() for folder, _ in exports for file in files_of(folder)}
    return {
        folder.name: {
            file: {
                "size_bytes": len(sizes[folder.name, file]),
                "gzip_bytes": len(gzip.compress(sizes[folder.name, file], 6)),
                **{name: quartiles(values) for name, values in found[folder.name, file].items()},
            }
            for file in files_of(folder)
        }
        for folder, _ in exports
    }


def files_of(folder: Path) -> list[str]:
    return [file for file in read_model(folder).files if file.endswith((".tflite", ".onnx"))]


def visit(folder: Path, file: str, texts: Sequence[str]) -> dict[str, list[float]]:
    """A new page with this file alone, so that it is the one that the page opens."""
    with tempfile.TemporaryDirectory() as work:
        alone = Path(work, folder.name)
        alone.mkdir()
        for name in read_model(folder).files:
            if name == file or not name.endswith((".tflite", ".onnx")):
                (alone / name).write_bytes((folder / name).read_bytes())
        name = "projection.json" if (folder / "projection.json").is_file() else "model.json"
        document = json.loads((folder / name).read_bytes())
        document["files"] = {file: document["files"][file]}
        (alone / name).write_text(json.dumps(document))
        with demo(DemoRequest(folders=(alone,))) as page:
            steps = [
                ["ready"],
                ["evaluate", "performance.now()"],
                ["evaluate", _FIRST.replace("TEXT", json.dumps(texts[0]))],
                ["shown"],
                ["classify", f"models/{folder.name}", file, texts],
            ]
            (seen,) = playwright.drive(Path(work), [{"address": page.address, "steps": steps}])
    state, ready, first, shown, classified = seen["answers"]
    # Milliseconds of the later texts: those before wait for WebAssembly's compiler, and `first_label_ms` shows it.
    later = [answer["milliseconds"] for answer in classified["answers"]][len(texts) // 2 :]
    return {
        "page_ms": [ready],
        "engine_ms": [milliseconds(state)],
        "load_ms": [milliseconds(shown["facts"]["load"])],
        "first_label_ms": [first],
        "text_ms": later,
    }


def tables(document: dict[str, Any]) -> list[str]:
    """The lines of docs/web.md."""
    lines = [
        "| model | file | bytes | with gzip | engine starts in | model loads in | first label | a text |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for model, files in document["models"].items():
        for file, row in files.items():
            sizes = [f"{row[name]:,}" for name in ("size_bytes", "gzip_bytes")]
            times = [shown(row[name]) for name in ("engine_ms", "load_ms", "first_label_ms", "text_ms")]
            lines.append(f"| {' | '.join([model, file, *sizes, *times])} |")
    return lines


def shown(quartile: dict[str, Any]) -> str:
    digits = 1 if quartile["median"] < 10 else 0
    low, median, high = (f"{quartile[name]:,.{digits}f}" for name in ("low", "median", "high"))
    return f"{median} ({low} to {high})"


def milliseconds(text: str) -> float:
    """As the page shows it: `12 ms` or `1.23 s`."""
    number, unit = re.findall(r"([\d.]+) (ms|s)\b", text)[-1]
    return float(number) * (1000 if unit == "s" else 1)


def quartiles(values: Sequence[float]) -> dict[str, Any]:
    low, median, high = np.quantile(values, (0.25, 0.5, 0.75)).round(2).tolist()
    return {"n": len(values), "low": low, "median": median, "high": high}


def texts_of(folder: Path, table: str) -> list[str]:
    if not table:
        document = json.loads((folder / "examples.json").read_bytes())
        return [example["text"] for example in document["examples"] if example["text"]]
    with Path(table).open(encoding="utf-8", newline="") as file:
        return [row[0] for row in csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)][1 : TEXTS + 1]


def main() -> None:
    if len(sys.argv) < 3 or playwright.missing():
        sys.exit(f"needs {playwright.missing()}" if playwright.missing() else __doc__)
    pairs = [argument.partition("=") for argument in sys.argv[2:]]
    exports = [(Path(folder), texts_of(Path(folder), table)) for folder, _, table in pairs]
    busy = os.getloadavg()[0]
    models = measure(exports)
    chromium = subprocess.run([str(browser.find()), "--version"], capture_output=True, text=True, check=True).stdout
    packages = {name: npm.version(npm.node_modules(name) or Path(), name) for name in (npm.ORT_WEB, npm.LITERT_JS)}
    document = {
        "command": "PYTHONPATH=tests python benchmarks/web.py RESULT.json FOLDER[=ROWS.tsv] ...",
        "cpu": cpu_name(),
        "cores": os.cpu_count(),
        "load_average": [round(busy, 1), round(os.getloadavg()[0], 1)],
        "versions": {"chromium": re.search(r"[\d.]+", chromium)[0], **packages},  # type: ignore[index]
        "threads": 1,
        "visits": VISITS,
        "texts": {folder.name: len(texts) for folder, texts in exports},
        "models": models,
    }
    Path(sys.argv[1]).write_text(json.dumps(document, indent=2) + "\n")


if __name__ == "__main__":
    main()
