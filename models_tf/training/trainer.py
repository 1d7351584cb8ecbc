"""The training loop: any model of the registry that takes projection features.

Labels may be one or many a row. The weights kept are the averaged ones of the best epoch on the dev
file. Leaves out: several machines, mixed precision.
"""

import math
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import tensorflow as tf
import tf_keras as keras

from models_tf import checkpoint
from models_tf.errors import InputError
from models_tf.training import batches as data
from models_tf.training import losses
from models_tf.training.features import project
from models_tf.training.output import TrainingOutput
from models_tf.training.progress import Progress
from models_tf.training.settings import TrainingSettings
from models_tf.training.state import Position, load_state
from models_tf.training.teacher import Teacher

EVALUATION_BATCH = 256
# Dev accuracy is also measured with a typo in this part of the tokens.
TYPO_PROBABILITY = 0.2


class Trainer:
    """Trains `model` and writes the checkpoint folder; `resume` goes on from the saved state."""

    def __init__(
        self,
        model: Any,
        model_name: str,
        examples: data.Examples,
        *,
        settings: TrainingSettings,
        output: TrainingOutput,
        progress: Progress,
        teacher: Teacher | None = None,
    ) -> None:
        self.teacher = teacher
        self.model, self.model_name = model, model_name
        self.labels, self.train_file, self.dev_file = examples.labels, examples.train, examples.dev
        self.settings, self.output, self.progress = settings, output, progress
        self.steps_per_epoch = math.ceil(examples.train_rows / settings.batch_size)
        self.dtype = tf.float32 if model.config.multi_label else tf.int32
        self.position = Position()
        schedule = _Schedule(settings.learning_rate, settings.warmup, settings.epochs * self.steps_per_epoch)
        self.optimizer = keras.optimizers.Adam(schedule, global_clipnorm=settings.clip_norm or None)
        self.optimizer.build(model.trainable_variables)
        self.averages = [tf.Variable(w, trainable=False) for w in model.weights] if settings.average else []
        weights = np.ones(len(self.labels))
        if settings.class_weights == "balanced":
            weights = examples.label_counts.sum() / (len(weights) * np.maximum(examples.label_counts, 1))
        self.class_weights = tf.constant(weights, tf.float32)

    def run(self, *, resume: bool) -> dict[str, Any]:
        settings, position = self.settings, self.position
        if resume:
            variables = self._state_variables()
            shapes = [tuple(variable.shape) for variable in variables]
            self.position, arrays = load_state(self.output.folder, self._fingerprint(), shapes)
            position = self.position
            for variable, value in zip(variables, arrays, strict=True):
                variable.assign(value)
        began = time.monotonic() - position.seconds
        for epoch in range(position.epoch, settings.epochs):
            loss, hits, rows = self._train_epoch(epoch, began)
            record = {"epoch": epoch, "loss": loss / rows, "train_accuracy": hits / rows}
            with self._averaged():
                record["dev_accuracy"], record["dev_rows"] = self.evaluate()
                if record["dev_accuracy"] > position.best_accuracy:
                    position.better_epoch = epoch
                # A tie goes to the later epoch: its learning rate was lower, its average longer.
                improved = record["dev_accuracy"] >= position.best_accuracy
                if improved:
                    position.best_accuracy, position.best_epoch = record["dev_accuracy"], epoch
                    self._write_checkpoint(record)
            position.epoch, position.batch, position.seconds = epoch + 1, 0, time.monotonic() - began
            self._save_state()
            self.progress.epoch(record, best=improved, seconds=position.seconds, epochs=settings.epochs)
            if epoch - position.better_epoch >= settings.patience:
                break
        return self._finish()

    def evaluate(self, distortion: float = 0.0) -> tuple[float, int]:
        """Accuracy on the dev file (multi-label: of single decisions) and its rows."""
        hits, rows = 0.0, 0
        for batch in data.batches(self.dev_file, self.labels, EVALUATION_BATCH, None):
            features = project(tf.constant(batch.texts), self.model.config, distortion=distortion)
            logits = self._infer(features).numpy()
            hits += _hits(logits, batch.targets, self.model.config.multi_label)
            rows += len(batch.texts)
        return hits / rows, rows

    def _train_epoch(self, epoch: int, began: float) -> tuple[float, float, int]:
        total = hits = 0.0
        rows = 0
        saved = time.monotonic()
        for texts, indices, features, targets in self._batches(epoch):
            loss, correct = self._step(texts, indices, features, targets)
            count = int(targets.shape[0])
            total, hits, rows = total + float(loss) * count, hits + float(correct), rows + count
            self.position.batch += 1
            if not math.isfinite(total):
                raise self._diverged()
            part = (epoch + self.position.batch / self.steps_per_epoch) / self.settings.epochs
            self.progress.step(
                f"epoch {epoch + 1}/{self.settings.epochs}  batch {self.position.batch}/{self.steps_per_epoch}",
                loss=total / rows,
                accuracy=hits / rows,
                seconds_left=(time.monotonic() - began) * (1 - part) / part,
            )
            if time.monotonic() - saved > 60 * self.settings.save_minutes:
                self.position.seconds = time.monotonic() - began
                self._save_state()
                saved = time.monotonic()
        return total, hits, max(rows, 1)

    def _batches(self, epoch: int) -> tf.data.Dataset:
        skipped = self.position.batch

        def produce() -> Iterator[tuple[Any, Any, Any, int]]:
            generator = np.random.default_rng((self.settings.seed, epoch))
            stream = data.batches(self.train_file, self.labels, self.settings.batch_size, generator)
            for index, batch in enumerate(stream):
                if index >= skipped:
                    yield batch.texts, batch.rows, batch.targets, batch_seed(self.settings.seed, epoch, index)

        target_shape = (None, len(self.labels)) if self.model.config.multi_label else (None,)
        dataset = tf.data.Dataset.from_generator(
            produce,
            output_signature=(
                tf.TensorSpec((None,), tf.string),
                tf.TensorSpec((None,), tf.int64),
                tf.TensorSpec(target_shape, self.dtype),
                tf.TensorSpec((), tf.int64),
            ),
        )

        def prepare(texts: tf.Tensor, rows: tf.Tensor, targets: tf.Tensor, seed: tf.Tensor) -> tuple[tf.Tensor, ...]:
            features = project(texts, self.model.config, distortion=self.settings.distortion, seed=seed)
            return texts, rows, features, targets

        return dataset.map(prepare).prefetch(2)

    @tf.function(reduce_retracing=True)
    def _infer(self, features: tf.Tensor) -> tf.Tensor:
        return self.model.features_to_logits(features)

    @tf.function(reduce_retracing=True)
    def _step(
        self, texts: tf.Tensor, rows: tf.Tensor, features: tf.Tensor, targets: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor]:
        settings, multi = self.settings, self.model.config.multi_label
        loss_of = losses.multi_label if multi else losses.single_label
        with tf.GradientTape() as tape:
            logits = self.model(features, training=True)
            loss, hits = loss_of(logits, targets, self.class_weights, settings.label_smoothing)
            if self.teacher:
                soft = self.teacher.probabilities(texts, rows)
                soft_loss = losses.distillation(logits, soft, settings.temperature, multi)
                loss = (1.0 - settings.teacher_weight) * loss + settings.teacher_weight * soft_loss
            total = tf.add_n([loss, *self.model.losses])
        variables = self.model.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(total, variables), variables, strict=True))
        step = tf.cast(self.optimizer.iterations, tf.float32)
        decay = tf.minimum(settings.average, (1.0 + step) / (10.0 + step))
        for average, weight in zip(self.averages, self.model.weights, strict=bool(self.averages)):
            average.assign(decay * average + (1.0 - decay) * weight)
        return loss, hits

    def _averaged(self) -> "_Swapped":
        return _Swapped(self.model.weights, self.averages)

    def _write_checkpoint(self, record: dict[str, float]) -> None:
        weights = checkpoint.tensors(self.model)
        self._require_finite(list(weights.values()))
        self.output.save_checkpoint(
            checkpoint.Checkpoint(
                model_name=self.model_name,
                config=self.model.config,
                labels=list(self.labels),
                weights=weights,
                training={**self._fingerprint(), "best": record},
            )
        )

    def _finish(self) -> dict[str, Any]:
        best = checkpoint.load(self.output.folder)
        checkpoint.set_weights(self.model, best.weights)
        accuracy, rows = self.evaluate()
        with_typos, _ = self.evaluate(TYPO_PROBABILITY)
        self.output.remove_state()
        return {
            "dev_accuracy": accuracy,
            "dev_rows": rows,
            "dev_standard_error": math.sqrt(accuracy * (1 - accuracy) / rows),
            "dev_accuracy_with_typos": with_typos,
            "typo_probability": TYPO_PROBABILITY,
            "best_epoch": self.position.best_epoch + 1,
            "epochs": self.position.epoch,
            "seconds": round(self.position.seconds, 1),
            "output": str(self.output.folder),
        }

    def _fingerprint(self) -> dict[str, Any]:
        return {"model": self.model_name, "config": self.model.config.to_dict(), **self.settings.to_dict()}

    def _state_variables(self) -> list[tf.Variable]:
        return [*self.model.weights, *self.averages, *self.optimizer.variables]

    def _save_state(self) -> None:
        arrays = [variable.numpy() for variable in self._state_variables()]
        self._require_finite(arrays)
        self.output.save_state(self.position, self._fingerprint(), arrays)

    def _require_finite(self, arrays: list[np.ndarray]) -> None:
        """The loss is of the weights before the last step; that step may have broken them."""
        if not all(np.isfinite(array).all() for array in arrays):
            raise self._diverged()

    def _diverged(self) -> InputError:
        return InputError(
            f"The loss must stay finite. Received: NaN or infinity in epoch {self.position.epoch + 1}, batch "
            f"{self.position.batch}. Remedy: a smaller --learning-rate; {self.output.outcome()}."
        )


