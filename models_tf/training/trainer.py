"""The training loop of every kind of model: epochs, averaged weights, the best epoch, saving and resuming.

What differs between kinds (stages, evaluation, files) is a `Learner`. The weights kept are the averaged ones of
the best epoch on the dev file. Leaves out: several machines, mixed precision.
"""

import functools
import hashlib
import math
import time
from typing import Any

import numpy as np
import tensorflow as tf

from models_tf.errors import InputError
from models_tf.folders.open_folders import NOTHING
from models_tf.layers.dropout import Draws
from models_tf.training.folder import TrainingFolder
from models_tf.training.learner import Learner
from models_tf.training.progress import Progress, epoch_line, step_line, stop_line
from models_tf.training.seeds import step_seed
from models_tf.training.settings import LoopSettings
from models_tf.training.stage import Stage
from models_tf.training.state import DATA, Position, load_state


class Trainer:
    """Trains what `learner` holds and writes the checkpoint folder; one that is resumed continues from its state."""

    def __init__(self, learner: Learner, *, settings: LoopSettings, folder: TrainingFolder, progress: Progress) -> None:
        self.learner, self.settings, self.folder, self.progress = learner, settings, folder, progress
        self.position = Position()
        self.stages = [stage for stage in learner.stages for _ in range(stage.epochs)]  # by epoch
        self.averages = [tf.Variable(w, trainable=False) for w in learner.weights] if settings.average else []
        self._steps: dict[str, Any] = {}
        self._untrained: bytes | None = self._digest()  # None once the weights are known to have changed

    def run(self) -> dict[str, Any]:
        if self.folder.resume:
            self.restore()
        position, epochs = self.position, len(self.stages)
        began = time.monotonic() - position.seconds
        for epoch in range(position.epoch, epochs):
            if waited := self._waited_enough():
                self.progress.line(stop_line(epoch, epochs, waited))
                break
            stage = self.stages[epoch]
            self._train_epoch(stage, epoch, began)
            rows = max(position.rows, 1)
            record: dict[str, Any] = {"epoch": epoch, "loss": position.loss / rows}
            if not math.isnan(position.hits):
                record["train_accuracy"] = position.hits / rows
            mark = self._judge(epoch, record) if stage.judged else ""
            position.begin_epoch(epoch + 1, seconds=time.monotonic() - began)
            self.save_state()
            name = "" if stage.judged else stage.name
            self.progress.line(epoch_line(record, stage=name, mark=mark, seconds=position.seconds, epochs=epochs))
        result = self.learner.finish(
            {
                "best_epoch": position.best_epoch + 1,
                "epochs": position.epoch,
                "seconds": round(position.seconds, 1),
                "output": str(self.folder.path),
            }
        )
        self.folder.remove_state()
        return result

    def restore(self) -> None:
        """The position and all variables as `save_state` wrote them."""
        variables = self._state_variables()
        shapes = [tuple(variable.shape) for variable in variables]
        self.position, arrays = load_state(self.folder.path, self._fingerprint, shapes)
        for variable, value in zip(variables, arrays, strict=True):
            variable.assign(value)

    def save_state(self) -> None:
        arrays = [variable.numpy() for variable in self._state_variables()]
        self._require_finite(arrays)
        self.folder.save_state(self.position, self._fingerprint, arrays, len(self.stages))

    def _waited_enough(self) -> int:
        """Epochs without a better dev score, if these are as many as the patience; else 0."""
        last = self.position.epoch - 1
        waited = last - self.position.better_epoch
        return waited if last >= 0 and self.stages[last].judged and waited >= self.settings.patience else 0

    @functools.cached_property
    def _fingerprint(self) -> dict[str, Any]:
        """What must be the same when the training is resumed."""
        steps = {stage.name: stage.data.steps_per_epoch for stage in self.learner.stages}
        return {**self.learner.fingerprint(), DATA: self.settings.data_digests(), "steps": steps}

    def _judge(self, epoch: int, record: dict[str, Any]) -> str:
        """Keeps the averaged weights if they are at least as good as the best so far; says so."""
        self._require_change()  # before the averages come in: averaging alone rounds
        position = self.position
        with _Swapped(self.learner.weights, self.averages):
            found = self.learner.evaluate()
            record["dev_accuracy"], record["dev_rows"] = found.value, found.rows
            better = found.value > position.best_accuracy
            if better:
                position.better_epoch = epoch
            # A tie goes to the later epoch: its learning rate was lower, its average longer.
            if found.value < position.best_accuracy:
                return ""
            position.best_accuracy, position.best_epoch = found.value, epoch
            tensors = self.learner.tensors()
            self._require_finite(list(tensors.values()))
            self.learner.save(tensors, record)
        return " (best)" if better else " (as good, kept)"

    def _train_epoch(self, stage: Stage, epoch: int, began: float) -> None:
        """Trains on the batches that are left of an epoch."""
        saved = time.monotonic()
        step = self._step(stage)
        position, steps, epochs = self.position, stage.data.steps_per_epoch, len(self.stages)
        for count, batch in stage.data.batches(epoch, position.batch):
            stage.before_step()
            loss, correct = step(batch, step_seed(self.settings.seed, epoch, position.batch))
            position.loss, position.hits = position.loss + float(loss) * count, position.hits + float(correct)
            position.rows, position.batch = position.rows + count, position.batch + 1
            if not math.isfinite(position.loss):
                raise self._diverged()
            part = (epoch + position.batch / steps) / epochs
            where = f"epoch {epoch + 1}/{epochs}  batch {position.batch}/{steps}"
            left = (time.monotonic() - began) * (1 - part) / part
            means = {"loss": position.loss / position.rows, "accuracy": position.hits / position.rows}
            self.progress.live(step_line(where, **means, seconds_left=left))
            if time.monotonic() - saved > 60 * self.settings.save_minutes:
                position.seconds = time.monotonic() - began
                self.save_state()
                saved = time.monotonic()

    def _step(self, stage: Stage) -> Any:
        """One graph per stage, for batches of any size and length."""
        if stage.name not in self._steps:
            if note := stage.note():
                self.progress.line(note)
            self._steps[stage.name] = tf.function(
                lambda batch, seed: self._update(stage, batch, Draws(seed)),
                input_signature=[stage.data.signature(), tf.TensorSpec((2,), tf.int32)],
                autograph=False,
            )
        return self._steps[stage.name]

    def _update(self, stage: Stage, batch: dict[str, tf.Tensor], draws: Draws) -> tuple[tf.Tensor, tf.Tensor]:
        optimizer = stage.optimizer
        with tf.GradientTape() as tape:
            loss, total, hits = stage.loss(batch, draws)
        gradients = tape.gradient(total, stage.trained)
        optimizer.apply_gradients(zip(gradients, stage.trained, strict=True))
        step = tf.cast(optimizer.iterations, tf.float32)
        decay = tf.minimum(self.settings.average, (1.0 + step) / (10.0 + step))
        for average, weight in zip(self.averages, self.learner.weights, strict=bool(self.averages)):
            average.assign(decay * average + (1.0 - decay) * weight)
        return loss, hits

    def _state_variables(self) -> list[tf.Variable]:
        return [*self.learner.weights, *self.averages, *self.learner.state]

    def _require_finite(self, arrays: list[np.ndarray]) -> None:
        """The loss is of the weights before the last step; that step may have broken them."""
        if not all(np.isfinite(array).all() for array in arrays):
            raise self._diverged()

    def _digest(self) -> bytes:
        """Of the weights that are trained; others, such as moving averages, change without any learning."""
        trained = {variable.ref() for stage in self.stages for variable in stage.trained}
        digest = hashlib.sha256()
        for weight in self.learner.weights:
            if weight.ref() in trained:
                digest.update(np.ascontiguousarray(weight.numpy()).data)
        return digest.digest()

    def _require_change(self) -> None:
        if self._untrained is not None and self._digest() == self._untrained:
            raise InputError(
                f"A training must change the weights. Received: after epoch {self.position.epoch + 1} all are as "
                f"before. Remedy: a larger --learning-rate, more rows or epochs. {self.folder.outcome() or NOTHING}"
            )
        self._untrained = None

    def _diverged(self) -> InputError:
        return InputError(
            f"The loss must stay finite. Received: NaN or infinity in epoch {self.position.epoch + 1}, batch "
            f"{self.position.batch}. Remedy: a smaller --learning-rate. {self.folder.outcome() or NOTHING}"
        )


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
