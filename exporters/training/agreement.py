"""Workers that were started differently are found before the first of them trains.

Each compares its flags and the content of its files with the chief's. Leaves out where files lie and where the output
goes, which may differ.
"""

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exporters.training.request import TrainRequest, flag_of
from models_tf.compress.settings import Compression
from models_tf.errors import InputError
from models_tf.folders.manifest import entry_of
from models_tf.tokenizers.files import TOKENIZER_FILES

if TYPE_CHECKING:
    from models_tf.training.workers import Workers

# What each worker may have for itself.
_OWN = ("output", "force", "tensorboard")
# Endings of what is read of a checkpoint, besides its tokenizer.
_READ = (".json", ".safetensors", ".bin")


def agree(workers: "Workers", request: TrainRequest) -> None:
    """Raises an InputError in every worker if one of them is to train something else; all must call it."""
    own = json.loads(json.dumps(dict(_described(request))))  # as the chief's comes
    chief = workers.from_chief(own)
    different = [flag for flag, value in own.items() if value != chief.get(flag)]
    others = workers.count(bool(different))
    if not others:
        return
    received = f"{others} with others; see what is said there."
    if different:
        flag = different[0]
        here, there = own[flag], chief.get(flag)
        received = f"{flag} with other files than at the chief."
        if not isinstance(here, dict) or not isinstance(there, dict):
            received = f"{flag} {_shown(here)} here and {_shown(there)} at the chief."
    raise InputError(f"All workers must be started with the same flags and files. Received: {received}")


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return "given"
    if value is None or isinstance(value, bool):
        return "given" if value else "not given"
    return value if isinstance(value, str) else json.dumps(value)


def _described(request: TrainRequest) -> Iterator[tuple[str, Any]]:
    """The value of each flag. A file stands for its content, whatever its name, and a folder for its files."""
    for field in dataclasses.fields(request):
        if field.name in _OWN:
            continue
        value = getattr(request, field.name)
        several = value if isinstance(value, tuple) else (value,)
        if any(isinstance(one, Path) for one in several):
            value = {str(number): _content(path) for number, path in enumerate(several)}
        elif isinstance(value, Compression):
            value = dataclasses.asdict(value)
        yield flag_of(field.name), value


def _content(path: Path) -> list[str]:
    if path.is_dir():
        read = [one for one in sorted(path.iterdir()) if one.name in TOKENIZER_FILES or one.suffix in _READ]
        return [f"{one.name} {entry_of(one).sha256}" for one in read if one.is_file()]
    return [entry_of(path).sha256 if path.is_file() else str(path)]  # a hub's id is no file
