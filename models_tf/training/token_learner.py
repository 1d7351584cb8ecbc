"""How token models learn a task: from the labels, from a teacher's logits that were computed before, and from its
inside; movement pruning on the way if asked for.
"""

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from models_tf.atomic_files import write_files
from models_tf.compress.cli import RECORD_FILE
from models_tf.encoder.model import Encoder
from models_tf.huggingface import checkpoint
from models_tf.huggingface.checkpoint import EncoderCheckpoint
from models_tf.huggingface.folder import CONFIG_FILE, TOKENIZER_FILES
from models_tf.huggingface.weights import WEIGHTS_FILE
from models_tf.json_text import parse_json
from models_tf.spec import MASK
from models_tf.tasks.rows import TaskRows
from models_tf.training.adamw import AdamW
from models_tf.training.batches import like_length
from models_tf.training.inner_distillation import InnerDistillation
from models_tf.training.learner import MAIN_STAGE, Measured
from models_tf.training.movement import SCORE, Movement
from models_tf.training.output import TrainingOutput
from models_tf.training.schedule import WarmupCosine
from models_tf.training.token_batches import INPUTS, Predictor, activations, lengths_of
from models_tf.training.token_losses import task_loss, teacher_loss
from models_tf.training.token_settings import TokenSettings
from models_tf.training.transfer import Transfer
from models_tf.training.transfer_settings import NONE

TRAINING_FILE = "training.json"
OUTPUT_FILES = (CONFIG_FILE, WEIGHTS_FILE, *TOKENIZER_FILES, TRAINING_FILE, RECORD_FILE)
TRANSFER_STAGE = "transfer"
PRUNING_STAGE = "movement"  # until the final sparsity is reached
_TARGET, _SOFT = "target:", "soft:"
# What stays as it is with --freeze-embedding.
_EMBEDDING = ("word_embedding", "position_embedding", "segment_embedding", "embedding_")
# Logits of a ghost's kernel go through a softmax: at a rate for weights they would hardly move.
_GHOST_PACE = 100.0


