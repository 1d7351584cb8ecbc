"""Who watches a training: patience, and the Keras callbacks of the user. Leaves out the log (`event_log.py`)."""

from collections.abc import Sequence
from typing import Any

import tf_keras as keras

DEV_SCORE = "dev_score"


class Patience(keras.callbacks.EarlyStopping):
    """Keras' early stopping on the dev score; it goes on from the `best` score and the epochs `waited` since.

    Keras' own forgets both when a training begins, and warns of epochs without a score.
    """

    def __init__(self, patience: int, *, best: float, waited: int) -> None:
        super().__init__(monitor=DEV_SCORE, mode="max", patience=patience)
        self._start = best, waited

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        super().on_train_begin(logs)
        self.best, self.wait = self._start
        if self.wait >= self.patience:
            self.model.stop_training = True

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        if logs and DEV_SCORE in logs:
            super().on_epoch_end(epoch, logs)

    @property
    def waited(self) -> int:
        """Epochs without a better score, if they are enough to stop; else 0."""
        return self.wait if self.wait >= self.patience else 0


def watch(
    model: keras.Model, patience: Patience, callbacks: Sequence[keras.callbacks.Callback], epochs: int
) -> keras.callbacks.CallbackList:
    """All of them as one. A callback sets `model.stop_training` to end the training after an epoch."""
    model.stop_training = False
    return keras.callbacks.CallbackList([patience, *callbacks], model=model, epochs=epochs, verbose=0)
