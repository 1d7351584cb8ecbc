"""Flags that several commands share."""

from pathlib import Path
from typing import Any

from exporters.request_choices import TARGETS
from models_tf import registry
from models_tf.data import DEFAULT_THRESHOLD
from models_tf.errors import InputError
from models_tf.folders.output_path import check_path
from models_tf.tasks import TASKS
from quantize import recipe as recipes

CHECKPOINT_HELP = "a folder written by `train` or `compress`, or a Hugging Face folder or hub id"
LABELLED_HELP = "labelled rows (.tsv, .csv or .jsonl, also .gz)"
MAX_SEQ_LEN_HELP = "tokens per input (default: as trained here, else 128)"


def add_columns(group: Any, *, label: bool = True) -> None:
    """Which columns of a table are read."""
    group.add_argument(
        "--text-column", metavar="NAME", help="column with the text (default text, sentence or utterance)"
    )
    group.add_argument("--text-pair-column", metavar="NAME", help="column with the second text of sentence pairs")
    if label:
        group.add_argument(
            "--label-column", metavar="NAME", help="column with the label (default label, intent, class or category)"
        )


def add_label_threshold(group: Any) -> None:
    group.add_argument(
        "--label-threshold",
        type=float,
        metavar="P",
        help=f"several labels per row: probability from which one counts (default {DEFAULT_THRESHOLD})",
    )


def add_rows(group: Any) -> None:
    """How the rows of a token model are read."""
    group.add_argument("--task", choices=TASKS, help="default: read from the head")
    add_columns(group)
    group.add_argument("--max-seq-len", type=int, metavar="N", help="tokens per input (default 128, questions 384)")


def add_output(group: Any, help_text: str, *, metavar: str = "DIR", required: bool = False) -> None:
    group.add_argument("--output", type=Path, required=required, metavar=metavar, help=help_text)
    group.add_argument("--force", action="store_true", help="replace an earlier output of export-mobile")


def add_json(group: Any, what: str) -> None:
    group.add_argument("--json", action="store_true", help=f"print only {what}, as JSON")


def add_target(group: Any) -> None:
    group.add_argument(
        "--target", default=",".join(TARGETS), metavar="LIST", help=f"{','.join(TARGETS)} (default both)"
    )


def presets_help() -> str:
    return f"sizes of --random-init, the first by default: {registry.presets()}"


def add_recipe(group: Any, default: str) -> None:
    group.add_argument(
        "--quantize", default=default, metavar="RECIPE", help=f"{', '.join(recipes.RECIPES)} (default {default})"
    )


def check_output_file(path: Path, flag: str) -> None:
    """Before the work starts: a file can be written there."""
    check_path(path, flag)
    if path.is_dir() or not path.parent.is_dir():
        raise InputError(f"{flag} must be a file in a folder that exists. Received: {path}.")
