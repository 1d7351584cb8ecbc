"""`train`: one training, from labelled files to a checkpoint folder."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exporters.request_fields import check_request
from exporters.training.distribution import distributed
from exporters.training.request import TrainRequest
from exporters.training.result import TrainResult
from models_tf import extras
from models_tf.errors import InputError, naming_fields
from models_tf.folders import manifest
from models_tf.folders.trial import check_writable
from models_tf.training.token_settings import TokenSettings

if TYPE_CHECKING:
    import tf_keras as keras

    from models_tf.training.folder import TrainingFolder
    from models_tf.training.progress import Progress

LOG_FOLDER = "tensorboard"
# Keras' own callbacks that need an optimizer of Keras' `fit`, or another package, and what there is instead.
_NOT_TAKEN = {
    "ReduceLROnPlateau": "`learning_rate`, which follows a schedule, and `patience`",
    "LearningRateScheduler": "`learning_rate`, which follows a schedule",
    "TensorBoard": '`tensorboard=""` or a folder',
}


@naming_fields()
def train(
    request: TrainRequest,
    *,
    progress: "Progress | None" = None,
    command: str = "",
    callbacks: "Sequence[keras.callbacks.Callback]" = (),
) -> TrainResult:
    """Train as the request says and write the checkpoint of the best epoch to `request.output`.

    `progress` is told where the training stands: `line(text)` for lines that stay, `live(text)` for one that the next
    replaces. `command` goes into the record of a token model. Raises InputError for files, checkpoints and folders that
    cannot be used, and where the loss becomes infinite. A training that is stopped can continue with `resume=True`.

    `callbacks` are your own `tf_keras.callbacks.Callback` objects. `on_epoch_begin` gets the name of the stage,
    `on_epoch_end` loss, accuracy, dev_score and learning_rate, `on_train_batch_end` means over the epoch so far and the
    step of the whole training. `model.stop_training = True` ends the training after the epoch. An error that a callback
    raises is passed on as it is; the training can be resumed.
    """
    check_request(request, TrainRequest)
    extras.require(extras.EXPORT, "A training")
    from models_tf.training.folder import PROJECTION_FILES, TrainingFolder
    from models_tf.training.progress import Silent

    settings, progress = request.settings, progress or Silent()
    files: tuple[str, ...] = PROJECTION_FILES
    if isinstance(settings, TokenSettings):
        from models_tf.training.token_learner import OUTPUT_FILES

        files = OUTPUT_FILES
    watching = _callbacks(callbacks)
    with distributed(request, progress) as place:
        if not place.workers.is_chief:
            progress = Silent()
        folder = TrainingFolder(
            place.output, force=request.force, resume=request.resume, files=files, inputs=request.inputs
        )
        how: dict[str, Any] = {"callbacks": watching, "workers": place.workers}
        with folder:
            if place.workers.is_chief and request.tensorboard is not None:
                watching.append(_log(request, folder))
            if isinstance(settings, TokenSettings):
                from exporters.training.tokens import train_tokens

                return TrainResult.of(train_tokens(request, settings, folder, progress, command=command, **how))
            from exporters.training.projection import train_projection

            return TrainResult.of(train_projection(request, settings, folder, progress, **how))


def _log(request: TrainRequest, folder: "TrainingFolder") -> Any:
    """The log for TensorBoard: inside of the output, if no folder was named."""
    from models_tf.training.event_log import EventLog

    place = Path(request.tensorboard) if request.tensorboard else folder.path / LOG_FOLDER
    manifest.check_apart(place, request.inputs, flag="--tensorboard", may_contain=True)
    check_writable(place, "--tensorboard")
    return EventLog(place, is_open=lambda: folder.has_files, wrote=folder.add_files)


def _callbacks(given: Any) -> list[Any]:
    import tf_keras as keras

    found = list(given) if isinstance(given, list | tuple) else [given]
    for callback in found:
        if not isinstance(callback, keras.callbacks.Callback):
            raise InputError(
                "`callbacks` must be a list of tf_keras.callbacks.Callback objects (Keras 3 is another package). "
                f"Received: {type(callback).__module__}.{type(callback).__name__}."
            )
        for kind, remedy in _NOT_TAKEN.items():
            if isinstance(callback, getattr(keras.callbacks, kind)):
                raise InputError(f"`callbacks` must only watch a training or stop it. Received: {kind}. Use {remedy}.")
    return found
