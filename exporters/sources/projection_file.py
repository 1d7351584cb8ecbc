"""projection.json: all that a phone needs to compute the features of the features-in files by itself, and what each
file takes and answers.

Every setting of the projection, names and quantization of inputs and outputs. Examples to check another implementation
against are in examples.json.
"""

import json
from collections.abc import Mapping
from typing import Any

from exporters.formats.io import is_wide
from exporters.report.json_lists import short_lists
from models_tf.ops.projection.config import ProjectionConfig

FORMAT = "export-mobile-projection/1"
_ABOUT = (
    "Features are int8 [1, length, feature_size], zero after the last token. `config` holds every setting; "
    "`config_text` is the same for the op. examples.json has texts with their features and answers."
)

_BYTES = (
    "Files that take `text` as uint8 take the UTF-8 bytes of one text, cut at `max_bytes` and with zeros behind it; in "
    "ONNX zeros are not needed."
)
_ANY_LENGTH = (
    "Features of fewer tokens than max_seq_len need no padding, and padding changes an answer by rounding only."
)
_WIDE = "The features-in files take the same whole numbers as {io}."
_ONE_LENGTH = "The length is always max_seq_len."


def projection_file(
    config: ProjectionConfig,
    files: Mapping[str, Mapping[str, Any]],
    *,
    multi_label: bool = False,
    any_length: bool = False,
    io: str | None = None,
) -> str:
    """The text of projection.json. `files` says input and output of each model file. With `any_length` those that take
    features take shorter ones as well. `io` is the type that features have there, if not int8.
    """
    document = {
        "format": FORMAT,
        "about": " ".join(
            [
                _ABOUT,
                *([_WIDE.format(io=io)] if is_wide(io) else []),
                _ANY_LENGTH if any_length else _ONE_LENGTH,
                *([_BYTES] if config.max_bytes else []),
            ]
        ),
        "max_seq_len": config.pad_to,
        "length": {"max": config.pad_to, "any": any_length},
        "feature_size": config.feature_size,
        "config": config.to_dict(),
        "config_text": config.to_text(),
        "labels": "labels.txt",
        "multi_label": multi_label,
        "files": files,
    }
    return short_lists(json.dumps(document, indent=2, ensure_ascii=False)) + "\n"
