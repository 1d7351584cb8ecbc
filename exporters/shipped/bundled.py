"""The rows that come with a bundled model, for an export of it that still lies beside its report."""

from pathlib import Path

from exporters.shipped.model import REPORT_FILE
from models_tf import registry
from models_tf.checkpoints.json_text import read_json_file


def bundled_rows(folder: Path) -> Path | None:
    """The rows that the export measured on; None if the report does not name a bundled model."""
    try:
        model = read_json_file(folder / REPORT_FILE)["model"]
        if model["bundled"] is not True:
            return None
        return registry.get(model["name"]).bundled_folder(model["task"]) / "eval.tsv"
    except (OSError, KeyError, TypeError, ValueError):
        return None
