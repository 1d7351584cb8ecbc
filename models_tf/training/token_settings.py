"""`TokenSettings`: how to train a token model, apart from its config."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from models_tf.data import DEFAULT_SEPARATOR, check_separator
from models_tf.tasks import CLASSIFICATION, TASKS, TOKEN_CLASSIFICATION, check_task, head_of_task
from models_tf.tokenizers.files import TOKENIZER, VOCAB
from models_tf.training.movement_settings import MovementSettings
from models_tf.training.power_settings import PowerSettings
from models_tf.training.settings import LoopSettings
from models_tf.training.transfer_settings import NONE, TRANSFERS, TransferSettings

HEAD_OF_TASK = {task: head_of_task(task) for task in TASKS}
# Where a training begins from random weights, and where it begins from trained ones.
SCRATCH: dict[str, Any] = {"learning_rate": 5e-4, "epochs": 10, "average": 0.999, "warmup": 0.05, "patience": 10}
FINE_TUNING: dict[str, Any] = {"learning_rate": 3e-5, "epochs": 3, "average": 0.0, "warmup": 0.1, "patience": 3}
VOCABULARIES = f"{VOCAB}, {TOKENIZER}, a file of SentencePiece, or a folder with a tokenizer"
NO_VOCABULARY = f"A new model needs --vocab: {VOCABULARIES}. Received: neither it nor a checkpoint."


@dataclass(frozen=True, kw_only=True)
class TokenSettings(LoopSettings):
    RANGES: ClassVar[dict[str, tuple[float, float]]] = {
        **LoopSettings.RANGES,
        "weight_decay": (0.0, 1.0),
        "max_seq_len": (4, 65_536),
        "transfer_epochs": (1, 100_000),
        "distill_epochs": (1, 100_000),
        "hidden_weight": (0.0, 1e6),
        "attention_weight": (0.0, 1e6),
    }
    PATHS: ClassVar[tuple[str, ...]] = (*LoopSettings.PATHS, "vocab", "unlabelled")

    task: str = CLASSIFICATION
    text_pair_column: str | None = None
    multi_label: bool = False  # several labels per text, or none
    label_separator: str = DEFAULT_SEPARATOR  # of several labels
    max_seq_len: int = 128
    vocab: Path | None = None
    preset: str | None = None
    checkpoint: str | None = None  # a folder or a hub id; None: from scratch
    init_from_teacher: bool = False
    label_smoothing: float = 0.0
    weight_decay: float = 0.01
    hidden_weight: float = 0.0  # of the teacher's hidden states in the loss
    attention_weight: float = 0.0  # of its attention maps
    freeze_embedding: bool = False
    movement: MovementSettings | None = None
    power: PowerSettings | None = None  # of PoWER-BERT
    unlabelled: Path | None = None  # texts to learn the teacher's tags of, before the labels
    distill_epochs: int = 3  # on them
    distill_learning_rate: float | None = None  # None: as `learning_rate`
    loose_tags: bool = False  # allow entities that begin with I- next to others that begin with B-
    transfer: str = NONE
    transfer_epochs: int = 1
    transfer_settings: TransferSettings = field(default_factory=TransferSettings)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_task(self.task)
        if self.multi_label and self.task != CLASSIFICATION:
            raise ValueError(f"--multi-label is for --task {CLASSIFICATION}. Received: --task {self.task}.")
        check_separator(self.label_separator)
        if len(self.teacher) > 1:
            raise ValueError(f"--teacher of a token model must be one. Received: {len(self.teacher)}.")
        if self.init_from_teacher and (not self.teacher or self.checkpoint):
            raise ValueError("--init-from-teacher needs a teacher and no checkpoint. Received: another combination.")
        for name in ("hidden_weight", "attention_weight"):
            if getattr(self, name) and not self.teacher:
                flag = "--" + name.replace("_", "-")
                raise ValueError(f"{flag} needs --teacher. Received: {flag} {getattr(self, name)} alone.")
        if self.movement and not self.checkpoint:
            raise ValueError("--movement needs --checkpoint, a trained model to prune. Received: --movement alone.")
        self._check_unlabelled()
        if self.transfer not in TRANSFERS:
            raise ValueError(f"--transfer must be one of {', '.join(TRANSFERS)}. Received: {self.transfer}.")
        if self.transfer != NONE and not self.teacher:
            raise ValueError(f"--transfer needs --teacher. Received: --transfer {self.transfer} alone.")

    def _check_unlabelled(self) -> None:
        rate = self.distill_learning_rate
        if rate is not None and not 1e-9 <= rate <= 10.0:
            raise ValueError(f"--distill-learning-rate must be 1e-09 to 10.0. Received: {rate}.")
        if self.unlabelled is None:
            return
        if not self.teacher:
            raise ValueError("--unlabelled needs --teacher, whose tags are learned. Received: --unlabelled alone.")
        if self.task != TOKEN_CLASSIFICATION:
            raise ValueError(
                f"--unlabelled is for --task {TOKEN_CLASSIFICATION}, and for --model prado and sgnn. "
                f"Received: --task {self.task}."
            )
        if self.movement or self.power:
            other = "--movement" if self.movement else "--model powerbert"
            raise ValueError(f"--unlabelled is not for models that are pruned in training. Received: it with {other}.")

    @property
    def reads_inside(self) -> bool:
        """Whether the teacher's hidden states or attention maps are learned beside the task."""
        return bool(self.hidden_weight or self.attention_weight)

    @property
    def frozen_embedding(self) -> bool:
        """With movement pruning always: scores of the layers are learned against an embedding that stays."""
        return self.freeze_embedding or self.movement is not None

    @property
    def from_scratch(self) -> bool:
        return self.checkpoint is None

    def to_dict(self) -> dict[str, Any]:
        values = super().to_dict()
        values["checkpoint"] = Path(self.checkpoint).name if self.checkpoint else None
        return values
