"""`train`: one training, from labelled files to a checkpoint folder."""

from typing import TYPE_CHECKING

from exporters.request_fields import check_request
from exporters.training.request import TrainRequest
from exporters.training.result import TrainResult
from models_tf import extras
from models_tf.errors import naming_fields
from models_tf.training.token_settings import TokenSettings

if TYPE_CHECKING:
    from models_tf.training.progress import Progress


@naming_fields()
def train(request: TrainRequest, *, progress: "Progress | None" = None, command: str = "") -> TrainResult:
    """Train as the request says and write the checkpoint of the best epoch to `request.output`.

    `progress` is told where the training stands: `line(text)` for lines that stay, `live(text)` for one that the next
    replaces. `command` goes into the record of a token model. Raises InputError for files, checkpoints and folders that
    cannot be used, and where the loss becomes infinite. A training that is stopped can continue with `resume=True`.
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
    folder = TrainingFolder(
        request.output, force=request.force, resume=request.resume, files=files, inputs=request.inputs
    )
    with folder:
        if isinstance(settings, TokenSettings):
            from exporters.training.tokens import train_tokens

            return TrainResult.of(train_tokens(request, settings, folder, progress, command))
        from exporters.training.projection import train_projection

        return TrainResult.of(train_projection(request, settings, folder, progress))
