"""`ExportRequest`: the input of one export. Its fields are the flags of the command.

Checks what it can before the work starts; imports neither TensorFlow nor numpy. The only file it reads is a
checkpoint's config.json, which tells the kind of model if no name is given.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exporters.formats.base import FORMATS
from exporters.formats.io import INT8, IOS, is_wide
from exporters.formats.tensor_names import BYTES, FEATURES, TEXT
from exporters.request_fields import check_fields
from models_tf import limits, registry
from models_tf.bounded_files import what_is
from models_tf.checkpoints.json_text import read_json_file
from models_tf.checkpoints.sentence_folder import is_sentence_folder
from models_tf.compress.settings import Compression
from models_tf.data import DEFAULT_SEPARATOR, check_separator, check_threshold
from models_tf.encoder.heads import EMBEDDING, POOLINGS
from models_tf.errors import InputError, naming_fields
from models_tf.folders.real_path import real_path
from quantize import recipe as recipes

if TYPE_CHECKING:
    from models_tf.tasks.rows import Columns

DEFAULT_MODEL = "prado"
DEFAULT_RECIPE = "int8"
# What a token model can be exported for: the heads of `models_tf.encoder.heads`; a regression is a classification head
# with one label.
TOKEN_TASKS = (
    *("classification", "regression", "token-classification", "question-answering", "sentence-order", "base"),
    EMBEDDING,
)
FOLDS = ("full", "safe", "off")
# What a projection model's files take: the bytes of a text, its features, or a text as a string.
GRAPHS = (BYTES, FEATURES, TEXT)
# What bytes-in files answer: logits, or probabilities and the best label, too.
OUTPUTS = ("logits", "labels")
TARGETS = tuple(FORMATS)
TFLITE = "tflite"
OUTPUT_ROOT = Path("export-mobile-out")
# What model hubs take: https://spdx.org/licenses in lower case, ISO 639 with BCP 47's regions and scripts.
_LICENSE = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+-]{0,63}", re.ASCII)
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}", re.ASCII)
# As far back as the versions of operators are known.
OLDEST_RUNTIME = (2, 3)
_RUNTIME_VERSION = re.compile(r"2\.[0-9]{1,3}", re.ASCII)
_UNITS = {"": 1, "B": 1, "K": 1024, "KB": 1024, "KIB": 1024, "M": 1 << 20, "MB": 1 << 20, "MIB": 1 << 20}


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
        object.__setattr__(self, "target", _targets(self.target))
        object.__setattr__(self, "language", _listed(self.language))
        object.__setattr__(self, "graphs", _listed(self.graphs))
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
            self._check_tokens()
        else:
            self._check_projection()
        check_separator(self.label_separator)
        check_threshold(self.label_threshold)
        self._check_io()
        self._check_min_runtime()
        self._check_card()
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

    def _check_io(self) -> None:
        if self.io is not None and self.io not in IOS:
            raise InputError(
                f"--io must be one of {', '.join(IOS)}. Received: {self.io[:100]}." + registry.nearest(self.io, IOS)
            )
        if self.io != INT8:
            return
        integer = [recipe.name for recipe in recipes.RECIPES.values() if recipe.needs_calibration]
        if self.quantize not in integer:
            raise InputError(
                f"--io int8 is for recipes with int8 answers: {', '.join(integer)}. Received: --quantize "
                f"{self.quantize}, whose answers are float."
            )
        if self.target != (TFLITE,):
            raise InputError(
                "--io int8 is for .tflite files: an .onnx file has no place for the scale of an answer. "
                f"Received: --target {','.join(self.target)}; give --target {TFLITE}."
            )
        if self.answers_labels:
            raise InputError("--outputs labels needs float logits. Received: --io int8.")

    def _check_min_runtime(self) -> None:
        if self.min_runtime is None:
            return
        if not _RUNTIME_VERSION.fullmatch(self.min_runtime) or self.oldest_runtime < OLDEST_RUNTIME:
            oldest = ".".join(map(str, OLDEST_RUNTIME))
            raise InputError(
                f"--min-runtime must be a version of TensorFlow Lite from {oldest} on, such as 2.14. "
                f"Received: {self.min_runtime[:40]}."
            )
        if TFLITE not in self.target:
            raise InputError(f"--min-runtime is for .tflite files. Received: --target {','.join(self.target)}.")
        if self.quantize == "int4":
            raise InputError(
                "--quantize int4 needs LiteRT: no TensorFlow Lite is known to run weights in 4 bits. "
                f"Received: --min-runtime {self.min_runtime}; choose another --quantize."
            )

    @property
    def oldest_runtime(self) -> tuple[int, int]:
        """`min_runtime` as numbers."""
        major, minor = (self.min_runtime or "0.0").split(".")
        return int(major), int(minor)

    def _check_card(self) -> None:
        if self.license is not None and not _LICENSE.fullmatch(self.license):
            raise InputError(f"--license must be an identifier such as apache-2.0. Received: {self.license[:40]!r}.")
        for code in self.language:
            if not _LANGUAGE.fullmatch(code):
                raise InputError(f"--language must be codes such as en or en,pt-BR. Received: {code[:40]!r}.")

    def _check_projection(self) -> None:
        if self.checkpoint is None:
            registry.get(self.model or DEFAULT_MODEL).bundled_folder(self.task)
        elif _kind_of(self.checkpoint) == registry.TOKENS:
            raise InputError(
                f"{self.checkpoint} holds a token model: give --model {' or '.join(registry.names(registry.TOKENS))}. "
                f"Received: {self.model}."
            )
        elif self.task is not None:
            raise InputError(
                f"--task names a bundled model and --checkpoint a folder: give one. Received: {self.task}."
            )
        for flag, given in (
            ("--text-pair-column", self.text_pair_column is not None),
            ("--random-init", self.random_init),
            ("--preset", self.preset is not None),
            ("--fold", self.fold != FOLDS[0]),
            ("Compression (--prune-heads and the like)", self.compression is not None),
            ("--importance-data", self.importance_data is not None),
            ("--vocab-data", bool(self.vocab_data)),
            ("--mediapipe", self.mediapipe),
            ("--pooling", self.pooling is not None),
        ):
            if given:
                name = self.model or DEFAULT_MODEL
                raise InputError(f"{flag} is for token models ({_token_models()}). Received: a {name} model.")
        self._check_graphs()

    def _check_graphs(self) -> None:
        if self.graphs is not None:
            unknown = [name for name in self.graphs if name not in GRAPHS]
            if unknown or not self.graphs:
                received = ", ".join(unknown) or "none"
                raise InputError(
                    f"--graphs must be some of {', '.join(GRAPHS)}. Received: {received[:100]}."
                    + registry.nearest(received, GRAPHS)
                )
            object.__setattr__(self, "graphs", tuple(name for name in GRAPHS if name in self.graphs))
        if self.outputs not in OUTPUTS:
            raise InputError(
                f"--outputs must be one of {', '.join(OUTPUTS)}. Received: {self.outputs[:100]}."
                + registry.nearest(self.outputs, OUTPUTS)
            )
        for flag, given in (("--max-bytes", self.max_bytes is not None), ("--outputs labels", self.answers_labels)):
            if given and self.graphs is not None and BYTES not in self.graphs:
                raise InputError(f"{flag} is for bytes-in files. Received: --graphs {','.join(self.graphs)}.")
        if self.answers_labels and not recipes.RECIPES[self.quantize].has_float and not is_wide(self.io):
            raise InputError(
                f"--outputs labels needs float for the probabilities. Received: --quantize {self.quantize} "
                "without --io float32."
            )
        if self.max_bytes is not None:
            from exporters.bytes_in.settings import MAX_BYTES, MIN_BYTES

            if not MIN_BYTES <= self.max_bytes <= MAX_BYTES:
                raise InputError(f"--max-bytes must be {MIN_BYTES} to {MAX_BYTES}. Received: {self.max_bytes}.")

    def _check_tokens(self) -> None:
        name = self.model or "token"
        for flag, is_given in (
            ("--graphs", self.graphs is not None),
            ("--max-bytes", self.max_bytes is not None),
            ("--outputs", self.outputs != OUTPUTS[0]),
        ):
            if is_given:
                models = ", ".join(registry.names(registry.PROJECTION))
                raise InputError(f"{flag} is for projection models ({models}). Received: a {name} model.")
        if self.checkpoint is None and not self.random_init:
            raise InputError(
                f"No trained {name} ships with the package: give --checkpoint DIR, or --random-init for untrained "
                "weights (size and speed only)."
            )
        if self.checkpoint is not None and self.random_init:
            raise InputError(f"Give --random-init or --checkpoint, not both. Received: {self.checkpoint}.")
        if self.preset is not None and not self.random_init:
            raise InputError(f"--preset is for --random-init. Received: {self.preset} with a checkpoint.")
        self._check_mediapipe()
        self._check_compression()
        for path in (self.eval_data, self.calibration_data, self.importance_data):
            if self.random_init and path is not None:
                raise InputError(f"--random-init has no tokenizer to read texts with. Received: {path}.")
        for flag, value, choices in (
            ("--task", self.task, TOKEN_TASKS),
            ("--fold", self.fold, FOLDS),
            ("--pooling", self.pooling, POOLINGS),
        ):
            if value is not None and value not in choices:
                raise InputError(
                    f"{flag} of a {name} model must be one of {', '.join(choices)}. Received: {value}."
                    + registry.nearest(value, choices)
                )
        if self.pooling is not None and self.token_task != EMBEDDING:
            raise InputError(
                f"--pooling is for --task {EMBEDDING}. Received: --task {self.token_task or 'read from the head'}."
            )

    @property
    def token_task(self) -> str | None:
        """The task of a token model; None: read from its head."""
        is_folder = self.checkpoint is not None and is_sentence_folder(self.checkpoint)
        return EMBEDDING if self.task is None and is_folder else self.task

    def _check_mediapipe(self) -> None:
        if not self.mediapipe:
            return
        if TFLITE not in self.target:
            raise InputError(f"--mediapipe is for .tflite files. Received: --target {','.join(self.target)}.")
        if self.random_init:
            raise InputError("--mediapipe needs a model with a vocabulary. Received: --random-init.")
        if self.text_pair_column is not None:
            raise InputError(
                f"--mediapipe is for single texts. Received: --text-pair-column {self.text_pair_column[:100]}."
            )
        if self.io == INT8:
            raise InputError("--mediapipe needs float answers. Received: --io int8.")

    def _check_compression(self) -> None:
        wanted = self.compression
        if wanted is not None and self.model not in (None, *registry.compressible()):
            raise InputError(
                f"Only BERT can be compressed ({', '.join(registry.compressible())}). "
                f"Received: --model {self.model} with --prune-heads or the like."
            )
        if wanted is not None and wanted.needs_rows and self.random_init:
            raise InputError(
                "Untrained weights have no importance to choose by: give --drop-layers top:K, --remove-heads or "
                "--head-importance random. Received: --random-init."
            )
        prunes = wanted is not None and wanted.prune_vocab
        if prunes and self.random_init:
            raise InputError("--prune-vocab needs a model with a vocabulary. Received: --random-init.")
        if prunes != bool(self.vocab_data):
            raise InputError(
                "--prune-vocab and --vocab-data FILE go together: the tokens of these texts stay. "
                f"Received: {'the first' if prunes else 'the second'} alone."
            )
        if self.importance_data is not None and (wanted is None or not wanted.needs_rows):
            raise InputError(
                "--importance-data is for --prune-heads, --prune-ffn and --drop-layers contribution:K. "
                f"Received: {self.importance_data} without."
            )
        if wanted is not None and wanted.needs_rows and (self.importance_data or self.calibration_data) is None:
            labels = " with labels" if wanted.needs_gradients else ""
            raise InputError(
                f"--importance-data FILE{labels} is needed to choose what is removed "
                "(default: --calibration-data; rows of --eval-data are never used). Received: neither."
            )

    @property
    def kind(self) -> str:
        """What goes into the model: `registry.PROJECTION` or `registry.TOKENS`."""
        if self.model is not None:
            return registry.get(self.model).kind
        return _kind_of(self.checkpoint) if self.checkpoint is not None else registry.PROJECTION

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


def _kind_of(folder: Path) -> str:
    """config.json has a "format" in our own checkpoints and a "model_type" in those of token models."""
    if is_sentence_folder(folder):
        return registry.TOKENS
    try:
        document = read_json_file(folder / "config.json")
    except (OSError, InputError):  # the checkpoint reader will say what is wrong
        return registry.PROJECTION
    is_tokens = isinstance(document, dict) and "model_type" in document and "format" not in document
    return registry.TOKENS if is_tokens else registry.PROJECTION


def _token_models() -> str:
    return ", ".join(entry.name for entry in registry.MODELS.values() if entry.kind == registry.TOKENS)


def parse_targets(text: str) -> tuple[str, ...]:
    """`tflite,onnx` as a tuple."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def parse_size(text: str) -> int:
    """`200KB`, `1.5MB` or plain bytes, as bytes; 1 KB is 1024 bytes."""
    # 12 digits are a thousand times what a .tflite file can hold.
    match = re.fullmatch(r"\s*(\d{1,12}(?:\.\d{1,12})?)\s*([A-Za-z]*)\s*", text)
    if not match or match[2].upper() not in _UNITS:
        raise InputError(f"--max-size must be a number with B, KB or MB, such as 200KB. Received: {text[:40]!r}.")
    return int(float(match[1]) * _UNITS[match[2].upper()])


def _listed(value: Any) -> Any:
    """`en,pt-BR` as a tuple; anything but text as it is."""
    return parse_targets(value) if isinstance(value, str) else value


def _targets(target: tuple[str, ...] | list[str] | str) -> tuple[str, ...]:
    if not isinstance(target, str | tuple | list) or not all(isinstance(name, str) for name in target):
        raise InputError(f"`target` must be some of {', '.join(FORMATS)}. Received: {target!r}.")
    wanted = parse_targets(target) if isinstance(target, str) else tuple(target)
    unknown = [name for name in wanted if name not in FORMATS]
    if unknown or not wanted:
        received = ", ".join(unknown) or "none"
        raise InputError(
            f"Unknown target: expected some of {', '.join(FORMATS)}. Received: {received}."
            + registry.nearest(received, tuple(FORMATS))
        )
    return tuple(name for name in FORMATS if name in wanted)  # one order, no repetition
