"""`AblateRequest`: everything that one ablation needs to know. The flags of the command are its fields."""

from dataclasses import dataclass
from pathlib import Path

from exporters.request_fields import check_fields
from models_tf import registry
from models_tf.errors import InputError, naming_fields
from models_tf.folders import manifest
from models_tf.folders.output_path import check_path

HEADS, ALONE, LAYERS, BOTH, ALL = ("heads", "alone", "layers", "both", "all")
WHAT = {HEADS: (HEADS,), ALONE: (ALONE,), LAYERS: (LAYERS,), BOTH: (HEADS, LAYERS), ALL: (HEADS, ALONE, LAYERS)}


@dataclass(frozen=True, kw_only=True)
class AblateRequest:
    """The accuracy of the token model in `checkpoint` (a folder or hub id) without each of its heads or layers.

    It is measured on the labelled rows of `data`, or the first `rows` of them, read as `task`, the columns and
    `max_seq_len` say (default: what the checkpoint says). `what` is removed: heads, layers, both, all but one head of a
    layer (alone), or all of these. `output` is a JSON file to write, which `force` overwrites. A wrong type or
    combination is an InputError.
    """

    checkpoint: Path
    data: Path
    model: str | None = None
    rows: int | None = None
    task: str | None = None
    text_column: str | None = None
    text_pair_column: str | None = None
    label_column: str | None = None
    max_seq_len: int | None = None
    what: str = BOTH
    output: Path | None = None
    force: bool = False

    @naming_fields()
    def __post_init__(self) -> None:
        check_fields(self)
        if self.model is not None:
            registry.get(self.model)
        if self.what not in WHAT:
            raise InputError(f"--what must be one of {', '.join(WHAT)}. Received: {self.what}.")
        if self.rows is not None and self.rows < 1:
            raise InputError(f"--rows must be at least 1. Received: {self.rows}.")
        if self.output is not None:
            manifest.check_apart(self.output, (("--checkpoint", self.checkpoint), ("--data", self.data)))
            _check_output(self.output, force=self.force)


def _check_output(path: Path, *, force: bool) -> None:
    check_path(path)
    if path.is_dir():
        raise InputError(f"--output must be a file. Received: {path} (a folder).")
    if path.exists() and not force:
        raise InputError(f"--output must be new. Received: {path} (exists). Remedy: --force or another name.")
    if not path.parent.is_dir():
        raise InputError(f"--output must lie in a folder that exists. Received: {path}.")