def batch_seed(seed: int, epoch: int, index: int) -> int:
    """The seed of a batch's typos: any seed of the user gives 63 random bits."""
    return int(np.random.SeedSequence((seed, epoch, index)).generate_state(1, np.uint64)[0] >> np.uint64(1))


class _Swapped:
    """Inside the block the weights are the averages; after it they are themselves again."""

    def __init__(self, weights: list[tf.Variable], averages: list[tf.Variable]) -> None:
        self.pairs = list(zip(weights, averages, strict=bool(averages)))

    def __enter__(self) -> None:
        self.kept = [weight.numpy() for weight, _ in self.pairs]
        for weight, average in self.pairs:
            weight.assign(average)

    def __exit__(self, *_: object) -> None:
        for (weight, _), value in zip(self.pairs, self.kept, strict=True):
            weight.assign(value)


class _Schedule(keras.optimizers.schedules.LearningRateSchedule):
    """Linear warm-up, then cosine to zero."""

    def __init__(self, peak: float, warmup: float, steps: int) -> None:
        self.peak, self.warmup, self.steps = peak, warmup, steps

    def __call__(self, step: tf.Tensor) -> tf.Tensor:
        part = tf.cast(step, tf.float32) / self.steps
        rising = part / max(self.warmup, 1e-9)
        falling = 0.5 * (1.0 + tf.cos(math.pi * tf.minimum((part - self.warmup) / (1.0 - self.warmup), 1.0)))
        return self.peak * tf.where(part < self.warmup, rising, falling)

    def get_config(self) -> dict[str, float]:
        return {"peak": self.peak, "warmup": self.warmup, "steps": self.steps}


def _hits(logits: np.ndarray, targets: np.ndarray, multi_label: bool) -> float:
    if multi_label:
        return float(((logits > 0) == (targets > 0.5)).mean(axis=-1).sum())
    return float((logits.argmax(-1) == targets).sum())
