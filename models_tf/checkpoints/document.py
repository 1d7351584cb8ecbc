"""Typed reading of a config.json that somebody else wrote: a wrong type or range is one line that names the key.

An absent key takes the default of the class in `transformers`. Keys that are not asked for are left alone: a
config.json holds many that do not touch the weights.
"""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from models_tf import limits
from models_tf.data.labels import is_storable
from models_tf.encoder.config import MAX_SIZE
from models_tf.errors import InputError

# `hidden_act` -> the encoder's activation. The first spelling of each is the one that is written.
ACTIVATIONS = {
    "relu": "relu",
    "relu6": "relu6",
    "gelu": "gelu",
    "gelu_python": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "gelu_python_tanh": "gelu_tanh",
    "gelu_fast": "gelu_tanh",
    "gelu_accurate": "gelu_tanh",
    "tanh": "tanh",
    "silu": "silu",
    "swish": "silu",
}
MULTI_LABEL = "multi_label_classification"
PROBLEM_TYPES = ("regression", "single_label_classification", MULTI_LABEL)
DEFAULT_NUM_LABELS = 2  # of `transformers`


@dataclass(frozen=True, kw_only=True)
class Document:
    """config.json as values; `where` begins every message."""

    values: Mapping[str, Any]
    where: str = "config.json"

    def integer(self, key: str, default: int, *, low: int = 1, high: int = MAX_SIZE) -> int:
        value = self.values.get(key, default)
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            self.fail(key, f"a whole number from {low} to {high}", value)
        return int(value)

    def number(self, key: str, default: float, *, low: float = 0.0, high: float) -> float:
        value = self.values.get(key, default)
        if not isinstance(value, int | float) or isinstance(value, bool) or not low <= value <= high:
            self.fail(key, f"a number from {low} to {high}", value)
        return float(value)

    def rate(self, key: str, default: float | None) -> float:
        """A dropout; null is that of the other layers, where `transformers` has null for its default."""
        if default is None and self.values.get(key) is None:
            return 0.0
        return self.number(key, default or 0.0, high=0.99)

    def integers(self, key: str) -> tuple[int, ...]:
        """A list of whole numbers; empty where the key is absent."""
        value = self.values.get(key, [])
        if not isinstance(value, list) or not all(isinstance(v, int) and not isinstance(v, bool) for v in value):
            self.fail(key, "a list of whole numbers", value)
        return tuple(value)

    def flag(self, key: str, default: bool) -> bool:
        value = self.values.get(key, default)
        if not isinstance(value, bool):
            self.fail(key, "true or false", value)
        return bool(value)

    def choice(self, key: str, default: str, choices: Collection[str]) -> str:
        value = self.values.get(key, default)
        if not isinstance(value, str) or value not in choices:
            self.fail(key, f"one of {', '.join(choices)}", value)
        return str(value)

    def pad_id(self, vocab_size: int) -> int:
        """For `transformers` null is none: then padding is 0, as everywhere in BERT's vocabularies."""
        if self.values.get("pad_token_id", 0) is None:
            return 0
        return self.integer("pad_token_id", 0, low=0, high=vocab_size - 1)

    def must_be(self, key: str, *allowed: Any, remedy: str = "") -> None:
        """A setting that would change what the model computes in a way that is not supported."""
        if key in self.values and self.values[key] not in allowed:
            self.fail(key, " or ".join(_json_word(value) for value in allowed), self.values[key], remedy)

    def labels(self) -> list[str]:
        """The names of `id2label` by number; without it as many LABEL_n as `num_labels` says."""
        table, count = self.values.get("id2label"), self.values.get("num_labels")
        if table is None:
            limits.check("labels", self.integer("num_labels", DEFAULT_NUM_LABELS), f"{self.where}: `num_labels`")
            return [f"LABEL_{number}" for number in range(self.integer("num_labels", DEFAULT_NUM_LABELS))]
        if not isinstance(table, dict) or not table:
            self.fail("id2label", "an object of numbers and labels", table)
        limits.check("labels", len(table), f"{self.where}: `id2label`")
        names = {int(key) if _is_number(key) else key: name for key, name in table.items()}
        if set(names) != set(range(len(table))):
            self.fail("id2label", f"numbered from 0 to {len(table) - 1} without gaps", ", ".join(map(str, table)))
        labels = [names[number] for number in range(len(table))]
        for label in labels:
            if not isinstance(label, str) or not is_storable(label):
                self.fail("id2label", "labels of printable text", label)
        if len(set(labels)) != len(labels):
            self.fail("id2label", "labels that differ", f"{Counter(labels).most_common(1)[0][0]} twice")
        if count is not None and count != len(labels):
            self.fail("num_labels", f"{len(labels)}, as `id2label` has", count)
        self._check_label_numbers(labels)
        return labels

    def problem_type(self, num_labels: int) -> str | None:
        """Regression has one number; one label that is a class would be no choice."""
        if self.values.get("problem_type") is None:
            return None
        found = self.choice("problem_type", "", PROBLEM_TYPES)
        if (found == "regression") != (num_labels == 1) and found != MULTI_LABEL:
            self.fail("problem_type", f"one that fits {num_labels} label{'s' * (num_labels != 1)}", found)
        return found

    def fail(self, key: str, expected: str, received: Any, remedy: str = "") -> NoReturn:
        text = received if isinstance(received, str) and _is_plain(received) else _json_word(received)
        end = f": {remedy}." if remedy else "."
        raise InputError(f"{self.where}: `{key}` must be {expected}. Received: {text[:100]}{end}")

    def _check_label_numbers(self, labels: list[str]) -> None:
        """`label2id` that numbers the same labels otherwise: one of the two is wrong. Left-over defaults do no harm."""
        numbers = self.values.get("label2id")
        if isinstance(numbers, dict) and set(numbers) == set(labels):
            for number, label in enumerate(labels):
                if numbers[label] != number and str(numbers[label]) != str(number):
                    self.fail("label2id", f"the inverse of `id2label`, {label} {number}", f"{label} {numbers[label]}")


def spelling(activation: str, own: Any) -> str:
    """The document's `own` word for the activation, or the first that means it."""
    words = [word for word, meaning in ACTIVATIONS.items() if meaning == activation]
    return own if own in words else words[0]


def _is_plain(text: str) -> bool:
    """Whether it needs no quotes in a message: one line, not empty, and neither a number nor another value of JSON."""
    if not text.strip() or not text.isprintable() or text in ("true", "false", "null"):
        return False
    try:
        float(text)
    except ValueError:
        return True
    return False


def _is_number(key: Any) -> bool:
    return isinstance(key, int) or (isinstance(key, str) and key.isascii() and key.isdigit() and len(key) < 9)


def _json_word(value: Any) -> str:
    return {None: "null", True: "true", False: "false"}.get(value, repr(value)) if _plain(value) else repr(value)


def _plain(value: Any) -> bool:
    return value is None or isinstance(value, bool)
