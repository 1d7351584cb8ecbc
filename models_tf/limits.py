"""Limits with names: how much of somebody else's input is read, held or computed before it is refused.

`LIMITS` is the whole table, and docs/limits.md shows it. A value comes from the environment
(`EXPORT_MOBILE_LIMIT_LINE_BYTES`) or is the default. `override` sets that environment for a while, so that processes
which a command starts have the same limits; the flag `--limit line_bytes=N` is an override around the command.
"""

import contextlib
import difflib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from models_tf.errors import InputError

PREFIX = "EXPORT_MOBILE_LIMIT_"
BYTES = "bytes"
_MOST = 2**62
_UNITS = {"KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30}


@dataclass(frozen=True, kw_only=True)
class Limit:
    """`protects`: what is counted. `reason`: what real inputs need, and what the default keeps away."""

    name: str
    default: int
    unit: str
    protects: str
    reason: str


def _table(*limits: Limit) -> dict[str, Limit]:
    return {limit.name: limit for limit in limits}


LIMITS = _table(
    Limit(
        name="line_bytes",
        default=16 << 20,
        unit=BYTES,
        protects="one line, CSV record, TFRecord or CoNLL sentence of a data file",
        reason="a long novel has 3 MB",
    ),
    Limit(
        name="rows",
        default=100_000,
        unit="rows",
        protects="rows that are held to evaluate on; of a larger file a sample is taken",
        reason="accuracy is then known to 0.3 points",
    ),
    Limit(
        name="held_bytes",
        default=2 << 30,
        unit=BYTES,
        protects="texts, token ids and answers of the rows that are held; the sample is made smaller",
        reason="100,000 rows of 384 tokens need 0.8 GB",
    ),
    Limit(
        name="expansion",
        default=200,
        unit="bytes per byte",
        protects="decompressed bytes per compressed byte, counted from 64 MB of decompressed bytes on",
        reason="text shrinks 3 to 10 times, logs up to 100 times, zeros 1,030 times",
    ),
    Limit(
        name="document_bytes",
        default=128 << 20,
        unit=BYTES,
        protects="one document that is read at once: config.json, tokenizer.json, a vocabulary, labels, SQuAD's JSON",
        reason="the largest tokenizers have 35 MB, SQuAD 42 MB; parsed, a document takes up to 25 times its size",
    ),
    Limit(
        name="nesting",
        default=100,
        unit="levels",
        protects="lists and objects inside of each other in a JSON document",
        reason="tokenizer.json has 8",
    ),
    Limit(
        name="labels",
        default=65_536,
        unit="labels",
        protects="labels of a model or a data file",
        reason="the largest code books of real classifiers (ICD-10, ImageNet-21k) have 20,000 to 70,000",
    ),
    Limit(
        name="vocabulary",
        default=1 << 21,
        unit="words",
        protects="words of a vocabulary or tokenizer",
        reason="most have 30,000, multilingual ones 250,000, the largest (XLM-V) 901,629",
    ),
    Limit(
        name="tokens",
        default=4096,
        unit="tokens",
        protects="length of a model's input",
        reason="shapes in files are static, so memory and time grow with it; BERT has 512",
    ),
    Limit(
        name="passage_tokens",
        default=65_536,
        unit="tokens",
        protects="length of a passage that questions are asked about; it is read in windows",
        reason="the longest of SQuAD has 853",
    ),
    Limit(
        name="feature_bytes",
        default=64 << 20,
        unit=BYTES,
        protects="features that the projection computes for one text: size times tokens",
        reason="the bundled models need 0.1 MB",
    ),
    Limit(
        name="tensor_ratio",
        default=4,
        unit="bytes per byte",
        protects="size of one tensor of a PyTorch file per byte of the file; safetensors must have all bytes",
        reason="a whole tensor has at most 1; one stored value can stand for a tensor of any size",
    ),
    Limit(
        name="model_bytes",
        default=2 << 30,
        unit=BYTES,
        protects="a .tflite or .onnx file that is read",
        reason="neither format can have more in one file",
    ),
    Limit(
        name="parameters",
        default=1 << 30,
        unit="weights",
        protects="weights that the config of a token model asks for",
        reason="BERT-large has 335 million",
    ),
    Limit(
        name="worker_seconds",
        default=60,
        unit="seconds",
        protects="time that a worker of a training waits until the others have started; beyond it the exit code is 8",
        reason="a worker needs 10 to start; on a cluster that starts them one after the other, set it higher",
    ),
)


def value(name: str) -> int:
    """The limit that holds now."""
    given = os.environ.get(variable(name))
    return LIMITS[name].default if given is None else _number(name, given, variable(name))


def variable(name: str) -> str:
    """The environment variable of a limit."""
    return PREFIX + name.upper()


@contextlib.contextmanager
def override(**values: int) -> Iterator[None]:
    """Inside, these limits hold, also in processes that are started there."""
    wanted = {variable(name): str(_number(_known(name), str(number), name)) for name, number in values.items()}
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, old in before.items():
            if old is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = old


def parse(settings: Sequence[str]) -> dict[str, int]:
    """Limits by name from texts as NAME=VALUE: those of the flag."""
    found = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals:
            raise InputError(f"--limit must be NAME=VALUE, such as rows=1000. Received: {setting[:80]!r}.")
        found[name] = _number(_known(name), text, f"--limit {name}")
    return found


def check_environment() -> None:
    """InputError for a variable that names no limit or holds no number: a typo must not go unnoticed.

    Sizes are written as plain numbers there: the C++ core reads the variable too.
    """
    for name in sorted(os.environ):
        if name.startswith(PREFIX):
            os.environ[name] = str(value(_known(name.removeprefix(PREFIX).lower())))


def exceeded(name: str, expected: str, received: str) -> InputError:
    """The error for what is beyond a limit: `expected` is a clause without a stop, `received` too."""
    return InputError(
        f"{expected} at most {_shown(name)} (the limit {name}). Received: {received}. "
        f"If that is meant: --limit {name}=N, or {variable(name)}=N in the environment."
    )


def check(name: str, number: int, what: str) -> None:
    """InputError if `what` has more than the limit."""
    if number > value(name):
        raise exceeded(name, f"{what} must have", f"{number:,}")


def _shown(name: str) -> str:
    return f"{value(name):,} {LIMITS[name].unit}"


def _known(name: str) -> str:
    if name not in LIMITS:
        near = difflib.get_close_matches(name, LIMITS, 1)
        hint = f" Did you mean {near[0]}?" if near else ""
        raise InputError(f"Limits are {', '.join(LIMITS)}. Received: {name[:80]!r}.{hint}")
    return name


def _number(name: str, text: str, where: str) -> int:
    """A whole number; of bytes also with KB, MB or GB."""
    digits, scale = text.strip(), 1
    if LIMITS[name].unit == BYTES and digits[-2:].upper() in _UNITS:
        scale = _UNITS[digits[-2:].upper()]
        digits = digits[:-2].strip()
    if digits.isascii() and digits.isdecimal() and len(digits) < 20 and 1 <= int(digits) * scale <= _MOST:
        return int(digits) * scale
    units = ", or a size such as 64MB" if LIMITS[name].unit == BYTES else ""
    raise InputError(f"{where} must be a whole number from 1{units}. Received: {text[:80]!r}.")
