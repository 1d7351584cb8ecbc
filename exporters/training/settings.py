"""From a `TrainRequest` to the settings of a training: defaults, and changes by KEY=VALUE texts."""

import dataclasses
from typing import TYPE_CHECKING, Any

from models_tf import registry
from models_tf.checkpoints.sequence_length import QUESTION_LENGTH
from models_tf.errors import InputError
from models_tf.tasks import QUESTION_ANSWERING
from models_tf.training.movement_settings import SOFT, MovementSettings
from models_tf.training.overrides import split_override, with_overrides
from models_tf.training.power_settings import PowerSettings
from models_tf.training.settings import TrainingSettings
from models_tf.training.token_settings import FINE_TUNING, HEAD_OF_TASK, SCRATCH, TokenSettings
from models_tf.training.transfer_settings import TransferSettings

if TYPE_CHECKING:
    from exporters.training.request import TrainRequest

_POWER_FIELDS = ("fine_tune_epochs", "search_epochs", "keep_share")
POWERBERT = "powerbert"


def for_projection(request: "TrainRequest") -> TrainingSettings:
    return TrainingSettings(**_given(request, TrainingSettings))


def for_tokens(request: "TrainRequest") -> TokenSettings:
    """The default task is that of the family's first head."""
    given = _given(request, TokenSettings)
    family = registry.get(request.model).family()
    given.setdefault("task", next(task for task, head in HEAD_OF_TASK.items() if head == family.heads[0]))
    if given["task"] in HEAD_OF_TASK:
        family.check_head(HEAD_OF_TASK[given["task"]])
    defaults = FINE_TUNING if request.checkpoint else SCRATCH
    if request.task == QUESTION_ANSWERING:
        defaults = {**defaults, "max_seq_len": QUESTION_LENGTH}
    if request.checkpoint:
        given["checkpoint"] = str(request.checkpoint)
    given |= {"movement": _movement(request), "power": _power(request)}
    transfer = with_overrides("--transfer-set", TransferSettings().to_dict(), request.transfer_overrides)
    return TokenSettings(**{**defaults, **given, "transfer_settings": TransferSettings(**transfer)})


def _given(request: "TrainRequest", kind: type) -> dict[str, Any]:
    """The fields that the settings share with the request and that the request sets."""
    names = [field.name for field in dataclasses.fields(kind)]
    return {name: getattr(request, name) for name in names if hasattr(request, name) and request.is_given(name)}


def _movement(request: "TrainRequest") -> MovementSettings | None:
    if request.movement is None:
        return None
    own = MovementSettings(kind=request.movement).to_dict()
    del own["kind"], own["keep"]  # they have flags
    if request.movement == SOFT and request.movement_keep is not None:
        raise InputError(
            "--movement-keep is for --movement topk; "
            "what soft keeps follows from --movement-set penalty and threshold. "
            f"Received: --movement-keep {request.movement_keep}."
        )
    keep: dict[str, Any] = {} if request.movement_keep is None else {"keep": request.movement_keep}
    changed = with_overrides("--movement-set", own, request.movement_overrides)
    return MovementSettings(kind=request.movement, **keep, **changed)


def _power(request: "TrainRequest") -> PowerSettings | None:
    """None for a model that keeps all tokens."""
    if request.model != POWERBERT:
        return None
    values = {name: getattr(request, name) for name in _POWER_FIELDS if getattr(request, name) is not None}
    own = {name: value for name, value in PowerSettings().to_dict().items() if name not in _POWER_FIELDS}
    for override in request.search_overrides:
        name = split_override(override)[0]
        if name in ("penalty", "descent") and (name == "penalty") == (request.keep_share is not None):
            way = "without" if name == "penalty" else "with"
            raise InputError(f"--search-set {name} is for a search {way} --keep-share. Received: {override}.")
    return PowerSettings(**values, **with_overrides("--search-set", own, request.search_overrides))
