"""`EventLog`: loss, accuracy, dev score and learning rate, as TensorBoard reads them.

Not Keras' own `TensorBoard`: that one writes through the package tensorboard, which TensorFlow no longer brings along,
and counts its steps from 0 after a resume. Nothing is sent anywhere. Leaves out graphs, histograms and profiles.
"""

import contextlib
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import tensorflow as tf
import tf_keras as keras

from models_tf.errors import InputError
from models_tf.folders import open_folders

STEP = "step"
# What TensorFlow puts around a message.
_FRAMING = re.compile(r"\{\{.*?\}\}|\[Op:.*?\]( name:)?")
_FILES = "events.out.tfevents.*"


class EventLog(keras.callbacks.Callback):
    """Writes into `folder` as soon as it is `open`; what comes earlier is kept until then.

    `wrote` gets the files of this log once there are some. A resumed training goes on in a file beside the first one.
    """

    def __init__(self, folder: Path, *, is_open: Callable[[], bool], wrote: Callable[[set[Path]], None]) -> None:
        super().__init__()
        self.folder, self._is_open, self._wrote = folder, is_open, wrote
        self._waiting: list[tuple[str, float, int]] = []
        self._writer: Any = None
        plugin = tf.compat.v1.SummaryMetadata.PluginData(plugin_name="scalars")
        self._metadata = tf.compat.v1.SummaryMetadata(plugin_data=plugin)

    def on_train_batch_end(self, batch: int, logs: Mapping[str, Any] | None = None) -> None:  # noqa: ARG002 - Keras'
        self._add("batch_", logs or {}, int((logs or {}).get(STEP, 0)))

    def on_epoch_end(self, epoch: int, logs: Mapping[str, Any] | None = None) -> None:
        self._add("epoch_", logs or {}, epoch)
        if self._writer:
            with self._writable():
                self._writer.flush()

    def on_train_end(self, logs: Mapping[str, Any] | None = None) -> None:  # noqa: ARG002 - Keras'
        if self._writer:
            with self._writable():
                self._writer.close()

    def _add(self, prefix: str, logs: Mapping[str, Any], step: int) -> None:
        self._waiting += [(prefix + name, float(value), step) for name, value in logs.items() if name != STEP]
        if not self._is_open():
            return
        with self._writable():
            if self._writer is None:
                before = set(self.folder.glob(_FILES))
                self._writer = tf.summary.create_file_writer(str(self.folder))
                self._wrote(set(self.folder.glob(_FILES)) - before)
            with self._writer.as_default():
                for tag, value, at in self._waiting:
                    tf.summary.write(tag, tf.constant(value, tf.float32), step=at, metadata=self._metadata)
        self._waiting = []

    @contextlib.contextmanager
    def _writable(self) -> Iterator[None]:
        try:
            yield
        except (tf.errors.OpError, OSError) as error:
            reason = _FRAMING.sub("", getattr(error, "message", None) or str(error)).strip()
            raise InputError(
                f"--tensorboard must be a folder that can be written. Received: {self.folder} "
                f"({reason.splitlines()[0]}). {open_folders.outcome()}"
            ) from error
