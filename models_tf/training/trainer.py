"""The training loop of every kind of model: epochs, averaged weights, the best epoch, saving and resuming.

What differs between kinds (stages, evaluation, files) is a `Learner`. The weights kept are the averaged ones of
the best epoch on the dev file. It is not Keras' `fit`: that has one loss and one optimizer for all epochs, keeps no
place inside an epoch and draws dropout from a generator that cannot be saved. Keras' callbacks, early stopping and
optimizers are used; its averaged weights are not, as their decay has no warm-up and statistics of batches are left out.
Leaves out: mixed precision.
"""

import dataclasses
import functools
import hashlib
import itertools
import math
import time
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
import tf_keras as keras

from models_tf.errors import InputError
from models_tf.folders.open_folders import NOTHING
from models_tf.training.event_log import STEP
from models_tf.training.folder import TrainingFolder
from models_tf.training.learner import Learner, Measured
from models_tf.training.observers import DEV_SCORE, Patience, watch
from models_tf.training.progress import Progress, epoch_line, step_line, stop_line
from models_tf.training.seeds import step_seed
from models_tf.training.settings import LoopSettings
from models_tf.training.stage import Stage
from models_tf.training.state import DATA, Position, load_state
from models_tf.training.updates import Updates
from models_tf.training.workers import Workers


