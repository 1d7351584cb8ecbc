"""`ProjectionConfig`: every setting of the projection op, and its one-line text form.

The text form is what all runtimes get (TF attribute, TFLite custom options, ONNX attribute), so a
setting is parsed in one place, `ParseConfig` of the C++ core. Needs no library.
"""

import dataclasses
from dataclasses import dataclass
from typing import Any

from models_tf import limits

MAGIC = "projection1:"
FEATURES = ("words", "mixed")
HASHES = ("murmur", "xfixhash8", "xfixhash16", "xfixhash32", "unicodehash8", "unicodehash16")
BYTES = ("unsigned", "signed")
SPLITS = ("spaces", "spaces_compatible", "characters")
MAX_FEATURE_SIZE = 4096
MAX_ROWS = 1 << 20
MIN_BYTES, MAX_BYTES = 16, 1 << 20
_PLAIN = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-")


@dataclass(frozen=True, kw_only=True)
class ProjectionConfig:
    """Settings of `ExportMobile>SequenceProjection`; defaults equal those of `projection.h`."""

    feature_size: int = 512
    features: str = "words"
    hash: str = "murmur"
    bytes: str = "unsigned"
    split: str = "spaces"
    max_tokens: int = -1
    pad_to: int = 0
    max_bytes: int = 0
    vocabulary: str = ""
    alphabetic_only: bool = False
    normalize_repetition: bool = False
    normalize_spaces: bool = False
    token_separators: str = ""
    add_bos: bool = False
    add_eos: bool = False
    word_novelty_bits: int = 0
    doc_size_levels: int = 0
    first_cap_feature: bool = False
    all_caps_feature: bool = False
    presence_feature: bool = False
    distortion: float = 0.0

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value, kind = getattr(self, field.name), type(field.default)
            if type(value) is not kind and not (kind is float and type(value) is int):
                raise ValueError(f"`{field.name}` must be of type {kind.__name__}. Received: {value!r}.")
        for name, choices in (("features", FEATURES), ("hash", HASHES), ("bytes", BYTES), ("split", SPLITS)):
            value = getattr(self, name)
            _require(value in choices, f"`{name}` must be one of {', '.join(choices)}.", repr(value))
        size = self.feature_size
        _require(
            size % 2 == 0 and 2 <= size <= MAX_FEATURE_SIZE,
            f"`feature_size` must be even (2 bits a feature) and 2 to {MAX_FEATURE_SIZE}.",
            size,
        )
        mixed, caps = self.features == "mixed", self.first_cap_feature or self.all_caps_feature
        _require(not mixed or size % 4 == 0, "`feature_size` must be a multiple of 4 when features are mixed.", size)
        _require(not caps or size >= 4, "`feature_size` must be at least 4 with a caps feature.", size)
        _require(
            self.max_tokens == -1 or 1 <= self.max_tokens <= MAX_ROWS,
            f"`max_tokens` must be -1 or 1 to {MAX_ROWS}.",
            self.max_tokens,
        )
        _require(
            self.pad_to == 0 or self.add_bos + self.add_eos < self.pad_to <= MAX_ROWS,
            f"`pad_to` must be 0, or hold one token beside the tags and be at most {MAX_ROWS}.",
            self.pad_to,
        )
        most = limits.value("feature_bytes")
        _require(
            self.pad_to * size <= most,
            f"`pad_to` times `feature_size` must be at most {most} (the limit feature_bytes).",
            self.pad_to * size,
        )
        _require(
            self.max_bytes == 0 or MIN_BYTES <= self.max_bytes <= MAX_BYTES,
            f"`max_bytes` must be 0 or {MIN_BYTES} to {MAX_BYTES}.",
            self.max_bytes,
        )
        _require(0 <= self.word_novelty_bits <= 7, "`word_novelty_bits` must be 0 to 7.", self.word_novelty_bits)
        _require(0 <= self.doc_size_levels <= 16, "`doc_size_levels` must be 0 to 16.", self.doc_size_levels)
        _require(0.0 <= self.distortion <= 1.0, "`distortion` must be 0 to 1.", self.distortion)
        _require(
            not (self.vocabulary and self.alphabetic_only),
            "`vocabulary` and `alphabetic_only` exclude each other.",
            "both",
        )
        _require(
            self.token_separators.isascii(),
            "`token_separators` must be ASCII (a separator is one byte).",
            repr(self.token_separators),
        )

    def to_text(self) -> str:
        """The text form; only what differs from the defaults."""
        pairs = []
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if value != field.default:
                pairs.append(f"{field.name}={_escape(value)}")
        return MAGIC + ";".join(pairs)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "ProjectionConfig":
        unknown = sorted(set(values) - {field.name for field in dataclasses.fields(cls)})
        if unknown:
            raise ValueError(f"Unknown projection setting. Received: {', '.join(unknown)}.")
        return cls(**values)

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


def _require(condition: bool, message: str, received: object) -> None:
    if not condition:
        raise ValueError(f"{message} Received: {received}.")


def _escape(value: Any) -> str:
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, float):
        return repr(value)
    return "".join(chr(b) if b in _PLAIN else f"%{b:02X}" for b in str(value).encode())
