"""projection.json: all that a phone needs to compute the features of the features-in files by itself.

Every setting of the projection, names and quantization of inputs and outputs. Examples to check another implementation
against are in examples.json.
"""

import json
from collections.abc import Mapping
from typing import Any

from exporters.report.json_lists import short_lists
from models_tf.ops.projection.config import ProjectionConfig

FORMAT = "export-mobile-projection/1"
_ABOUT = (
    "Features are int8 [1, max_seq_len, feature_size], zero after the last token. `config` holds every setting; "
    "`config_text` is the same for the op. examples.json has texts with their features and answers."
)


def projection_file(
    config: ProjectionConfig, files: Mapping[str, Mapping[str, Any]], *, multi_label: bool = False
) -> str:
    """The text of projection.json. `files` says input and output of each model file."""
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
    }
    return short_lists(json.dumps(document, indent=2, ensure_ascii=False)) + "\n"
