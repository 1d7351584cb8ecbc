"""From flags to `PowerSettings`, and which of the three phases a student needs."""

import argparse
import dataclasses

from models_tf.checkpoints.encoder import EncoderCheckpoint
from models_tf.errors import InputError
from models_tf.training.overrides import split_override, with_overrides
from models_tf.training.power_settings import PowerSettings
from models_tf.training.token_settings import TokenSettings
from models_tf.training.transfer_settings import NONE

POWERBERT = "powerbert"
_WITH_FLAGS = ("fine_tune_epochs", "search_epochs", "keep_share")


def power_settings(args: argparse.Namespace) -> PowerSettings | None:
    """What the flags say; None for a model that keeps all tokens."""
    if args.model != POWERBERT:
        return None
    values = {name: getattr(args, name) for name in _WITH_FLAGS if getattr(args, name) is not None}
    own = {name: value for name, value in PowerSettings().to_dict().items() if name not in _WITH_FLAGS}
    overrides = args.search_overrides or []
    for override in overrides:
        name = split_override(override)[0]
        if (name == "penalty" and args.keep_share is not None) or (name == "descent" and args.keep_share is None):
            way = "without" if name == "penalty" else "with"
            raise InputError(f"--search-set {name} is for a search {way} --keep-share. Received: {override}.")
    return PowerSettings(**values, **with_overrides("--search-set", own, overrides))


def with_phases(args: argparse.Namespace, settings: TokenSettings, student: EncoderCheckpoint) -> TokenSettings:
    """`settings` with the phases that `student` needs: tokens that are given are not searched for, and a model without a
    trained head is fine-tuned before the search.
    """
    kept = student.config.retention
    if settings.power is None and not kept:
        return settings
    power = settings.power or PowerSettings()
    if kept:
        _refuse_search(args, kept)
        power = dataclasses.replace(power, search_epochs=0)
    untrained = settings.from_scratch or bool(student.new_tensors)
    if untrained and power.search_epochs and args.fine_tune_epochs == 0:
        raise InputError(
            "--fine-tune-epochs must be at least 1 where the head is new: the search begins from a trained model. "
            "Received: 0."
        )
    if untrained and power.search_epochs and args.fine_tune_epochs is None:
        power = dataclasses.replace(power, fine_tune_epochs=settings.epochs)
    if settings.movement and (power.search_epochs or power.fine_tune_epochs):
        raise InputError("--movement has no phases before it. Received: it with a search or --fine-tune-epochs.")
    if power.search_epochs or any(count < settings.max_seq_len for count in kept):
        _refuse_inside(settings)
    return dataclasses.replace(settings, power=power)


def _refuse_search(args: argparse.Namespace, kept: tuple[int, ...]) -> None:
    for name in ("search_epochs", "keep_share", "search_overrides"):
        if getattr(args, name) is not None:
            flag = "--" + name.replace("_", "-").replace("overrides", "set")
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
                f"{flag} compares with the teacher token by token, so none may be dropped: leave it out, the teacher's logits "
                f"are learned all the same. Received: {flag} with tokens that are dropped."
            )
