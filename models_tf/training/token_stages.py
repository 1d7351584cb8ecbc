"""The stages of a token model's training: a teacher's inner states, its tags of other texts, then the task.

The task may take several stages: with all tokens, in search of the tokens to keep, until the last weight is pruned, and
with what is left. `token_plan.py` chooses the stages of a training.
"""

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from models_tf.encoder.batches import INPUTS, activations
from models_tf.encoder.config import EncoderConfig
from models_tf.encoder.model import Encoder
from models_tf.layers.dropout import Draws
from models_tf.spec import LOGITS, MASK
from models_tf.tasks.losses import label_count, task_loss, teacher_loss
from models_tf.training.inner_distillation import InnerDistillation
from models_tf.training.movement import Movement
from models_tf.training.power import RetentionSearch
from models_tf.training.stage import LABELS, ROWS, TOKENS, Batch, Shares, Stage, weighted
from models_tf.training.task_batches import soft_of, targets_of
from models_tf.training.token_settings import TokenSettings
from models_tf.training.transfer import Transfer
from models_tf.training.unlabelled import PLACE, SOFT, words_loss

Losses = tuple[tf.Tensor, tf.Tensor, tf.Tensor]


@dataclass(frozen=True, kw_only=True)
class TransferStage(Stage):
    """Learns the teacher's hidden states and attention; without dropout, as in the paper's code."""

    model: Encoder
    teacher: Encoder
    transfer: Transfer

    def sizes(self, batch: Batch) -> dict[str, tf.Tensor]:
        return _sizes(batch)

    def loss(self, batch: Batch, draws: Draws, shares: Shares = None) -> Losses:  # noqa: ARG002 - the stages'
        inputs = [batch[name] for name in INPUTS]
        student, teacher = self.model.activations(*inputs), self.teacher.activations(*inputs)
        loss = self.transfer.loss(student, teacher, batch[MASK], self.optimizer.iterations)
        loss = weighted(loss, shares, TOKENS)
        return loss, loss, tf.constant(math.nan)


@dataclass(frozen=True, kw_only=True)
class DistillStage(Stage):
    """Learns the teacher's tags of texts without labels."""

    model: Encoder
    temperature: float

    def sizes(self, batch: Batch) -> dict[str, tf.Tensor]:
        return {**_sizes(batch), LABELS: tf.cast(tf.shape(batch[PLACE])[0], tf.float32)}

    def part(self, batch: Batch, start: tf.Tensor, end: tf.Tensor) -> Batch:
        row = batch[PLACE][:, 0]
        inside = (row >= start) & (row < end)
        found = super().part({name: batch[name] for name in INPUTS}, start, end)
        place = tf.boolean_mask(batch[PLACE], inside) - tf.stack([start, 0])
        return {**found, PLACE: place, SOFT: tf.boolean_mask(batch[SOFT], inside)}

    def loss(self, batch: Batch, draws: Draws, shares: Shares = None) -> Losses:
        logits = activations(self.model, batch, draws=draws).outputs[LOGITS]
        loss, alike = words_loss(logits, batch[PLACE], batch[SOFT], self.temperature)
        loss = weighted(loss, shares, LABELS)
        return loss, loss, alike


@dataclass(frozen=True, kw_only=True)
class TaskStage(Stage):
    """Learns the task from labels, a teacher's logits and, with `inner`, the inner states of the `teacher`."""

    model: Encoder
    settings: TokenSettings
    inner: InnerDistillation | None
    teacher: Encoder | None

    @property
    def config(self) -> EncoderConfig:
        """All tokens are kept."""
        return dataclasses.replace(self.model.config, retention=())

    def table(self) -> Mapping[str, Any]:
        """The weights in use."""
        return self.model.table

    def sizes(self, batch: Batch) -> dict[str, tf.Tensor]:
        return {**_sizes(batch), LABELS: label_count(self.settings.task, targets_of(batch))}

    def loss(self, batch: Batch, draws: Draws, shares: Shares = None) -> Losses:
        return self._task_loss(batch, draws, shares)

    def _task_loss(self, batch: Batch, draws: Draws, shares: Shares, search: RetentionSearch | None = None) -> Losses:
        settings, targets, soft = self.settings, targets_of(batch), soft_of(batch)
        whole = bool(settings.attention_weight)  # maps of all tokens, in the last layer too
        found = activations(
            self.model,
            batch,
            draws=draws,
            whole=whole,
            table=self.table(),
            config=self.config,
            soft_retention=search.factors() if search else None,
        )
        outputs = found.outputs
        loss, hits = task_loss(settings.task, outputs, targets, settings.label_smoothing)
        if soft:
            taught = teacher_loss(settings.task, outputs, soft, targets, batch[MASK], temperature=settings.temperature)
            loss = (1.0 - settings.teacher_weight) * loss + settings.teacher_weight * taught
        loss = weighted(loss, shares, LABELS)
        if self.inner is not None and self.teacher is not None:
            wanted = activations(self.teacher, batch, whole=whole or self.inner.reads_last)
            loss += weighted(self.inner.loss(found, wanted, batch[MASK]), shares, TOKENS)
        return loss, loss, hits


@dataclass(frozen=True, kw_only=True)
class SearchStage(TaskStage):
    """Learns which tokens to keep together with the task; none is dropped yet."""

    search: RetentionSearch

    def loss(self, batch: Batch, draws: Draws, shares: Shares = None) -> Losses:
        loss, total, hits = self._task_loss(batch, draws, shares, self.search)
        return loss, total + weighted(self.search.penalty(), shares, ROWS), hits


@dataclass(frozen=True, kw_only=True)
class FinalStage(TaskStage):
    """Trains the model that is kept: with the tokens that the `search` before it found, with `movement` pruning."""

    search: RetentionSearch | None
    movement: Movement | None

    @property
    def config(self) -> EncoderConfig:
        config = self.model.config
        return dataclasses.replace(config, retention=self.search.lengths()) if self.search else config

    def table(self) -> Mapping[str, Any]:
        return self.movement.table(self.model.table) if self.movement else self.model.table

    def loss(self, batch: Batch, draws: Draws, shares: Shares = None) -> Losses:
        loss, total, hits = self._task_loss(batch, draws, shares)
        if self.movement and self.movement.penalized:
            total += weighted(self.movement.penalty(), shares, ROWS)
        return loss, total, hits

    def note(self) -> str:
        if not self.search:
            return ""
        kept = " ".join(map(str, self.search.lengths()))
        return f"found: of {self.settings.max_seq_len} tokens the layers keep {kept}"

    def before_step(self) -> None:
        if self.movement:
            self.movement.before_step(self.steps_done())

    def steps_done(self) -> int:
        return int(self.optimizer.iterations.numpy())


def _sizes(batch: Batch) -> dict[str, tf.Tensor]:
    mask = batch[MASK]
    return {ROWS: tf.cast(tf.shape(mask)[0], tf.float32), TOKENS: tf.reduce_sum(tf.cast(mask, tf.float32))}
