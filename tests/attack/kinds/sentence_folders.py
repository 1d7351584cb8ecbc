"""Folders of sentence-transformers: modules.json, its paths, and the settings of pooling and length."""

import json
import random
from collections.abc import Callable
from pathlib import Path

from tests.attack import materials
from tests.attack.case import Case
from tests.attack.outcome import Kind, Outcome
from tests.attack.values import document_bytes, wrong_value

FOLDERS = ("sentences", "sentences_apart")
_PATHS = (
    "/etc", "..", "../sentences", "1_Pooling/../..", "~", "a" * 5000, "\0", "C:\\x", "..\\x", "\ud800", "file:///etc",
    "1_Pooling/config.json", "./1_Pooling", "1_Pooling/", "/proc/self", "{0}",
)  # fmt: skip
_TYPES = ("Dense", "Normalize", "Transformer", "Pooling", "CNN", "os.system", "", "..", "\u202e", "a" * 100_000)
_SETTINGS = ("max_seq_length", "do_lower_case", "x")


def _export(rng: random.Random, case: Case, folder: str, what: str) -> Outcome:
    """Refused without TensorFlow, or a whole export."""
    rows = str(materials.place() / "pairs.tsv")
    target = rng.choice(("tflite", "onnx"))
    flags = ["--quantize", "float32", "--target", target, "--eval-data", rows, "--output", str(case.output)]
    return case.run(f"{folder}: {what}", ["--checkpoint", str(case.inputs / folder), *flags])


def modules(rng: random.Random, folder: Path) -> Outcome:
    """A field of a module, or the list, is something else."""
    case, name = Case.of("modules.json", folder), rng.choice(FOLDERS)
    path = materials.copy(name, case.inputs) / "modules.json"
    listed = json.loads(path.read_bytes())
    one = rng.choice(listed)
    changes: dict[str, Callable[[], object]] = {
        "a path": lambda: one.update(path=rng.choice(_PATHS)),
        "a type": lambda: one.update(type=rng.choice(("sentence_transformers.models.", "")) + rng.choice(_TYPES)),
        "a wrong path": lambda: one.update(path=wrong_value(rng, one["path"])),
        "a wrong type": lambda: one.update(type=wrong_value(rng, one["type"])),
        "one missing": lambda: listed.remove(one),
        "one twice": lambda: listed.append(one),
        "a thousand": lambda: listed.extend([one] * 1000),
        "the other way round": listed.reverse,
        "without a field": lambda: one.pop(rng.choice(("path", "type"))),
    }
    what = rng.choice(list(changes))
    changes[what]()
    document = listed if rng.random() < 0.9 else wrong_value(rng, listed)
    path.write_bytes(document_bytes(document))
    return _export(rng, case, name, what)


def settings(rng: random.Random, folder: Path) -> Outcome:
    """1_Pooling/config.json or sentence_bert_config.json holds something else, or is cut, or a link."""
    case, name = Case.of("pooling and settings", folder), rng.choice(FOLDERS)
    home = materials.copy(name, case.inputs)
    path = rng.choice((home / "1_Pooling" / "config.json", home / "sentence_bert_config.json"))
    document = json.loads(path.read_bytes()) if path.is_file() else {}
    if rng.random() < 0.2:
        path.unlink(missing_ok=True)
        path.symlink_to(rng.choice(("/etc/passwd", "/dev/zero", str(path), "../config.json", "nowhere")))
        return _export(rng, case, name, "a link")
    key = rng.choice([*document, *_SETTINGS, "pooling_mode", "pooling_mode_cls_token", "include_prompt"])
    document[key] = wrong_value(rng, document.get(key))
    content = document_bytes(document)
    path.write_bytes(content[: rng.randrange(len(content))] if rng.random() < 0.1 else content)
    return _export(rng, case, name, key)


KINDS: dict[str, Kind] = {"sentence modules": modules, "sentence settings": settings}
SHARES = {"sentence modules": 0.5, "sentence settings": 0.5}
