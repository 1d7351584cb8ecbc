"""config.json and labels.txt of a projection model (PRADO)."""

import json
import random
from pathlib import Path

from tests.attack import materials
from tests.attack.case import Case
from tests.attack.kinds.tokenizer_files import mutated
from tests.attack.outcome import Kind, Outcome
from tests.attack.readers import export
from tests.attack.values import damage, document_bytes


def config(rng: random.Random, folder: Path) -> Outcome:
    """A field of the config, of the projection in it, or of the document around it."""
    case = Case.of("PRADO: config.json", folder)
    path = materials.copy("prado", case.inputs) / "config.json"
    document = json.loads(path.read_bytes())
    place = rng.choice(("config", "projection", "document"))
    if place == "document":
        document = mutated(rng, document)
    elif place == "config":
        document["config"] = mutated(rng, document["config"])
    else:
        document["config"]["projection"] = mutated(rng, document["config"]["projection"])
    content, what = document_bytes(document), place
    if rng.random() < 0.1:
        what, content = damage(rng, content)
    path.write_bytes(content)
    return case.run(what, export(rng, case, "prado"))


def labels(rng: random.Random, folder: Path) -> Outcome:
    """labels.txt: too many, twice, none, bytes."""
    case = Case.of("PRADO: labels.txt", folder)
    path = materials.copy("prado", case.inputs) / "labels.txt"
    choices = {
        "twice": b"no\nno\nyes\n",
        "too many": b"".join(b"l%d\n" % n for n in range(rng.choice((4, 100_000)))),
        "empty lines": b"no\n\nyes\n\n\n",
        "not UTF-8": b"no\n\xff\nyes\n",
        "controls": b"n\x00o\ny\x1b[31mes\nperhaps\n",
        "long": b"no\n" + b"x" * 2_000_000 + b"\nyes\n",
        "one line": b"no yes perhaps",
    }
    what = rng.choice([*choices, "damaged"])
    if what == "damaged":
        what, content = damage(rng, path.read_bytes())
    else:
        content = choices[what]
    path.write_bytes(content)
    return case.run(what, export(rng, case, "prado"))


KINDS: dict[str, Kind] = {"prado config": config, "prado labels": labels}
SHARES = {"prado config": 2, "prado labels": 0.7}