class TokenLearner:
    """A `Learner`; the folder that it writes is one of Hugging Face's form and `training.json`."""

    def __init__(
        self,
        student: EncoderCheckpoint,
        train: TaskRows,
        dev: TaskRows,
        *,
        settings: TokenSettings,
        output: TrainingOutput,
        command: str,
        soft: Mapping[str, np.ndarray] | None = None,
        teacher: EncoderCheckpoint | None = None,
        beside: Mapping[str, bytes] | None = None,
    ) -> None:
        """`soft` are a teacher's outputs on the rows of `train`, by name; `teacher` is needed to learn its inside. Files
        `beside` are written with every checkpoint.
        """
        self.student, self.train, self.dev = student, train, dev
        self.settings, self.output, self.command, self.soft = settings, output, command, dict(soft or {})
        self.beside = dict(beside or {})
        self.model = Encoder(student.config, student.head, student.tensors)
        self.lengths = lengths_of(train.inputs)
        self.steps_per_epoch = math.ceil(len(train) / settings.batch_size)
        self.weights = list(self.model.table.values())
        frozen = _EMBEDDING if settings.frozen_embedding else ()
        learning = {name: weight for name, weight in self.model.table.items() if not name.startswith(frozen)}
        transfer_epochs = 0
        self.transfer: Transfer | None = None
        self.inner: InnerDistillation | None = None
        self.movement: Movement | None = None
        if teacher is not None and (settings.transfer != NONE or settings.reads_inside):
            self.teacher = Encoder(teacher.config, teacher.head, teacher.tensors)
        if teacher is not None and settings.reads_inside:
            self.inner = InnerDistillation(
                student.config,
                teacher.config,
                hidden_weight=settings.hidden_weight,
                attention_weight=settings.attention_weight,
                seed=settings.seed,
            )
            learning |= self.inner.maps
        if settings.movement:
            self.movement = Movement(self.model.table, settings.movement, settings.epochs * self.steps_per_epoch)
            learning |= self.movement.scores
        self.trained = list(learning.values())
        self.optimizers = {
            MAIN_STAGE: self._adam(learning, settings.learning_rate, settings.epochs, paces=_paces(learning, settings))
        }
        if teacher is not None and settings.transfer != NONE:
            transfer_epochs = settings.transfer_epochs
            self._prepare_transfer(teacher, transfer_epochs)
        self.transfer_epochs, self.epochs = transfer_epochs, transfer_epochs + settings.epochs
        own = {variable.ref() for variable in self.weights}
        more = [variable for variable in self.trained if variable.ref() not in own]
        more += self.movement.held if self.movement else []
        self.state = [*more, *(variable for adam in self.optimizers.values() for variable in adam.variables)]
        self.predict = Predictor(self.model, self._table)

    def _prepare_transfer(self, teacher: EncoderCheckpoint, epochs: int) -> None:
        settings, steps = self.settings, epochs * self.steps_per_epoch
        transfer = Transfer(
            self.model.config,
            teacher.config,
            kind=settings.transfer,
            settings=settings.transfer_settings,
            steps=steps,
            seed=settings.seed,
        )
        weights = {**self.model.table, **transfer.maps}
        rate = settings.transfer_settings.learning_rate or settings.learning_rate
        adam = self._adam(weights, rate, epochs, paces=lambda step: transfer.paces(list(weights), step))
        self.transfer, self.optimizers[TRANSFER_STAGE] = transfer, adam
        self.trained += transfer.maps.values()

    def _adam(self, weights: Mapping[str, tf.Variable], rate: float, epochs: int, **more: Any) -> AdamW:
        settings = self.settings
        schedule = WarmupCosine(rate, settings.warmup, epochs * self.steps_per_epoch)
        return AdamW(
            weights,
            schedule,
            weight_decay=settings.weight_decay,
            clip_norm=settings.clip_norm,
            frozen_rows={"word_embedding": self.student.config.pad_id},
            **more,
        )

    def _table(self) -> Mapping[str, Any]:
        """The weights that answer: of movement pruning the masked ones."""
        return self.movement.table(self.model.table) if self.movement else self.model.table

    def stage(self, epoch: int) -> str:
        if epoch < self.transfer_epochs:
            return TRANSFER_STAGE
        # An epoch with more weights than the last ones would win, and be no result.
        steps = (epoch + 1 - self.transfer_epochs) * self.steps_per_epoch
        return PRUNING_STAGE if self.movement and not self.movement.is_final(steps) else MAIN_STAGE

    def optimizer(self, stage: str) -> AdamW:
        return self.optimizers[TRANSFER_STAGE if stage == TRANSFER_STAGE else MAIN_STAGE]

    def signature(self, stage: str) -> dict[str, tf.TensorSpec]:  # noqa: ARG002 - the protocol's
        arrays = self._arrays()
        return {
            name: tf.TensorSpec((None, None, *value.shape[2:])[: value.ndim] if places else (None, *value.shape[1:]),
                                tf.as_dtype(value.dtype))
            for name, (value, places) in arrays.items()
        }  # fmt: skip

    def batches(self, epoch: int, skip: int) -> Iterator[tuple[int, dict[str, tf.Tensor]]]:
        generator, arrays = np.random.default_rng((self.settings.seed, epoch)), self._arrays()
        for index, rows in enumerate(like_length(self.lengths, self.settings.batch_size, generator)):
            if index < skip:
                continue
            if self.movement and epoch >= self.transfer_epochs:
                self.movement.before_step(self._main_steps())
            length = int(self.lengths[rows].max())
            batch = {
                name: tf.constant(value[rows, :length] if places else value[rows])
                for name, (value, places) in arrays.items()
            }
            yield len(rows), batch

    def loss(self, stage: str, batch: dict[str, tf.Tensor]) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        if stage == TRANSFER_STAGE:
            return self._transfer_loss(batch)
        settings, targets, soft = self.settings, _part(batch, _TARGET), _part(batch, _SOFT)
        whole = bool(settings.attention_weight)  # maps of all tokens, of the last layer too
        found = activations(self.model, batch, training=True, whole=whole, table=self._table())
        outputs = found.outputs
        loss, hits = task_loss(settings.task, outputs, targets, settings.label_smoothing)
        if soft:
            taught = teacher_loss(settings.task, outputs, soft, targets, batch[MASK], temperature=settings.temperature)
            loss = (1.0 - settings.teacher_weight) * loss + settings.teacher_weight * taught
        if self.inner is not None:
            wanted = activations(self.teacher, batch, training=False, whole=whole or self.inner.reads_last)
            loss += self.inner.loss(found, wanted, batch[MASK])
        total = loss + self.movement.penalty() if self.movement and self.movement.penalized else loss
        return loss, total, hits

    def evaluate(self) -> Measured:
        if self.movement:
            self.movement.refresh(self._main_steps())
        self.score = self.dev.score(self.predict(self.dev.inputs))
        # A correlation with a constant is no number; nothing is worse.
        value = self.score.value / 100 if math.isfinite(self.score.value) else -1.0
        return Measured(value=value, rows=self.score.n)

    def tensors(self) -> dict[str, np.ndarray]:
        tensors = self.model.tensors()
        return self.movement.bake(tensors) if self.movement else tensors

    def save(self, tensors: dict[str, np.ndarray], record: dict[str, Any]) -> None:
        best = checkpoint.with_tensors(self.student, tensors)
        document = {
            "metric": self.score.metric,
            "dev_score": self.score.value,
            "dev_rows": self.score.n,
            "dev_standard_error": self.score.standard_error,
            "dev_more": dict(self.score.more),
            "best": record,
            **self.fingerprint(),
            "command": self.command,
        }
        if self.movement:
            document["movement_kept"] = self.movement.kept()
        if self.score.exact_match is not None:
            document["dev_exact_match"] = self.score.exact_match

        def write(folder: Any) -> None:
            checkpoint.save(folder, best, beside=self.beside)
            self._write_document(document)

        self.output.save_checkpoint(write)

    def finish(self, result: dict[str, Any]) -> dict[str, Any]:
        path = self.output.folder / TRAINING_FILE
        document = parse_json(path.read_bytes(), f"{path} must be JSON.")
        document |= {"best_epoch": result["best_epoch"], "epochs_run": result["epochs"], "seconds": result["seconds"]}
        self.output.save_checkpoint(lambda _folder: self._write_document(document))
        kept = ("metric", "dev_score", "dev_rows", "dev_standard_error", "dev_more", "dev_exact_match", "movement_kept")
        return {**{key: document[key] for key in kept if key in document}, **result}

    def fingerprint(self) -> dict[str, Any]:
        student = self.student
        return {
            "model": student.model_name,
            "config": student.config.to_dict(),
            "head": student.head.kind,
            "labels": student.labels,
            **self.settings.to_dict(),
        }

    def _transfer_loss(self, batch: dict[str, tf.Tensor]) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """Without dropout, as in the paper's code."""
        if self.transfer is None:
            raise ValueError("A transfer needs a teacher. Received: none.")
        inputs = [batch[name] for name in INPUTS]
        student, teacher = self.model.activations(*inputs), self.teacher.activations(*inputs)
        loss = self.transfer.loss(student, teacher, batch[MASK], self.optimizers[TRANSFER_STAGE].iterations)
        return loss, loss, tf.constant(math.nan)

    def _main_steps(self) -> int:
        return int(self.optimizers[MAIN_STAGE].iterations.numpy())

    def _arrays(self) -> dict[str, tuple[np.ndarray, bool]]:
        """What a batch is cut from, and whether it has a place for each token."""
        found = {name: (self.train.inputs[name], True) for name in INPUTS}
        for name, value in (self.train.targets or {}).items():
            found[_TARGET + name] = (value, value.ndim > 1)
        for name, value in self.soft.items():
            found[_SOFT + name] = (value, not self.model.head.reads_pooled)
        return found

    def _write_document(self, document: dict[str, Any]) -> None:
        write_files(self.output.folder, {TRAINING_FILE: (json.dumps(document, indent=2) + "\n").encode()})


def _paces(learning: Mapping[str, tf.Variable], settings: TokenSettings) -> Any:
    """Factors of learning rates, where there are ghosts or scores."""
    factors = {name: _GHOST_PACE for name in learning if ".ghost_" in name and name.endswith(".kernel")}
    if settings.movement:
        pace = settings.movement.score_rate / settings.learning_rate
        factors |= {name: pace for name in learning if name.endswith(SCORE)}
    return (lambda step: {name: (factor, step) for name, factor in factors.items()}) if factors else None


def _part(batch: dict[str, tf.Tensor], prefix: str) -> dict[str, tf.Tensor]:
    return {name.removeprefix(prefix): value for name, value in batch.items() if name.startswith(prefix)}
