"""How models that take projection features learn: any of the registry, with one or many labels a row."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf
import tf_keras as keras

from models_tf.checkpoints import projection as checkpoint
from models_tf.data import DEFAULT_THRESHOLD
from models_tf.layers.dropout import Draws
from models_tf.tasks import several_labels
from models_tf.training import batches as data
from models_tf.training import losses
from models_tf.training.features import project
from models_tf.training.folder import TrainingFolder
from models_tf.training.learner import Measured
from models_tf.training.running_share import RunningShare
from models_tf.training.schedule import WarmupCosine
from models_tf.training.seeds import batch_seed
from models_tf.training.settings import TrainingSettings
from models_tf.training.stage import LABELS, MAIN_STAGE, ROWS, Batch, Shares, Stage, weighted
from models_tf.training.teacher import Teacher

EVALUATION_BATCH = 256
# The dev score is also measured with a typo in this part of the tokens.
TYPO_PROBABILITY = 0.2
_LABELLED = "labelled"  # rows that have a label


class ProjectionBatches:
    """Texts with their features, some of them with typos, and targets."""

    def __init__(self, examples: data.Examples, config: Any, settings: TrainingSettings) -> None:
        self.examples, self.config, self.settings = examples, config, settings
        self.steps_per_epoch = math.ceil(examples.rows / settings.batch_size)
        self.dtype = tf.float32 if config.multi_label else tf.int32

    def signature(self) -> dict[str, tf.TensorSpec]:
        features = (None, None, self.config.projection.feature_size)
        return {
            "texts": tf.TensorSpec((None,), tf.string),
            "rows": tf.TensorSpec((None,), tf.int64),
            "features": tf.TensorSpec(features, tf.int8),
            "targets": tf.TensorSpec(self._target_shape(), self.dtype),
        }

    def batches(self, epoch: int, skip: int) -> Iterator[tuple[int, dict[str, tf.Tensor]]]:
        def produce() -> Iterator[tuple[Any, Any, Any, int]]:
            generator = np.random.default_rng((self.settings.seed, epoch))
            stream = data.mixed_batches(self.examples, self.settings.batch_size, generator)
            for index, batch in enumerate(stream):
                if index >= skip:
                    yield batch.texts, batch.rows, batch.targets, batch_seed(self.settings.seed, epoch, index)

        dataset = tf.data.Dataset.from_generator(
            produce,
            output_signature=(
                tf.TensorSpec((None,), tf.string),
                tf.TensorSpec((None,), tf.int64),
                tf.TensorSpec(self._target_shape(), self.dtype),
                tf.TensorSpec((), tf.int64),
            ),
        )

        def prepare(texts: tf.Tensor, rows: tf.Tensor, targets: tf.Tensor, seed: tf.Tensor) -> dict[str, tf.Tensor]:
            features = project(texts, self.config, distortion=self.settings.distortion, seed=seed)
            return {"texts": texts, "rows": rows, "features": features, "targets": targets}

        for batch in dataset.map(prepare).prefetch(2):
            yield int(batch["targets"].shape[0]), batch

    def _target_shape(self) -> tuple[int | None, ...]:
        return (None, len(self.examples.labels)) if self.config.multi_label else (None,)


@dataclass(frozen=True, kw_only=True)
class ProjectionStage(Stage):
    """The only stage: learns the labels, and from a teacher if there is one.

    Rows from `unlabelled_from` on have no labels: there the teacher's answers are all there is to learn.
    """

    model: Any
    teacher: Teacher | None
    settings: TrainingSettings
    class_weights: tf.Tensor
    unlabelled_from: int | None

    def sizes(self, batch: Batch) -> dict[str, tf.Tensor]:
        rows = tf.cast(tf.shape(batch["rows"])[0], tf.float32)
        labelled = self._labelled(batch)
        if self.model.config.multi_label:
            return {ROWS: rows, LABELS: rows, _LABELLED: rows}
        weights = tf.gather(self.class_weights, batch["targets"])
        known = rows if labelled is None else tf.reduce_sum(labelled)
        weights = weights if labelled is None else weights * labelled
        return {ROWS: rows, LABELS: tf.reduce_sum(weights), _LABELLED: known}

    def without_effect(self, part: Batch, counted: tf.Tensor) -> Batch:
        """A text without tokens is not among the statistics of the batch."""
        features = part["features"]
        return {**part, "features": features * tf.cast(counted, features.dtype)}

    def _labelled(self, batch: Batch) -> tf.Tensor | None:
        return None if self.unlabelled_from is None else tf.cast(batch["rows"] < self.unlabelled_from, tf.float32)

    def loss(self, batch: Batch, draws: Draws, shares: Shares = None) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        settings, multi, weight = self.settings, self.model.config.multi_label, self.settings.teacher_weight
        loss_of = losses.multi_label if multi else losses.single_label
        labelled = self._labelled(batch)
        logits = self.model(draws.swap_tokens(batch["features"], settings.swap), draws=draws)
        loss, hits = loss_of(logits, batch["targets"], self.class_weights, settings.label_smoothing, labelled)
        if shares is not None:  # the mean over labels, times the part of the rows that have one
            part = tf.math.divide_no_nan(shares[LABELS] * shares[ROWS], shares[_LABELLED])
            loss = tf.math.multiply_no_nan(loss, part)
        if self.teacher:
            soft = self.teacher.probabilities(batch["texts"], batch["rows"])
            if labelled is None:
                soft_loss = losses.distillation(logits, soft, settings.temperature, multi)
                loss = (1.0 - weight) * loss + weight * weighted(soft_loss, shares, ROWS)
            else:
                weights = 1.0 - (1.0 - weight) * labelled  # of a row without a label: 1
                soft_loss = losses.distillation(logits, soft, settings.temperature, multi, weights)
                loss = (1.0 - weight) * loss + weighted(soft_loss, shares, ROWS)
                hits += tf.reduce_sum(losses.like_teacher(logits, soft, multi) * (1.0 - labelled))
        return loss, tf.add_n([loss, *(weighted(term, shares, ROWS) for term in self.model.losses)]), hits


class ProjectionLearner:
    """A `Learner`; the folder that it writes is that of `models_tf.checkpoints.projection`."""

    def __init__(
        self,
        model: Any,
        model_name: str,
        examples: data.Examples,
        *,
        settings: TrainingSettings,
        folder: TrainingFolder,
        teacher: Teacher | None = None,
    ) -> None:
        self.model, self.model_name, self.settings, self.folder = model, model_name, settings, folder
        self.labels, self.dev_file, self.weights = examples.labels, examples.dev, model.weights
        batches = ProjectionBatches(examples, model.config, settings)
        steps = settings.epochs * settings.updates(batches.steps_per_epoch)
        schedule = WarmupCosine(settings.learning_rate, settings.warmup, steps)
        adam = keras.optimizers.Adam(schedule, global_clipnorm=settings.clip_norm or None)
        adam.build(model.trainable_variables)
        self.state = adam.variables
        weights = np.ones(len(self.labels))
        if settings.class_weights == "balanced":
            weights = examples.label_counts.sum() / (len(weights) * np.maximum(examples.label_counts, 1))
        stage = ProjectionStage(
            name=MAIN_STAGE,
            epochs=settings.epochs,
            data=batches,
            optimizer=adam,
            trained=model.trainable_variables,
            judged=True,
            model=model,
            teacher=teacher,
            settings=settings,
            class_weights=tf.constant(weights, tf.float32),
            unlabelled_from=examples.train_rows if examples.unlabelled else None,
        )
        self.stages: list[Stage] = [stage]

    def evaluate(self) -> Measured:
        found = self._measure()
        return Measured(value=found.share, rows=found.rows)

    def _measure(self, distortion: float = 0.0) -> RunningShare:
        """Accuracy on the dev file; with several labels per text micro F1 at a probability of 0.5."""
        found = RunningShare()
        for batch in data.batches(self.dev_file, self.labels, EVALUATION_BATCH, None):
            features = project(tf.constant(batch.texts), self.model.config, distortion=distortion)
            logits = self._infer(features).numpy()
            if self.model.config.multi_label:
                found.add(*several_labels.f1_parts(logits, batch.targets, threshold=DEFAULT_THRESHOLD))
            else:
                found.add(logits.argmax(-1) == batch.targets)
        return found

    def tensors(self) -> dict[str, np.ndarray]:
        return checkpoint.tensors(self.model)

    def save(self, tensors: dict[str, np.ndarray], record: dict[str, Any]) -> None:
        best = checkpoint.ProjectionCheckpoint(
            model_name=self.model_name,
            config=self.model.config,
            labels=list(self.labels),
            weights=tensors,
            training={**self.fingerprint(), "best": record},
        )
        self.folder.save_checkpoint(lambda folder: checkpoint.save(folder, best))

    def finish(self, result: dict[str, Any]) -> dict[str, Any]:
        best = checkpoint.load(self.folder.path)
        checkpoint.set_weights(self.model, best.weights)
        found, typos = self._measure(), self._measure(TYPO_PROBABILITY)
        shared = {"dev_rows": found.rows, "typo_probability": TYPO_PROBABILITY, **result}
        if self.model.config.multi_label:
            return {
                "metric": several_labels.METRIC,
                "dev_score": 100 * found.share,
                "dev_standard_error": 100 * found.standard_error,
                "dev_score_with_typos": 100 * typos.share,
                **shared,
            }
        return {
            "dev_accuracy": found.share,
            "dev_standard_error": found.standard_error,
            "dev_accuracy_with_typos": typos.share,
            **shared,
        }

    def fingerprint(self) -> dict[str, Any]:
        return {"model": self.model_name, "config": self.model.config.to_dict(), **self.settings.to_dict()}

    @tf.function(reduce_retracing=True)
    def _infer(self, features: tf.Tensor) -> tf.Tensor:
        return self.model.features_to_logits(features)
