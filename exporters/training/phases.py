"""Which phases of PoWER-BERT a student needs: fine-tuning, the search for the tokens to keep, training with them."""

import dataclasses

from exporters.training.request import TrainRequest, flag_of
from models_tf.checkpoints.encoder import EncoderCheckpoint
from models_tf.errors import InputError
from models_tf.training.power_settings import PowerSettings
from models_tf.training.token_settings import TokenSettings
from models_tf.training.transfer_settings import NONE


def with_phases(request: TrainRequest, settings: TokenSettings, student: EncoderCheckpoint) -> TokenSettings:
    """`settings` with the phases that `student` needs: no search if the tokens are given, fine-tuning first if the head
    is new.
    """
    kept = student.config.retention
    if settings.power is None and not kept:
        return settings
    power = settings.power or PowerSettings()
    if kept:
        _refuse_search(request, kept)
        power = dataclasses.replace(power, search_epochs=0)
    untrained = settings.from_scratch or bool(student.new_tensors)
    if untrained and power.search_epochs and request.fine_tune_epochs == 0:
        raise InputError(
            "--fine-tune-epochs must be at least 1 where the head is new: the search begins from a trained model. "
            "Received: 0."
        )
    if untrained and power.search_epochs and request.fine_tune_epochs is None:
        power = dataclasses.replace(power, fine_tune_epochs=settings.epochs)
    if settings.movement and (power.search_epochs or power.fine_tune_epochs):
        raise InputError("--movement has no phases before it. Received: it with a search or --fine-tune-epochs.")
    if power.search_epochs or any(count < settings.max_seq_len for count in kept):
        _refuse_inside(settings)
    return dataclasses.replace(settings, power=power)


def _refuse_search(request: TrainRequest, kept: tuple[int, ...]) -> None:
    for name in ("search_epochs", "keep_share", "search_overrides"):
        if request.is_given(name):
            flag = flag_of(name)
            raise InputError(
                f"{flag} is for a search of the tokens to keep. Received: {flag} with a retention that is given, "
                f"{','.join(map(str, kept))}."
            )


def _refuse_inside(settings: TokenSettings) -> None:
    inside = {
        "--hidden-weight": settings.hidden_weight,
        "--attention-weight": settings.attention_weight,
        "--transfer": settings.transfer != NONE,
    }
    for flag, value in inside.items():
        if value:
            raise InputError(
                f"{flag} compares with the teacher token by token, so none may be dropped: leave it out, "
                f"the teacher's logits are learned all the same. Received: {flag} with tokens that are dropped."
            )
