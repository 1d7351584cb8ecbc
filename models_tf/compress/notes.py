"""What a compression was asked for and did not do: shares that round to nothing."""

from collections.abc import Mapping
from typing import Any

from models_tf.compress.settings import Compression
from models_tf.encoder.config import EncoderConfig


def notes_of(settings: Compression, config: EncoderConfig, record: Mapping[str, Any]) -> tuple[str, ...]:
    """One line for each flag that removed nothing, and why. `config` is that of the model before it was narrowed."""
    layers, notes = range(config.num_layers), []
    heads, neurons = [config.heads_of(layer) for layer in layers], [config.ffn_of(layer) for layer in layers]
    if settings.prune_heads and _counts(record["heads"]) == heads:
        reason = _rounded(settings.prune_heads, heads, "heads")
        if settings.min_heads > 1:
            reason += f", and --min-heads keeps {settings.min_heads} in each"
        notes.append(f"--prune-heads {settings.prune_heads} removed no head: {reason}.")
    if settings.prune_ffn and _counts(record["neurons"]) == neurons:
        reason = _rounded(settings.prune_ffn, neurons, "FFN neurons")
        notes.append(f"--prune-ffn {settings.prune_ffn} removed no neuron: {reason} of the sizes that run well.")
    if "vocabulary" in record:
        notes += vocabulary_notes(record["vocabulary"])
    return tuple(notes)


def vocabulary_notes(record: Mapping[str, int]) -> tuple[str, ...]:
    """The same for a pruned vocabulary, given its sizes."""
    if record["after"] < record["before"]:
        return ()
    return (f"--prune-vocab removed no token: all {record['before']:,} are used by the texts or kept as characters.",)


def _counts(record: Mapping[str, Any]) -> list[int]:
    return [len(numbers) for numbers in record["kept"]]


def _rounded(share: float, counts: list[int], what: str) -> str:
    low, high = min(counts), max(counts)
    return f"{share} of the {low if low == high else f'{low} to {high}'} {what} of a layer rounds to none"
