"""How models that take projection features learn: any of the registry, with one or many labels a row."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import tensorflow as tf
import tf_keras as keras

from models_tf.checkpoints import projection as checkpoint
from models_tf.training import batches as data
from models_tf.training import losses
from models_tf.training.features import project
from models_tf.training.folder import TrainingFolder
from models_tf.training.learner import MAIN_STAGE, Measured
from models_tf.training.schedule import WarmupCosine
from models_tf.training.settings import TrainingSettings
from models_tf.training.teacher import Teacher

EVALUATION_BATCH = 256
# Dev accuracy is also measured with a typo in this part of the tokens.
TYPO_PROBABILITY = 0.2


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
        self.model, self.model_name, self.teacher = model, model_name, teacher
        self.labels, self.train_file, self.dev_file = examples.labels, examples.train, examples.dev
        self.settings, self.folder, self.epochs = settings, folder, settings.epochs
        self.steps_per_epoch = math.ceil(examples.train_rows / settings.batch_size)
        self.weights, self.trained = model.weights, model.trainable_variables
        self.dtype = tf.float32 if model.config.multi_label else tf.int32
        schedule = WarmupCosine(settings.learning_rate, settings.warmup, settings.epochs * self.steps_per_epoch)
        self.adam = keras.optimizers.Adam(schedule, global_clipnorm=settings.clip_norm or None)
        self.adam.build(model.trainable_variables)
        self.state = self.adam.variables
        weights = np.ones(len(self.labels))
        if settings.class_weights == "balanced":
            weights = examples.label_counts.sum() / (len(weights) * np.maximum(examples.label_counts, 1))
        self.class_weights = tf.constant(weights, tf.float32)

    def stage(self, epoch: int) -> str:  # noqa: ARG002 - the protocol's
        return MAIN_STAGE

    def steps_of(self, epoch: int) -> int:  # noqa: ARG002 - all are alike
        return self.steps_per_epoch

    def optimizer(self, stage: str) -> Any:  # noqa: ARG002 - the protocol's
        return self.adam

    def signature(self, stage: str) -> dict[str, tf.TensorSpec]:  # noqa: ARG002 - the protocol's
        features = (None, None, self.model.config.projection.feature_size)
        return {
            "texts": tf.TensorSpec((None,), tf.string),
            "rows": tf.TensorSpec((None,), tf.int64),
            "features": tf.TensorSpec(features, tf.int8),
            "targets": tf.TensorSpec(self._target_shape(), self.dtype),
        }

    def batches(self, epoch: int, skip: int) -> Iterator[tuple[int, dict[str, tf.Tensor]]]:
        def produce() -> Iterator[tuple[Any, Any, Any, int]]:
            generator = np.random.default_rng((self.settings.seed, epoch))
            stream = data.batches(self.train_file, self.labels, self.settings.batch_size, generator)
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
            features = project(texts, self.model.config, distortion=self.settings.distortion, seed=seed)
            return {"texts": texts, "rows": rows, "features": features, "targets": targets}

        for batch in dataset.map(prepare).prefetch(2):
            yield int(batch["targets"].shape[0]), batch

    def loss(self, stage: str, batch: dict[str, tf.Tensor]) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:  # noqa: ARG002
        settings, multi = self.settings, self.model.config.multi_label
        loss_of = losses.multi_label if multi else losses.single_label
        logits = self.model(batch["features"], training=True)
        loss, hits = loss_of(logits, batch["targets"], self.class_weights, settings.label_smoothing)
        if self.teacher:
            soft = self.teacher.probabilities(batch["texts"], batch["rows"])
            soft_loss = losses.distillation(logits, soft, settings.temperature, multi)
            loss = (1.0 - settings.teacher_weight) * loss + settings.teacher_weight * soft_loss
        return loss, tf.add_n([loss, *self.model.losses]), hits

    def evaluate(self, distortion: float = 0.0) -> Measured:
        """Accuracy on the dev file (multi-label: of single decisions)."""
        hits, rows = 0.0, 0
        for batch in data.batches(self.dev_file, self.labels, EVALUATION_BATCH, None):
            features = project(tf.constant(batch.texts), self.model.config, distortion=distortion)
            logits = self._infer(features).numpy()
            hits += _hits(logits, batch.targets, self.model.config.multi_label)
            rows += len(batch.texts)
        return Measured(value=hits / rows, rows=rows)

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
        found = self.evaluate()
        return {
            "dev_accuracy": found.value,
            "dev_rows": found.rows,
            "dev_standard_error": math.sqrt(found.value * (1 - found.value) / found.rows),
            "dev_accuracy_with_typos": self.evaluate(TYPO_PROBABILITY).value,
            "typo_probability": TYPO_PROBABILITY,
            **result,
        }

    def fingerprint(self) -> dict[str, Any]:
        return {"model": self.model_name, "config": self.model.config.to_dict(), **self.settings.to_dict()}

    def _target_shape(self) -> tuple[int | None, ...]:
        return (None, len(self.labels)) if self.model.config.multi_label else (None,)

    @tf.function(reduce_retracing=True)
    def _infer(self, features: tf.Tensor) -> tf.Tensor:
        return self.model.features_to_logits(features)


def batch_seed(seed: int, epoch: int, index: int) -> int:
    """The seed of a batch's typos: any seed of the user gives 63 random bits."""
    return int(np.random.SeedSequence((seed, epoch, index)).generate_state(1, np.uint64)[0] >> np.uint64(1))


def _hits(logits: np.ndarray, targets: np.ndarray, multi_label: bool) -> float:
    if multi_label:
        return float(((logits > 0) == (targets > 0.5)).mean(axis=-1).sum())
    return float((logits.argmax(-1) == targets).sum())
