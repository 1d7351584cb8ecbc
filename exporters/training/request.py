"""`TrainRequest`: the input of one training. Its fields are the flags of the command.

Checks what can be checked before anything is read; imports neither TensorFlow nor numpy.
"""

import functools
from dataclasses import dataclass
from pathlib import Path

from exporters.request_fields import check_fields
from exporters.training import settings as made
from exporters.training.settings import POWERBERT
from models_tf import limits, registry
from models_tf.checkpoints.folder import is_hub_id
from models_tf.checkpoints.kind import token_model_of
from models_tf.compress.settings import Compression
from models_tf.errors import InputError, naming_fields
from models_tf.ops.projection.config import FEATURES
from models_tf.tokenizers.files import TOKENIZER_FILES
from models_tf.training.settings import TrainingSettings
from models_tf.training.token_settings import NO_VOCABULARY, VOCABULARIES, TokenSettings

DEFAULT_MODEL = "prado"
MIRRORED, WORKERS = "mirrored", "workers"
DISTRIBUTIONS = (MIRRORED, WORKERS)
_KINDS = {registry.PROJECTION: "projection", registry.TOKENS: "token"}
# Fields that only one kind of model reads.
_ONLY_FOR = {
    registry.PROJECTION: (
        "features", "distortion", "swap", "class_weights", "teacher_logits"
    ),
    registry.TOKENS: (
        "task", "text_pair_column", "vocab", "preset", "checkpoint", "weight_decay", "init_from_teacher",
        "hidden_weight", "attention_weight", "freeze_embedding", "movement", "movement_keep", "movement_overrides",
        "transfer", "transfer_epochs", "transfer_overrides", "distill_epochs", "distill_learning_rate", "loose_tags",
        "compression", "vocab_data",
    ),
}  # fmt: skip
_ONLY_FOR_POWERBERT = ("fine_tune_epochs", "search_epochs", "keep_share", "search_overrides")
# Fields that need another one.
_NEEDS = {
    "transfer_epochs": "transfer", "transfer_overrides": "transfer", "movement_keep": "movement",
    "movement_overrides": "movement", "distill_epochs": "unlabelled", "distill_learning_rate": "unlabelled",
    "label_separator": "multi_label",
}  # fmt: skip
_NEEDS_TEACHER = ("teacher_weight", "temperature")


