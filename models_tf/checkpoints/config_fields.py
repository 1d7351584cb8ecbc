"""A family's config.json as one table: each row reads a key, checks it, and writes it again.

A row names the key and the value it stands for. Most values are fields of `EncoderConfig`; where a family's keys say
it in another way, its `complete` turns values into fields and its `split` turns fields into values. Keys that no row
names are kept as they are: a config.json holds many that do not touch the weights.
"""

import dataclasses
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from models_tf.checkpoints.document import ACTIVATIONS, Document, spelling
from models_tf.encoder.config import MAX_IDS, MAX_SIZE, EncoderConfig
from models_tf.errors import InputError

Values = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Field:
    """`read(document, values)` gets the values of the rows above. `name` is empty for a key that is only checked.

    `read` is None for a key that is written for other programs. `ours`: the key is not one of `transformers`, stands
    behind all others and is written only where the value `when` is not empty.
    """

    key: str
    name: str
    read: Callable[[Document, Values], Any] | None
    write: Callable[[Any, Values], Any] = lambda value, _document: value
    ours: bool = False
    when: str = ""


def fields_of(config: EncoderConfig) -> dict[str, Any]:
    """Without `pools_base`: no key says it, the weights show whether there is a pooler."""
    names = [field.name for field in dataclasses.fields(config) if field.name != "pools_base"]
    return {name: getattr(config, name) for name in names}


@dataclass(frozen=True, kw_only=True)
class ConfigTable:
    """`fields` are in the order in which they are written."""

    model_type: str
    fields: tuple[Field, ...]
    complete: Callable[[Document, dict[str, Any]], dict[str, Any]] = lambda _document, values: values
    split: Callable[[EncoderConfig], dict[str, Any]] = fields_of

    def from_document(self, document: Values, where: str = "config.json") -> EncoderConfig:
        """A wrong type or range, or a setting that is not supported, is an InputError that names the key."""
        reader, values = Document(values=document, where=where), dict[str, Any]()
        for field in self.fields:
            if field.read is not None:
                found = field.read(reader, values)
                if field.name:
                    values[field.name] = found
        try:
            return EncoderConfig(**self.complete(reader, values))
        except ValueError as error:
            if str(error).startswith(f"{where}: "):
                raise
            raise InputError(f"{where}: {self._with_keys(str(error))}") from error

    def _with_keys(self, message: str) -> str:
        """A message about fields of `EncoderConfig`, with the keys that stand in the file."""
        for field in self.fields:
            if field.name:
                message = message.replace(f"`{field.name}`", f"`{field.key}`")
        return message

    def to_document(self, config: EncoderConfig, document: Values) -> dict[str, Any]:
        """`document` with the keys of `config` in it; other keys stay. A ValueError where the keys cannot say it."""
        values = self.split(config)
        ours = {field.key for field in self.fields if field.ours}
        found = {key: value for key, value in document.items() if key not in ours} | {"model_type": self.model_type}
        for field in self.fields:
            if field.name and (not field.when or values[field.when]):
                found[field.key] = field.write(values[field.name], document)
        self._check(self.from_document(found), config)
        return found

    def _check(self, found: EncoderConfig, config: EncoderConfig) -> None:
        back, asked = self.split(found), self.split(config)
        unsaid = {field.name for field in self.fields if field.when and not asked[field.when]}
        for name, value in asked.items():
            if name not in unsaid and back[name] != value:
                raise ValueError(f"`{name}` of {self.model_type} must be {back[name]}. Received: {value}.")


def integer(key: str, default: int, *, name: str = "", low: int = 1, high: int = MAX_SIZE) -> Field:
    return Field(
        key=key, name=name or key, read=lambda document, _values: document.integer(key, default, low=low, high=high)
    )


def number(key: str, default: float, *, name: str = "", high: float) -> Field:
    return Field(key=key, name=name or key, read=lambda document, _values: document.number(key, default, high=high))


def rate(key: str, default: float, *, name: str) -> Field:
    """A dropout."""
    return Field(key=key, name=name, read=lambda document, _values: document.rate(key, default))


def flag(key: str, default: bool, *, name: str = "") -> Field:
    return Field(key=key, name=name or key, read=lambda document, _values: document.flag(key, default))


def choice(key: str, default: str, choices: Collection[str], *, name: str = "") -> Field:
    return Field(key=key, name=name or key, read=lambda document, _values: document.choice(key, default, choices))


def integers(key: str, *, name: str = "") -> Field:
    """A list that is written where it is not empty."""
    return Field(
        key=key,
        name=name or key,
        read=lambda document, _values: document.integers(key),
        write=lambda value, _document: list(value),
        ours=True,
        when=name or key,
    )


def ours(field: Field, *, when: str = "") -> Field:
    """A key that `transformers` does not know."""
    return dataclasses.replace(field, ours=True, when=when)


def activation(default: str, *, key: str = "hidden_act", name: str = "activation") -> Field:
    return Field(
        key=key,
        name=name,
        read=lambda document, _values: ACTIVATIONS[document.choice(key, default, ACTIVATIONS)],
        write=lambda value, document: spelling(value, document.get(key)),
    )


def must_be(key: str, *allowed: Any, remedy: str = "") -> Field:
    """A setting that would change what the model computes in a way that is not supported."""
    return Field(key=key, name="", read=lambda document, _values: document.must_be(key, *allowed, remedy=remedy))


def optional_rate(key: str) -> Field:
    """A dropout of the head: checked, and left as it is."""
    return Field(key=key, name="", read=lambda document, _values: document.rate(key, None))


def vocabulary(default: int) -> Field:
    return integer("vocab_size", default, high=MAX_IDS)


def pad_id() -> Field:
    return Field(
        key="pad_token_id", name="pad_id", read=lambda document, values: document.pad_id(int(values["vocab_size"]))
    )


def last_rows(*, hidden_dropout: float, attention_dropout: float) -> tuple[Field, ...]:
    """The keys that all families have and write last."""
    return (
        integer("max_position_embeddings", 512, name="max_positions"),
        integer("type_vocab_size", 2, name="num_segments"),
        rate("hidden_dropout_prob", hidden_dropout, name="hidden_dropout"),
        rate("attention_probs_dropout_prob", attention_dropout, name="attention_dropout"),
        number("initializer_range", 0.02, high=10.0),
        pad_id(),
    )


# Heads and FFN neurons of each layer after compression.
KEPT_ROWS = (
    integers("export_mobile_kept_heads", name="kept_heads"),
    integers("export_mobile_kept_ffn", name="kept_ffn"),
)
