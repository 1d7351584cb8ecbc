"""Workers that were started differently are found before the first of them trains.

Each compares its flags, its limits and the content of its files with the chief's. Leaves out where files lie and where
the output goes, which may differ.
"""

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exporters.training.meeting import LIMIT
from exporters.training.request import TrainRequest, flag_of
from models_tf import limits
from models_tf.checkpoints.folder import RECORD_FILE, TRAINING_FILE
from models_tf.checkpoints.projection import LABELS_FILE
from models_tf.compress.settings import Compression
from models_tf.errors import InputError
from models_tf.folders import manifest
from models_tf.tokenizers.files import TOKENIZER_FILES

if TYPE_CHECKING:
    from models_tf.training.workers import Workers

# What each worker may have for itself.
_OWN = ("output", "force", "tensorboard")
# Endings of what is read of a checkpoint, besides its tokenizer and labels; the record of its own training is not.
_READ = (".json", ".safetensors", ".bin")
_NOT_READ = (TRAINING_FILE, RECORD_FILE, manifest.FILE)
_CONTENT = "content"


def agree(workers: "Workers", request: TrainRequest) -> None:
    """Raises an InputError in every worker if one of them is to train something else; all must call it."""
    own = json.loads(json.dumps(list(_described(request))))  # as the chief's comes
    chief = workers.from_chief(own)
    different = next(
        ((flag, here, there) for (flag, here), (_, there) in zip(own, chief, strict=True) if here != there), None
    )
    differing = workers.count(different is not None)
    if not differing:
        return
    received = f"{differing} with different ones; see what is said there."
    if different:
        flag, here, there = different
        received = f"{flag} {_shown(here)} here and {_shown(there)} at the chief."
        if _is_content(here) and _is_content(there):
            received = f"{flag} with other files than at the chief."
    raise InputError(f"All workers must be started with the same flags and files. Received: {received}")


def _shown(value: Any) -> str:
    if value is None or isinstance(value, bool) or _is_content(value):
        return "given" if value else "not given"
    return value if isinstance(value, str) else json.dumps(value)


def _is_content(value: Any) -> bool:
    return isinstance(value, dict) and _CONTENT in value


def _described(request: TrainRequest) -> Iterator[tuple[str, Any]]:
    """The value of each flag, in the same order everywhere. A file stands for its content, whatever its name, and a
    folder for its files.
    """
    for field in dataclasses.fields(request):
        value = getattr(request, field.name)
        if field.name == "compression":
            for name, setting in dataclasses.asdict(value or Compression()).items():
                yield flag_of(name), setting
        elif field.name not in _OWN:
            paths = [one for one in (value if isinstance(value, tuple) else (value,)) if isinstance(one, Path)]
            yield flag_of(field.name), {_CONTENT: [_content(path) for path in paths]} if paths else value
    for name in limits.LIMITS:
        if name != LIMIT:  # how long each waits is its own
            yield f"--limit {name}", limits.value(name)


def _content(path: Path) -> list[str]:
    if path.is_dir():
        read = [one for one in sorted(path.iterdir()) if one.is_file() and _is_read(one)]
        return [f"{one.name} {manifest.entry_of(one).sha256}" for one in read]
    return [manifest.entry_of(path).sha256 if path.is_file() else str(path)]  # a hub's id is no file


def _is_read(path: Path) -> bool:
    if path.name in _NOT_READ:
        return False
    return path.suffix in _READ or path.name in (*TOKENIZER_FILES, LABELS_FILE)
