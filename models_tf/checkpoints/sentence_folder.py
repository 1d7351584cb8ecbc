"""Folders of sentence-transformers: modules.json says where the encoder is, how its vectors are pooled, and whether the
result is scaled to length 1.

Reads what is small; the encoder in it is a checkpoint like any other. No path of modules.json leads out of the folder.
Leaves out dense layers behind the pooling, and pooling by several ways at once.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from models_tf.checkpoints.json_text import read_json_file
from models_tf.encoder.heads import CLS, EMBEDDING, MAX, MEAN, POOLINGS, Head
from models_tf.errors import InputError
from models_tf.folders.links import path_inside
from models_tf.folders.real_path import real_path

MODULES_FILE, CONFIG_FILE, SENTENCE_FILE = "modules.json", "config.json", "sentence_bert_config.json"
TRANSFORMER, POOLING, NORMALIZE = "Transformer", "Pooling", "Normalize"
_LIBRARY = "sentence_transformers."
_ORDERS = ((TRANSFORMER, POOLING), (TRANSFORMER, POOLING, NORMALIZE))
# Keys of older versions of the library, one of which is true.
_MODES = {
    "pooling_mode_cls_token": CLS,
    "pooling_mode_max_tokens": MAX,
    "pooling_mode_mean_tokens": MEAN,
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}
_LONGEST = 80


@dataclass(frozen=True, kw_only=True)
class SentenceFolder:
    """`encoder` is the folder of the checkpoint. `max_seq_len` is None and `lower_case` false where nothing is said.

    `files` are those that were read.
    """

    encoder: Path
    head: Head
    max_seq_len: int | None
    lower_case: bool
    width: int | None  # of the vectors, if the folder says so
    files: tuple[Path, ...]


def is_sentence_folder(folder: Path) -> bool:
    return (folder / MODULES_FILE).is_file()


def encoder_folder(folder: Path) -> Path:
    """Where the encoder's config.json is: the folder itself, or what modules.json names."""
    if (folder / CONFIG_FILE).is_file() or not is_sentence_folder(folder):
        return folder
    return _module_folder(folder, _modules(folder)[0], CONFIG_FILE)


def read_sentence_folder(folder: Path) -> SentenceFolder:
    """InputError if the folder holds something else than an encoder, a pooling and perhaps a normalization."""
    modules = _modules(folder)
    encoder = _module_folder(folder, modules[0], CONFIG_FILE)
    place = _module_folder(folder, modules[1], CONFIG_FILE) / CONFIG_FILE
    pooling = _object(folder, place)
    settings = encoder / SENTENCE_FILE
    given = _object(folder, settings) if settings.is_file() else {}
    return SentenceFolder(
        encoder=encoder,
        head=Head(kind=EMBEDDING, pooling=_pooling(pooling, place), normalize=len(modules) == len(_ORDERS[1])),
        max_seq_len=_size(given, "max_seq_length", settings),
        lower_case=_flag(given, "do_lower_case", settings),
        width=_size(pooling, "embedding_dimension", place) or _size(pooling, "word_embedding_dimension", place),
        files=(folder / MODULES_FILE, place, *((settings,) if settings.is_file() else ())),
    )


def _modules(folder: Path) -> list[Mapping[str, Any]]:
    """The modules in their order, which must be one that can be exported."""
    path = path_inside(folder, MODULES_FILE)
    document = read_json_file(path)
    if (
        not isinstance(document, list)
        or not document
        or not all(
            isinstance(one, dict) and isinstance(one.get("type"), str) and isinstance(one.get("path"), str)
            for one in document
        )
    ):
        raise InputError(
            f'{path} must be a list of modules with "type" and "path", as sentence-transformers writes it. '
            "Received: something else."
        )
    kinds = [_kind(one["type"]) for one in document]
    if tuple(kinds) not in _ORDERS:
        unknown = [kind for kind in kinds if kind not in _ORDERS[1]]
        received = ", ".join(_shown(kind) for kind in (unknown or kinds)[:5])
        raise InputError(
            f"{path} must name the modules {TRANSFORMER} and {POOLING}, and perhaps {NORMALIZE}, in this order. "
            f"Received: {received}. Export the encoder alone with --task base, and compute the rest in the app."
        )
    return document


def _kind(name: str) -> str:
    """The class of a module; one of another library keeps its whole name."""
    return name.rpartition(".")[2] if name.startswith(_LIBRARY) else name


def _module_folder(folder: Path, module: Mapping[str, Any], file: str) -> Path:
    """The folder of a module with `file` in it, inside of `folder`."""
    name = module["path"]
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\\" in name or "\0" in name or ":" in name:
        raise InputError(
            f"{folder / MODULES_FILE} must name folders of its own folder. Received: {_shown(name)} as the path of "
            f"{_shown(_kind(module['type']))}."
        )
    found = folder / path
    if not _is_there(found / file):
        raise InputError(
            f"{folder / MODULES_FILE} names {_shown(name) or 'the folder itself'} for {_kind(module['type'])}. "
            f"Received: no {file} there; the folder is not complete."
        )
    if not real_path(found).is_relative_to(real_path(folder)):
        raise InputError(
            f"{found} must be a folder of its own. Received: a link to {real_path(found)}. "
            "Put a copy in place of the link."
        )
    return found


def _is_there(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a name that is too long
        return False


def _pooling(document: Mapping[str, Any], path: Path) -> str:
    mode = document.get("pooling_mode")
    modes = [mode] if isinstance(mode, str) else mode
    if modes is None:
        modes = [name for key, name in _MODES.items() if _flag(document, key, path)] or [MEAN]
    if not isinstance(modes, list) or len(modes) != 1 or modes[0] not in POOLINGS:
        received = " and ".join(map(_shown, modes[:5])) if isinstance(modes, list) else _shown(modes)
        raise InputError(f"{path} must pool in one way: {', '.join(POOLINGS)}. Received: {received or 'none'}.")
    if not _flag(document, "include_prompt", path, default=True):
        raise InputError(f"{path} must pool all tokens. Received: include_prompt false, which leaves a prompt out.")
    return str(modes[0])


def _object(folder: Path, path: Path) -> Mapping[str, Any]:
    document = read_json_file(path_inside(folder, str(path.relative_to(folder))))
    if not isinstance(document, dict):
        raise InputError(f"{path} must hold a JSON object. Received: {type(document).__name__}.")
    return document


def _size(document: Mapping[str, Any], key: str, path: Path) -> int | None:
    value = document.get(key)
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
        raise InputError(f"{path}: `{key}` must be a whole number above 0. Received: {_shown(value)}.")
    return value


def _flag(document: Mapping[str, Any], key: str, path: Path, *, default: bool = False) -> bool:
    value = document.get(key, default)
    if not isinstance(value, bool):
        raise InputError(f"{path}: `{key}` must be true or false. Received: {_shown(value)}.")
    return value


def _shown(value: object) -> str:
    text = value if isinstance(value, str) else repr(value)
    return "".join(letter if letter.isprintable() else "?" for letter in text[:_LONGEST])
