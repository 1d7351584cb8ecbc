"""What a compression was asked for and did not do: shares that round to nothing."""

from collections.abc import Mapping
from typing import Any

from models_tf.compress.heads import kept_count
from models_tf.compress.neurons import granule
from models_tf.compress.settings import PER_LAYER, Compression
from models_tf.encoder.config import EncoderConfig


def notes_of(settings: Compression, config: EncoderConfig, record: Mapping[str, Any]) -> tuple[str, ...]:
    """One line for each flag that removed nothing, and why. `config` is that of the model before it was narrowed."""
    layers, notes = range(config.num_layers), []
    heads, neurons = [config.heads_of(layer) for layer in layers], [config.ffn_of(layer) for layer in layers]
    if settings.prune_heads and _counts(record["heads"]) == heads:
        notes.append(f"--prune-heads {settings.prune_heads} removed no head: {_heads_reason(settings, heads)}.")
    if settings.prune_ffn and _counts(record["neurons"]) == neurons:
        step = granule(max(neurons), config.fold_size if settings.ghosts is not None else None)
        steps = f", in steps of {step}" if step > 1 else ""
        reason = f"{settings.prune_ffn} of the {_range(neurons)} neurons of a layer rounds to none{steps}"
        notes.append(f"--prune-ffn {settings.prune_ffn} removed no neuron: {reason}.")
    if "vocabulary" in record:
        notes += vocabulary_notes(record["vocabulary"])
    return tuple(notes)


def vocabulary_notes(record: Mapping[str, int]) -> tuple[str, ...]:
    """The same for a pruned vocabulary, given its sizes."""
    if record["after"] < record["before"]:
        return ()
    return (f"--prune-vocab removed no token: all {record['before']:,} are used by the texts or kept as characters.",)


def _heads_reason(settings: Compression, heads: list[int]) -> str:
    share, one_by_one = settings.prune_heads, settings.head_scope == PER_LAYER
    totals, place = (heads, "a layer") if one_by_one else ([sum(heads)], "all layers")
    if any(kept_count(total, share) < total for total in totals):
        return f"--min-heads keeps {settings.min_heads} of the {_range(heads)} heads of a layer"
    return f"{share} of the {_range(totals)} heads of {place} rounds to none"


def _counts(record: Mapping[str, Any]) -> list[int]:
    return [len(numbers) for numbers in record["kept"]]


def _range(counts: list[int]) -> str:
    low, high = min(counts), max(counts)
    return str(low) if low == high else f"{low} to {high}"
