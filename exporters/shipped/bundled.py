"""The rows that come with a bundled model, for an export of it that still lies beside its report."""

import json
from pathlib import Path

from exporters.shipped.model import REPORT_FILE
from models_tf import registry
from models_tf.errors import InputError


def bundled_rows(folder: Path) -> Path | None:
    """The rows that the export measured on; None if the report does not name a bundled model."""
    try:
        model = json.loads((folder / REPORT_FILE).read_bytes())["model"]
        if model["bundled"] is not True:
            return None
        return registry.get(model["name"]).bundled_folder(model["task"]) / "eval.tsv"
    except (OSError, ValueError, KeyError, TypeError, RecursionError, InputError):
        return None
