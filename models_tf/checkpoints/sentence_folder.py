"""Folders of sentence-transformers: modules.json says where the encoder is, how its vectors are pooled, and whether the
result is scaled to length 1.

Reads what is small; the encoder in it is a checkpoint like any other. No path of modules.json leads out of the folder.
Where modules.json names an encoder alone, as that of a CrossEncoder does, the folder is a plain checkpoint.
Leaves out dense layers behind the pooling, and pooling by several ways at once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from models_tf.checkpoints.json_text import read_json_file
from models_tf.encoder.heads import CLS, EMBEDDING, MAX, MEAN, POOLINGS, Head
from models_tf.errors import InputError
from models_tf.folders.links import path_inside
from models_tf.folders.real_path import real_path
from models_tf.tokenizers.files import SETTINGS

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

    `tokenizer_max_len` is what the tokenizer's settings say, which may be any number. `files` are those that were read.
    """

    encoder: Path
    head: Head
    max_seq_len: int | None
    tokenizer_max_len: int | None
    lower_case: bool
    width: int | None  # of the vectors, if the folder says so
    files: tuple[Path, ...]

    def length(self, positions: int) -> int | None:
        """How many tokens a text has at most, None where nothing is said.

        Version 6 of the library says it in the tokenizer's settings alone. A number beyond the model's positions, such
        as the 1e30 of `transformers`, means no limit.
        """
        if self.max_seq_len is None and self.tokenizer_max_len is not None and self.tokenizer_max_len <= positions:
            return self.tokenizer_max_len
        return self.max_seq_len


def has_modules(folder: Path) -> bool:
    return (folder / MODULES_FILE).is_file()


def is_sentence_folder(folder: Path) -> bool:
    """Whether more than an encoder is in it, or something that only `read_sentence_folder` can name."""
    try:
        return has_modules(folder) and _kinds(_listed(folder)) != [TRANSFORMER]
    except (OSError, InputError):
        return True


def encoder_folder(folder: Path) -> Path:
    """Where the encoder's config.json is: the folder itself, or what modules.json names. The other modules may be any:
    they are left out.
    """
    if (folder / CONFIG_FILE).is_file() or not has_modules(folder):
        return folder
    modules = _listed(folder)
    kinds = _kinds(modules)
    if TRANSFORMER not in kinds:
        raise InputError(
            f"{folder / MODULES_FILE} must name a module {TRANSFORMER}. Received: {_some(kinds)}. "
            "Give the folder of the encoder, with its config.json."
        )
    return _module_folder(folder, modules[kinds.index(TRANSFORMER)], CONFIG_FILE)


def read_sentence_folder(folder: Path) -> SentenceFolder:
    """InputError if the folder holds something else than an encoder, a pooling and perhaps a normalization."""
    modules = _modules(folder)
    encoder = _module_folder(folder, modules[0], CONFIG_FILE)
    place = _module_folder(folder, modules[1], CONFIG_FILE) / CONFIG_FILE
    pooling = _object(folder, place)
    settings, tokenizer = encoder / SENTENCE_FILE, encoder / SETTINGS
    given = _object(folder, settings) if settings.is_file() else {}
    tokens = _object(folder, tokenizer) if tokenizer.is_file() else {}
    return SentenceFolder(
        encoder=encoder,
        head=Head(kind=EMBEDDING, pooling=_pooling(pooling, place), normalize=len(modules) == len(_ORDERS[1])),
        max_seq_len=_size(given, "max_seq_length", settings),
        tokenizer_max_len=_limit(tokens),
        lower_case=_flag(given, "do_lower_case", settings),
        width=_size(pooling, "embedding_dimension", place) or _size(pooling, "word_embedding_dimension", place),
        files=(folder / MODULES_FILE, place, *(file for file in (settings, tokenizer) if file.is_file())),
    )


def _listed(folder: Path) -> list[Mapping[str, Any]]:
    """The modules of modules.json in their order."""
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
    return document


def _modules(folder: Path) -> list[Mapping[str, Any]]:
    """The modules, whose order must be one that can be exported."""
    modules = _listed(folder)
    kinds = _kinds(modules)
    if tuple(kinds) not in _ORDERS:
        unknown = [kind for kind in kinds if kind not in _ORDERS[1]]
        raise InputError(
            f"{folder / MODULES_FILE} must name the modules {TRANSFORMER} and {POOLING}, and perhaps {NORMALIZE}, in "
            f"this order. Received: {_some(unknown or kinds)}. Export the encoder alone with --task base, and compute "
            "the rest in the app."
        )
    return modules


def _kinds(modules: Sequence[Mapping[str, Any]]) -> list[str]:
    return [_kind(module["type"]) for module in modules]


def _some(kinds: Sequence[str]) -> str:
    return ", ".join(_shown(kind) for kind in kinds[:5])


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


def _limit(settings: Mapping[str, Any]) -> int | None:
    """`model_max_length` where it is a number of tokens. The tokenizer does not depend on it, so nothing is refused."""
    value = settings.get("model_max_length")
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _flag(document: Mapping[str, Any], key: str, path: Path, *, default: bool = False) -> bool:
    value = document.get(key, default)
    if not isinstance(value, bool):
        raise InputError(f"{path}: `{key}` must be true or false. Received: {_shown(value)}.")
    return value


def _shown(value: object) -> str:
    text = value if isinstance(value, str) else repr(value)
    return "".join(letter if letter.isprintable() else "?" for letter in text[:_LONGEST])
