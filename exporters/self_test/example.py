"""`Example`: a text and the inputs that a model gets for it, as JSON values; `Worked`: all of them, ready to run."""

import base64
import hashlib
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from exporters.formats.runners import Feed
from models_tf.spec import MASK


@dataclass(frozen=True, kw_only=True)
class Example:
    """`text`, `text_pair` or `words`, as the model takes them; none of them where there is no tokenizer.

    `origin` says where it comes from, or what is hard about it: see `texts.py`.
    """

    origin: str
    inputs: Mapping[str, Any]
    text: str | None = None
    text_pair: str | None = None
    words: tuple[str, ...] | None = None

    def to_dict(self) -> dict[str, Any]:
        given: dict[str, Any] = {"text": self.text, "text_pair": self.text_pair}
        given["words"] = None if self.words is None else list(self.words)
        shown = {name: value for name, value in given.items() if value is not None}
        return {"origin": self.origin, **shown, "inputs": dict(self.inputs)}


@dataclass(frozen=True, kw_only=True)
class Worked:
    """Examples, and the same as a batch of inputs; `inputs` are the names that the files of each graph take."""

    examples: Sequence[Example]
    feed: Feed
    inputs: Mapping[str, tuple[str, ...]]


def features_entry(features: np.ndarray, tokens: int) -> dict[str, Any]:
    """Features int8 [time, feature], which are zero after the last token: all that an app needs to check or feed them.

    A row of hashes is nearly random, but most of its numbers are -1, 0 and 1: deflate makes it a fifth.
    """
    rows = np.ascontiguousarray(features[:tokens])
    return {
        "tokens": tokens,
        "features": {
            "shape": list(features.shape),
            "sha256": hashlib.sha256(np.ascontiguousarray(features).tobytes()).hexdigest(),
            "rows": base64.b64encode(zlib.compress(rows.tobytes(), 9)).decode("ascii"),
        },
    }


def tokens_entry(feed: Mapping[str, np.ndarray], row: int, names: Sequence[str]) -> dict[str, Any]:
    """Ids, mask and segments up to the last token; the rest is padding."""
    tokens = int(feed[MASK][row].sum())
    return {"tokens": tokens, **{name: feed[name][row, :tokens].tolist() for name in names}}
