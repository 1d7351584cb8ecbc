"""How many tokens a checkpoint was trained on, where `export-mobile train` wrote it: the length that its graph should have."""

from pathlib import Path

from models_tf.checkpoints.json_text import parse_json

TRAINING_FILE = "training.json"


def trained_length(checkpoint: Path | str | None) -> int | None:
    """None for folders of others and for ids of a hub."""
    path = Path(checkpoint or "") / TRAINING_FILE
    if checkpoint is None or not path.is_file():
        return None
    document = parse_json(path.read_bytes(), f"{path} must be JSON.")
    length = document.get("max_seq_len") if isinstance(document, dict) else None
    return length if isinstance(length, int) and not isinstance(length, bool) and length > 0 else None
