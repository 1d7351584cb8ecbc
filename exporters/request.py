"""`ExportRequest`: the input of one export. Its fields are the flags of the command.

Checks what it can before the work starts; imports neither TensorFlow nor numpy. The only file it reads is a
checkpoint's config.json, which tells the kind of model if no name is given.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from exporters import request_checks as checks
from exporters.formats.tensor_names import BYTES
from exporters.request_choices import (
    DEFAULT_MODEL,
    DEFAULT_RECIPE,
    OUTPUT_ROOT,
    OUTPUTS,
    TARGETS,
    as_targets,
    listed,
)
from exporters.request_fields import check_fields
from models_tf import limits, registry
from models_tf.bounded_files import what_is
from models_tf.checkpoints.folder import is_hub_id
from models_tf.checkpoints.kind import kind_of
from models_tf.checkpoints.sentence_folder import is_sentence_folder
from models_tf.compress.settings import Compression
from models_tf.data import DEFAULT_SEPARATOR, check_separator, check_threshold
from models_tf.encoder.heads import EMBEDDING
from models_tf.errors import InputError, naming_fields
from models_tf.folders.real_path import real_path
from quantize import recipe as recipes

if TYPE_CHECKING:
    from models_tf.tasks.rows import Columns


@dataclass(frozen=True, kw_only=True)
class ExportRequest:
    """One export. `model` and `task` choose a bundled model, `checkpoint` is a trained folder.

    For token models `checkpoint` is a Hugging Face folder or hub id, and `task` says what the model does (default: read
    from its head). `random_init` makes an untrained model in the sizes of `preset`.
    `compression` makes a BERT smaller before the export; choices by gradient or contribution use `importance_data`
    (default: `calibration_data`, never the rows to evaluate). A pruned vocabulary keeps the tokens of `vocab_data`.
    `max_size_bytes` limits every model file, `max_drop` the accuracy (in points) that each quantized file may lose.
    `strip_names` leaves the names of inner tensors out of .tflite files: some KB smaller, and OpenVINO refuses them.
    `graphs` are the kinds of files of a projection model (default: all that its projection can have), `max_bytes` is
    what they read of a text (default: by the rows), and `outputs` says what bytes-in files answer.
    `io` is the type of features and answers (`exporters/formats/io.py`; default: that of the recipe).
    `label_threshold` is the probability from which a model with several labels per text gives a label (default 0.5).
    `mediapipe` adds a file of a classifier in the form that MediaPipe's TextClassifier takes.
    `min_runtime` is a TensorFlow Lite, 2.14 say, that must run every .tflite file.
    `pooling` is how the task embedding makes one vector of a text (default: mean). A folder of sentence-transformers
    says so itself, and embedding is its default task.
    `license` and `language` are for the model card, which cannot know them.
    """

    model: str | None = None
    task: str | None = None
    checkpoint: Path | None = None
    quantize: str = DEFAULT_RECIPE
    target: tuple[str, ...] = TARGETS
    eval_data: Path | None = None
    eval_rows: int | None = None
    calibration_data: Path | None = None
    text_column: str | None = None
    text_pair_column: str | None = None
    label_column: str | None = None
    label_separator: str = DEFAULT_SEPARATOR
    label_threshold: float | None = None
    max_seq_len: int | None = None
    graphs: tuple[str, ...] | None = None
    max_bytes: int | None = None
    outputs: str = OUTPUTS[0]
    fold: str = "full"
    pooling: str | None = None
    random_init: bool = False
    preset: str | None = None
    compression: Compression | None = None
    importance_data: Path | None = None
    vocab_data: tuple[Path, ...] = ()
    output: Path | None = None
    force: bool = False
    strip_names: bool = False
    io: str | None = None
    mediapipe: bool = False
    min_runtime: str | None = None
    seed: int = 0
    max_size_bytes: int | None = field(default=None, metadata={"unit": "bytes"})
    max_drop: float | None = field(default=None, metadata={"unit": "points"})
    license: str | None = None
    language: tuple[str, ...] = ()

    @naming_fields()
    def __post_init__(self) -> None:
        object.__setattr__(self, "target", as_targets(self.target))
        object.__setattr__(self, "language", listed(self.language))
        object.__setattr__(self, "graphs", listed(self.graphs))
        check_fields(self)
        if self.quantize not in recipes.RECIPES:
            names = tuple(recipes.RECIPES)
            raise InputError(
                f"Unknown recipe: expected one of {', '.join(names)}. Received: {self.quantize}."
                + registry.nearest(self.quantize, names)
            )
        if self.model is not None:
            registry.get(self.model)
        if self.kind == registry.TOKENS:
            checks.check_tokens(self)
        else:
            checks.check_projection(self)
        check_separator(self.label_separator)
        check_threshold(self.label_threshold)
        checks.check_io(self)
        checks.check_min_runtime(self)
        checks.check_card(self)
        if self.max_seq_len is not None and self.max_seq_len < 1:
            raise InputError(f"--max-seq-len must be at least 1. Received: {self.max_seq_len}.")
        limits.check("tokens", self.max_seq_len or 0, "--max-seq-len")
        if self.eval_rows is not None and self.eval_rows < 1:
            raise InputError(f"--eval-rows must be at least 1. Received: {self.eval_rows}.")
        if not 0 <= self.seed < 1 << 63:
            raise InputError(f"--seed must be 0 to 2^63 - 1. Received: {self.seed}.")
        if self.max_size_bytes is not None and self.max_size_bytes < 1:
            raise InputError(f"--max-size must be at least 1 byte. Received: {self.max_size_bytes}.")
        if self.max_drop is not None and not 0.0 <= self.max_drop <= 100.0:
            raise InputError(f"--max-drop must be 0 to 100 points. Received: {self.max_drop}.")
        for flag, path in (
            ("--eval-data", self.eval_data),
            ("--calibration-data", self.calibration_data),
            ("--importance-data", self.importance_data),
            *(("--vocab-data", path) for path in self.vocab_data),
        ):
            if path is not None and not path.is_file() and not (self.kind == registry.TOKENS and path.is_dir()):
                raise InputError(f"{flag} must be a file. Received: {path} ({what_is(path)}).")

    @property
    def oldest_runtime(self) -> tuple[int, int]:
        """`min_runtime` as numbers."""
        major, minor = (self.min_runtime or "0.0").split(".")
        return int(major), int(minor)

    @property
    def token_task(self) -> str | None:
        """The task of a token model; None: read from its head."""
        is_folder = self.checkpoint is not None and is_sentence_folder(self.checkpoint)
        return EMBEDDING if self.task is None and is_folder else self.task

    @property
    def kind(self) -> str:
        """What goes into the model: `registry.PROJECTION` or `registry.TOKENS`."""
        if self.model is not None:
            return registry.get(self.model).kind
        if self.checkpoint is None:
            return registry.PROJECTION
        return registry.TOKENS if is_hub_id(self.checkpoint) else kind_of(self.checkpoint)

    @property
    def columns(self) -> "Columns":
        """Which columns of the data files are read."""
        from models_tf.tasks.rows import Columns

        return Columns(text=self.text_column, pair=self.text_pair_column, label=self.label_column)

    @property
    def answers_labels(self) -> bool:
        """Whether bytes-in files answer more than logits."""
        return self.outputs != OUTPUTS[0]

    @property
    def wants_bytes(self) -> bool:
        """Whether bytes-in files were asked for: by default they are made where the projection can be expressed."""
        return (self.graphs is not None and BYTES in self.graphs) or self.max_bytes is not None or self.answers_labels

    @property
    def checkpoint_folder(self) -> Path:
        """The folder to read: the one given, or the bundled model's."""
        if self.checkpoint is not None:
            return self.checkpoint
        return registry.get(self.model or DEFAULT_MODEL).bundled_folder(self.task)

    @property
    def inputs(self) -> tuple[tuple[str, Path | None], ...]:
        """The files and folders that are read, with their flags: the output must not be among them."""
        return (
            ("--checkpoint", self.checkpoint_folder if not self.random_init else None),
            ("--eval-data", self.eval_data),
            ("--calibration-data", self.calibration_data),
            ("--importance-data", self.importance_data),
            *(("--vocab-data", path) for path in self.vocab_data),
        )

    @property
    def output_folder(self) -> Path:
        """The folder to write; without `output`, named after model, task and recipe."""
        if self.output is not None:
            return self.output
        name = "random" if self.random_init else real_path(self.checkpoint_folder).name
        if self.checkpoint is None or self.model is not None:
            name = f"{self.model or DEFAULT_MODEL}-{name}"
        return OUTPUT_ROOT / f"{name}-{self.quantize}"
