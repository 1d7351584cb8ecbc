"""Files beside the models: examples, report, manifest, model.json, labels, projection, tokenizer, baseline."""

import json
import random
from pathlib import Path

from tests.attack import materials
from tests.attack.case import Case
from tests.attack.kinds.tokenizer_files import mutated
from tests.attack.outcome import Kind, Outcome
from tests.attack.readers import read_model_file
from tests.attack.values import damage, document_bytes

FILES = (
    "examples.json",
    "report.json",
    "manifest.json",
    "model.json",
    "projection.json",
    "labels.txt",
    "tokenizer.json",
)
FILES += ("vocab.txt", "README.md", "report.json", "examples.json")


def beside(rng: random.Random, folder: Path) -> Outcome:
    """One of them is changed, or gone, and a command reads the folder."""
    case = Case.of("files beside the models", folder)
    export = materials.copy(rng.choice(("export-bert", "export-prado", "export-tagger")), case.inputs, "export")
    models = sorted(path for path in export.iterdir() if path.suffix in (".tflite", ".onnx"))
    for path in models[1:]:
        if rng.random() < 0.7:
            path.unlink()
    name = rng.choice([name for name in FILES if (export / name).exists()])
    what = _changed(rng, export / name)
    readers = {"report.json": "compare", "examples.json": "ledger", "manifest.json": "verify"}
    if name in readers and rng.random() < 0.5:
        arguments = {
            "compare": [
                "compare",
                str(export),
                str(materials.place() / "export-prado"),
                "--format",
                rng.choice(("table", "markdown", "html", "json")),
            ],
            "ledger": ["check", str(export), "--arch", "arm64"],
            "verify": ["verify", str(export)] + (["--rebuild"] if rng.random() < 0.1 else []),
        }[readers[name]]
        return case.run(f"{arguments[0]}: {name} {what}", arguments)
    return read_model_file(rng, case, models[0], f"{name} {what}")


def baseline(rng: random.Random, folder: Path) -> Outcome:
    """The baseline of `check`."""
    case = Case.of("baseline of check", folder)
    path = case.inputs / "baseline.json"
    path.write_bytes((materials.place() / "baseline.json").read_bytes())
    what = _changed(rng, path)
    arguments = ["check", str(materials.place() / "export-bert" / "model_int8.onnx"), "--baseline", str(path)]
    arguments += ["--data", str(materials.place() / "rows.tsv")]
    if rng.random() < 0.3:
        arguments += ["--update-baseline"]
    return case.run(what, arguments, may_write=["baseline.json"])


def _changed(rng: random.Random, path: Path) -> str:
    """What was done to the file."""
    content = path.read_bytes()
    if path.suffix == ".json" and rng.random() < 0.75:
        document = json.loads(content)
        for _ in range(rng.choice((1, 1, 2, 3))):
            document = mutated(rng, document)
        path.write_bytes(document_bytes(document))
        return "fields"
    if rng.random() < 0.1:
        path.unlink()
        return "gone"
    what, changed = damage(rng, content)
    path.write_bytes(changed)
    return what


KINDS: dict[str, Kind] = {"beside models": beside, "beside baseline": baseline}
SHARES = {"beside models": 5, "beside baseline": 0.7}