class Trainer:
    """Trains what `learner` holds and writes the checkpoint folder; one that is resumed continues from its state."""

    def __init__(
        self,
        learner: Learner,
        *,
        settings: LoopSettings,
        folder: TrainingFolder,
        progress: Progress,
        callbacks: Sequence[keras.callbacks.Callback] = (),
        workers: Workers | None = None,
        teachers: Collection[Path] = (),
    ) -> None:
        """`teachers` are the files that their checkpoints were read from: a resumed training must have the same."""
        self.callbacks, self.workers = tuple(callbacks), workers or Workers()
        self.learner, self.settings, self.folder, self.progress = learner, settings, folder, progress
        self._data = settings.data_digests(teachers)  # now: a file may be replaced while the training runs
        self.position = Position()
        self.stages = [stage for stage in learner.stages for _ in range(stage.epochs)]  # by epoch
        self.averages = [tf.Variable(w, trainable=False) for w in learner.weights] if settings.average else []
        self._steps: dict[str, Updates] = {}
        self._untrained: bytes | None = self._digest()  # None once the weights are known to have changed

    def run(self) -> dict[str, Any]:
        if self.folder.resume:
            self.restore()
        position, epochs = self.position, len(self.stages)
        began = time.monotonic() - position.seconds
        model, patience = self.learner.model, self._patience()
        self._watchers = watch(model, patience, self.callbacks, epochs)
        self._tell("on_train_begin")
        for epoch in range(position.epoch, epochs):
            if model.stop_training:
                self.progress.line(stop_line(epoch, epochs, patience.waited))
                break
            self._epoch(self.stages[epoch], epoch, began)
            model.stop_training = self.workers.from_chief(bool(model.stop_training))
        self._tell("on_train_end")
        if position.best_epoch < 0:
            raise InputError(
                "A training must reach an epoch with a dev score. Received: a callback that ended it before. "
                f"{self.folder.outcome() or NOTHING}"
            )
        result = self.workers.from_chief(self._finish() if self.workers.is_chief else None)
        self.folder.remove_state()
        return result

    def _finish(self) -> dict[str, Any]:
        position = self.position
        return self.learner.finish(
            {
                "best_epoch": position.best_epoch + 1,
                "epochs": position.epoch,
                "seconds": round(position.seconds, 1),
                "output": str(self.folder.path),
            }
        )

    def restore(self) -> None:
        """The position and all variables as `save_state` wrote them."""
        variables = self._state_variables()
        shapes = [tuple(variable.shape) for variable in variables]
        self.position, arrays = load_state(self.folder.path, self._fingerprint, shapes)
        for variable, value in zip(variables, arrays, strict=True):
            variable.assign(value)

    def save_state(self) -> None:
        if not self.workers.is_chief:
            return
        arrays = [variable.numpy() for variable in self._state_variables()]
        self._require_finite(arrays)
        self.folder.save_state(self.position, self._fingerprint, arrays, len(self.stages))

    def _tell(self, event: str, *given: Any) -> None:
        """Calls the method of all callbacks. What one raises is the user's own, also if a file is the reason."""
        try:
            getattr(self._watchers, event)(*given)
        except OSError as error:
            self.folder.pass_on(error)
            raise

    def _patience(self) -> Patience:
        position = self.position
        # All epochs after a better one are judged.
        last = position.epoch - 1
        judged = last >= 0 and self.stages[last].judged
        waited = last - position.better_epoch if judged and position.better_epoch >= 0 else 0
        return Patience(self.settings.patience, best=position.best_accuracy, waited=waited)

    def _epoch(self, stage: Stage, epoch: int, began: float) -> None:
        """Trains what is left of an epoch, judges it, saves the state and tells."""
        position, epochs = self.position, len(self.stages)
        self._watchers.set_params({**self._watchers.params, "steps": stage.data.steps_per_epoch, "stage": stage.name})
        self._tell("on_epoch_begin", epoch, {"stage": stage.name})
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
        # After the state is saved: what a callback raises is the user's, and the epoch is not lost.
        shown = {"loss": "loss", "train_accuracy": "accuracy", "dev_accuracy": DEV_SCORE}
        logs = {name: record[key] for key, name in shown.items() if key in record}
        self._tell("on_epoch_end", epoch, {**logs, **_rate(stage)})

    @functools.cached_property
    def _fingerprint(self) -> dict[str, Any]:
        """What must be the same when the training is resumed."""
        steps = {stage.name: stage.data.steps_per_epoch for stage in self.learner.stages}
        return {**self.learner.fingerprint(), DATA: self._data, "steps": steps}

    def _judge(self, epoch: int, record: dict[str, Any]) -> str:
        """Keeps the averaged weights if they are at least as good as the best so far; says so."""
        self._require_change()  # before the averages come in: averaging alone rounds
        position = self.position
        with _Swapped(self.learner.weights, self.averages):
            own = dataclasses.asdict(self.learner.evaluate()) if self.workers.is_chief else None
            found = Measured(**self.workers.from_chief(own))
            record["dev_accuracy"], record["dev_rows"] = found.value, found.rows
            better = found.value > position.best_accuracy
            if better:
                position.better_epoch = epoch
            # A tie goes to the later epoch: its learning rate was lower, its average longer.
            if found.value < position.best_accuracy:
                return ""
            position.best_accuracy, position.best_epoch = found.value, epoch
            if self.workers.is_chief:
                tensors = self.learner.tensors()
                self._require_finite(list(tensors.values()))
                self.learner.save(tensors, record)
        return " (best)" if better else " (as good, kept)"

    def _train_epoch(self, stage: Stage, epoch: int, began: float) -> None:
        """Trains on the batches that are left of an epoch."""
        saved = time.monotonic()
        step = self._step(stage)
        position, steps, epochs = self.position, stage.data.steps_per_epoch, len(self.stages)
        before = sum(earlier.data.steps_per_epoch for earlier in self.stages[:epoch])
        # A state is saved between updates only, so no sums of gradients have to be in it.
        for group in _groups(stage.data.batches(epoch, position.batch), self.settings.accumulate):
            stage.before_step()
            self._tell("on_train_batch_begin", position.batch)
            seeds = (step_seed(self.settings.seed, epoch, position.batch + index) for index in range(len(group)))
            loss, correct = step([(rows, batch, seed) for (rows, batch), seed in zip(group, seeds, strict=True)])
            count = sum(rows for rows, _ in group)
            position.loss, position.hits = position.loss + loss * count, position.hits + correct
            position.rows, position.batch = position.rows + count, position.batch + len(group)
            if not math.isfinite(position.loss):
                raise self._diverged()
            part = (epoch + position.batch / steps) / epochs
            where = f"epoch {epoch + 1}/{epochs}  batch {position.batch}/{steps}"
            left = (time.monotonic() - began) * (1 - part) / part
            means = {"loss": position.loss / position.rows, "accuracy": position.hits / position.rows}
            self.progress.live(step_line(where, **means, seconds_left=left))
            logs = {name: mean for name, mean in means.items() if not math.isnan(mean)}
            self._tell(
                "on_train_batch_end", position.batch - 1, {**logs, **_rate(stage), STEP: before + position.batch}
            )
            if time.monotonic() - saved > 60 * self.settings.save_minutes:
                position.seconds = time.monotonic() - began
                self.save_state()
                saved = time.monotonic()

    def _step(self, stage: Stage) -> Updates:
        """One graph per stage, for batches of any size and length."""
        if stage.name not in self._steps:
            if note := stage.note():
                self.progress.line(note)
            average, accumulate = self.settings.average, self.settings.accumulate
            self._steps[stage.name] = Updates(
                stage, self.learner.weights, self.averages, average=average, accumulate=accumulate
            )
        return self._steps[stage.name]

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


def _groups(batches: Iterator[Any], size: int) -> Iterator[list[Any]]:
    while group := list(itertools.islice(batches, size)):
        yield group


def _rate(stage: Stage) -> dict[str, float]:
    return {"learning_rate": float(stage.optimizer.learning_rate.numpy())}


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
