"""projection.json: all that a phone needs to compute the features of the features-in files by itself.

Every setting of the projection, names and quantization of inputs and outputs, and example vectors to check another
implementation against.
"""

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from models_tf.ops.projection.config import ProjectionConfig

FORMAT = "export-mobile-projection/1"
# Case, digits, punctuation, a word beyond ASCII, nothing at all.
EXAMPLE_TEXTS = ("Play some jazz, please!", "what's the weather in São Paulo at 7", "")
_SHOWN_ROWS = 2
_ABOUT = (
    "Features are int8 [1, max_seq_len, feature_size], zero after the last token. `config` holds every setting; "
    "`config_text` is the same for the op. An example gives the number of tokens, the first rows and the SHA-256 of "
    "all bytes in row-major order."
)


def projection_file(
    config: ProjectionConfig,
    files: Mapping[str, Mapping[str, Any]],
    project: Callable[[Sequence[bytes]], np.ndarray],
    lengths: Callable[[Sequence[bytes]], Sequence[int]],
    *,
    multi_label: bool = False,
) -> str:
    """The text of projection.json. `files` says input and output of each model file."""
    texts = [text.encode() for text in EXAMPLE_TEXTS]
    features = project(texts)
    examples = [
        {
            "text": text,
            "tokens": int(length),
            "first_rows": rows[: min(_SHOWN_ROWS, int(length))].tolist(),
            "sha256": hashlib.sha256(np.ascontiguousarray(rows).tobytes()).hexdigest(),
        }
        for text, rows, length in zip(EXAMPLE_TEXTS, features, lengths(texts), strict=True)
    ]
    document = {
        "format": FORMAT,
        "about": _ABOUT,
        "max_seq_len": config.pad_to,
        "feature_size": config.feature_size,
        "config": config.to_dict(),
        "config_text": config.to_text(),
        "labels": "labels.txt",
        "multi_label": multi_label,
        "files": files,
        "examples": examples,
    }
    return short_lists(json.dumps(document, indent=2, ensure_ascii=False)) + "\n"


def short_lists(text: str) -> str:
    """A list of numbers on one line: a row of 512 is no page of 512 lines."""
    # A line break inside of a JSON text is written as an escape, so the pattern cannot match within one.
    return re.sub(
        r"\[\n[-+\de,.\s]+\]", lambda match: "[" + ", ".join(match[0][1:-1].replace(",", " ").split()) + "]", text
    )