@dataclass(frozen=True, kw_only=True)
class TrainRequest:
    """One training, into the checkpoint folder `output`. None means the default of the kind of model (see `--help`); a
    wrong type or combination is an InputError.

    Every model: `train` and `dev` are labelled files, and `dev` picks the best epoch. `model`, if it is not named, is
    that of the folder `checkpoint`, else prado. `force` replaces an earlier output, `resume` continues a training that
    was stopped. `overrides` are KEY=VALUE texts for fields of the model's config. `teacher` are checkpoints to distill
    from, with `teacher_weight` and `temperature`. Of the texts `unlabelled` only the teacher's answers are learned:
    beside the rows of `train` by projection models, before them by taggers. `tensorboard` is a folder for a log that
    TensorBoard reads; empty: `tensorboard` inside of `output`. `distribute` trains on all devices of this machine
    (`mirrored`) or on several processes (`workers`, by the environment's TF_CONFIG).

    Classification: with `multi_label` a row has several labels, separated by `label_separator`, or none.

    Projection models: `teacher_logits` is a .npy file with one row per row of `train`, then of `unlabelled`.

    Token models: `checkpoint` is fine-tuned; without it, a new model in the sizes of `preset` starts with the
    vocabulary `vocab`. `compression` makes it smaller first, choosing on the rows of `train`; a pruned vocabulary keeps
    the tokens of `vocab_data` (default: the texts of the training). `movement` prunes weights during the training,
    `transfer` learns from the teacher before it. powerbert only: `fine_tune_epochs`, `search_epochs`
    and `keep_share` control the search for the tokens to keep.
    """

    train: Path
    dev: Path
    output: Path
    model: str = ""
    force: bool = False
    resume: bool = False
    text_column: str | None = None
    label_column: str | None = None
    multi_label: bool = False
    label_separator: str | None = None
    max_seq_len: int | None = None
    overrides: tuple[str, ...] = ()
    epochs: int | None = None
    batch_size: int | None = None
    accumulate: int | None = None
    learning_rate: float | None = None
    label_smoothing: float | None = None
    average: float | None = None
    patience: int | None = None
    save_minutes: float | None = None
    seed: int | None = None
    teacher: tuple[Path, ...] = ()
    teacher_weight: float | None = None
    temperature: float | None = None
    unlabelled: Path | None = None
    tensorboard: str | None = None
    distribute: str | None = None

    features: str | None = None
    distortion: float | None = None
    swap: float | None = None
    class_weights: str | None = None
    teacher_logits: Path | None = None

    task: str | None = None
    checkpoint: Path | None = None
    vocab: Path | None = None
    preset: str | None = None
    text_pair_column: str | None = None
    weight_decay: float | None = None
    hidden_weight: float | None = None
    attention_weight: float | None = None
    freeze_embedding: bool = False
    init_from_teacher: bool = False
    movement: str | None = None
    movement_keep: float | None = None
    movement_overrides: tuple[str, ...] = ()
    transfer: str | None = None
    transfer_epochs: int | None = None
    transfer_overrides: tuple[str, ...] = ()
    distill_epochs: int | None = None
    distill_learning_rate: float | None = None
    loose_tags: bool = False
    compression: Compression | None = None
    vocab_data: tuple[Path, ...] = ()
    fine_tune_epochs: int | None = None
    search_epochs: int | None = None
    keep_share: float | None = None
    search_overrides: tuple[str, ...] = ()

    @naming_fields()
    def __post_init__(self) -> None:
        check_fields(self)
        if not self.model and self.checkpoint is not None and is_hub_id(self.checkpoint):
            raise InputError(
                f"A checkpoint of the hub needs --model, one of {', '.join(registry.names(registry.TOKENS))}. "
                f"Received: --checkpoint {self.checkpoint} without it."
            )
        if not self.model:
            object.__setattr__(self, "model", (self.checkpoint and token_model_of(self.checkpoint)) or DEFAULT_MODEL)
        self._check_model()
        for name, needed in _NEEDS.items():
            if self.is_given(name) and (not self.is_given(needed) or getattr(self, needed) == "none"):
                shown = f" {getattr(self, name)!r}" if name == "label_separator" else ""
                raise InputError(f"{flag_of(name)} needs {flag_of(needed)}. Received: {flag_of(name)}{shown} alone.")
        self._check_distributed()
        for name in _NEEDS_TEACHER:
            if self.is_given(name) and not (self.teacher or self.teacher_logits):
                raise InputError(
                    f"{flag_of(name)} needs --teacher or --teacher-logits. "
                    f"Received: {flag_of(name)} {getattr(self, name)} alone."
                )
        if self.kind == registry.TOKENS:
            self._check_tokens()
        else:
            self._check_projection()
        self.settings  # noqa: B018 - checks the numbers
        if self.kind == registry.TOKENS:
            self._check_vocabulary()

    def _check_model(self) -> None:
        """Fields that the model does not read."""
        kind = self.kind
        for other, names in _ONLY_FOR.items():
            for name in names:
                if other != kind and self.is_given(name):
                    flag = flag_of(name)
                    raise InputError(
                        f"{flag} is for {_KINDS[other]} models ({', '.join(registry.names(other))}). "
                        f"Received: {flag} with --model {self.model}."
                    )
        for name in _ONLY_FOR_POWERBERT:
            if self.model != POWERBERT and self.is_given(name):
                flag = flag_of(name)
                raise InputError(f"{flag} is for --model powerbert. Received: {flag} with --model {self.model}.")

    def _check_distributed(self) -> None:
        if self.distribute is None:
            return
        if self.distribute not in DISTRIBUTIONS:
            raise InputError(f"--distribute must be one of {', '.join(DISTRIBUTIONS)}. Received: {self.distribute}.")
        if self.movement is not None or self.model == POWERBERT:
            other = "--movement" if self.movement is not None else f"--model {POWERBERT}"
            raise InputError(
                "--distribute is not for trainings that choose weights or tokens on the way. "
                f"Received: it with {other}."
            )
        if self.compression and self.compression.needs_gradients:
            other = "--prune-ffn" if self.compression.prune_ffn else "--prune-heads"
            raise InputError(
                "--distribute is not for a compression that measures importance by gradients. "
                f"Received: it with {other}. Remedy: `export-mobile compress` first, then train its output."
            )

    def _check_projection(self) -> None:
        if self.features is not None and self.features not in FEATURES:
            raise InputError(f"--features must be one of {', '.join(FEATURES)}. Received: {self.features}.")
        if self.max_seq_len is not None and self.max_seq_len < 1:
            raise InputError(f"--max-seq-len must be at least 1. Received: {self.max_seq_len}.")
        limits.check("tokens", self.max_seq_len or 0, "--max-seq-len")
        if self.swap and not registry.get(self.model).config_class().reads_order:
            raise InputError(f"--swap is for models that read the order of tokens. Received: --model {self.model}.")

    def _check_tokens(self) -> None:
        wanted = self.compression
        if self.vocab_data and not (wanted and wanted.prune_vocab):
            raise InputError("--vocab-data needs --prune-vocab. Received: --vocab-data alone.")
        if self.checkpoint is not None and self.preset is not None:
            raise InputError("--preset is for a new model. Received: --preset with --checkpoint.")
        if wanted and not self.checkpoint and (wanted.drop_layers or wanted.changes_width or wanted.ghosts is not None):
            raise InputError(
                "--drop-layers, --prune-heads, --prune-ffn and --ghosts make a --checkpoint smaller. "
                "Received: no --checkpoint."
            )

    def _check_vocabulary(self) -> None:
        """Sizes and vocabulary of a new model; whether a teacher has one is seen when it is read."""
        if self.vocab is not None and not self.vocab.exists():
            raise InputError(f"--vocab must be {VOCABULARIES}. Received: {self.vocab} (no such file).")
        if self.checkpoint is None:
            registry.get(self.model).family().preset(self.preset)
            if self.vocab is None and not self.teacher:
                raise InputError(NO_VOCABULARY)

    def is_given(self, name: str) -> bool:
        """Whether a field was set: a number may be 0."""
        value = getattr(self, name)
        return not (value is None or value is False or value == ())

    @property
    def kind(self) -> str:
        """What the model takes: `registry.PROJECTION` or `registry.TOKENS`."""
        return registry.get(self.model).kind

    @property
    def inputs(self) -> tuple[tuple[str, Path | None], ...]:
        """The files and folders that are read, with their flags: the output must not be among them."""
        names = ("train", "dev", "checkpoint", "unlabelled", "teacher_logits")
        # Only the tokenizer of a folder is read: the output may be beside it.
        places = [self.vocab / name for name in TOKENIZER_FILES] if self.vocab else []
        several = [("--vocab", path) for path in places] + [("--teacher", path) for path in self.teacher]
        several += [("--vocab-data", path) for path in self.vocab_data]
        return (*((flag_of(name), getattr(self, name)) for name in names), *several)

    @functools.cached_property
    def settings(self) -> TokenSettings | TrainingSettings:
        """How to train: `TokenSettings` for token models, else `TrainingSettings`."""
        try:
            return made.for_tokens(self) if self.kind == registry.TOKENS else made.for_projection(self)
        except InputError:
            raise
        except ValueError as error:
            raise InputError(str(error)) from error


def flag_of(name: str) -> str:
    """The flag of a field, for messages."""
    return "--" + ("set" if name == "overrides" else name.replace("_overrides", "_set").replace("_", "-"))
