"""config.json of token models: every field takes every kind of wrong value, and the document itself is damaged."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from models_tf import registry
from tests.attack import materials
from tests.attack.case import Case
from tests.attack.outcome import Kind, Outcome
from tests.attack.readers import read_checkpoint
from tests.attack.values import document_bytes, wrong_value

MODELS = (*registry.names(registry.TOKENS), "squad")
_EXTRA = (
    "id2label", "label2id", "num_labels", "problem_type", "architectures", "hidden_act", "layer_norm_eps",
    "type_vocab_size", "pad_token_id", "classifier_dropout", "torch_dtype", "export_mobile_kept_heads",
    "export_mobile_kept_ffn", "retention", "embedding_size", "num_hidden_groups", "max_position_embeddings",
    "relative_attention_num_buckets",
)  # fmt: skip


def field(rng: random.Random, folder: Path) -> Outcome:
    """One to three fields hold something else."""
    case = Case.of("config.json: fields", folder)
    model = rng.choice(MODELS)
    path = materials.copy(model, case.inputs) / "config.json"
    document, done = json.loads(path.read_bytes()), []
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        name = rng.choice([*document, *_EXTRA])
        if rng.random() < 0.1:
            document.pop(name, None)
            done.append(f"no {name}")
        else:
            document[name] = wrong_value(rng, document.get(name))
            done.append(f"{name}={json.dumps(document[name])[:40]}")
    path.write_bytes(document_bytes(document))
    return read_checkpoint(rng, case, model, f"{model}: {', '.join(done)}")


def labels(rng: random.Random, folder: Path) -> Outcome:
    """id2label and label2id: too many, too few, twice, strange names."""
    case = Case.of("config.json: labels", folder)
    model = rng.choice(("bert", "tagger"))
    path = materials.copy(model, case.inputs) / "config.json"
    document = json.loads(path.read_bytes())
    makers: dict[str, Callable[[], Any]] = {
        "100,000 labels": lambda: {str(number): f"l{number}" for number in range(100_000)},
        "all the same": lambda: dict.fromkeys(document["id2label"], "same"),
        "a gap": lambda: {"0": "a", "7": "b", "2": "c"},
        "negative ids": lambda: {"-1": "a", "0": "b", "1": "c"},
        "ids of words": lambda: {"x": "a", "y": "b", "z": "c"},
        "a long name": lambda: {"0": "a" * rng.choice((1000, 1_000_000)), "1": "b", "2": "c"},
        "an empty name": lambda: {"0": "", "1": "b", "2": "c"},
        "a list": lambda: ["a", "b", "c"],
        "numbers": lambda: {"0": 1, "1": 2, "2": 3},
        "nested": lambda: {"0": {"a": []}, "1": "b", "2": "c"},
        "surrogates": lambda: {"0": "\ud800", "1": "b", "2": "c"},
        "NUL": lambda: {"0": "a\0b", "1": "b\n", "2": "c\t"},
        "huge id": lambda: {str(10 ** rng.choice((9, 30, 4000))): "a", "1": "b", "2": "c"},
    }
    what = rng.choice(list(makers))
    document[rng.choice(("id2label", "id2label", "label2id"))] = makers[what]()
    path.write_bytes(document_bytes(document))
    return read_checkpoint(rng, case, model, f"{model}: {what}", cheap=False)


def document(rng: random.Random, folder: Path) -> Outcome:
    """The JSON itself: cut, nested, not an object, not UTF-8, twice the same key."""
    case = Case.of("config.json: document", folder)
    model = rng.choice(MODELS)
    path = materials.copy(model, case.inputs) / "config.json"
    content = path.read_bytes()
    depth = rng.choice((100, 1000, 100_000, 1_000_000))
    makers: dict[str, Callable[[], bytes]] = {
        "cut": lambda: content[: rng.randrange(len(content))],
        "one byte": lambda: _flip(rng, content),
        "nested lists": lambda: b"[" * depth + b"]" * depth,
        "nested in a field": lambda: content.rstrip()[:-1] + b', "x": ' + b"[" * depth + b"]" * depth + b"}",
        "nested objects": lambda: b'{"a":' * depth + b"1" + b"}" * depth,
        "twice the same key": lambda: content.rstrip()[:-1] + b', "hidden_size": -5}',
        "not an object": lambda: rng.choice((b"[]", b"null", b"3", b'"bert"', b"true", b"", b"\xef\xbb\xbf{}")),
        "utf-16": lambda: content.decode().encode("utf-16"),
        "latin-1": lambda: content.rstrip()[:-1] + b', "x": "\xe9"}',
        "digits": lambda: content.rstrip()[:-1] + b', "vocab_size": ' + b"9" * 10_000 + b"}",
        "NUL bytes": lambda: bytes(rng.choice((10, 1_000_000))),
        "20 MB of blanks": lambda: content + b" " * (20 << 20),
        "twice": lambda: content * 2,
    }
    what = rng.choice(list(makers))
    path.write_bytes(makers[what]())
    return read_checkpoint(rng, case, model, f"{model}: {what}")


def _flip(rng: random.Random, content: bytes) -> bytes:
    place = rng.randrange(len(content))
    return content[:place] + bytes([rng.randrange(256)]) + content[place + 1 :]


KINDS: dict[str, Kind] = {"config fields": field, "config labels": labels, "config document": document}
SHARES = {"config fields": 3}
