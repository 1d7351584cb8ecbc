"""`compress`: a checkpoint and a `Compression` -> a smaller checkpoint, and the record of what was kept.

Layers go first, so that importance is that of the model which is left; then heads and neurons; then ghosts are made of
what is kept. Reads and writes no files; `cli.py` does.
"""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from models_tf.compress import ghosts, heads, layers, neurons, width
from models_tf.compress.layer_choice import LayerChoice
from models_tf.compress.settings import AS_REMOVED, BERT, COMPRESSIBLE, GHOSTBERT, MASK, RANDOM, Compression
from models_tf.encoder.network import Network
from models_tf.errors import InputError
from models_tf.huggingface.checkpoint import EncoderCheckpoint
from models_tf.tasks.rows import TaskRows


@dataclass(frozen=True, kw_only=True)
class Compressed:
    """`record` says what was kept, in numbers of the model as given; JSON can hold it."""

    checkpoint: EncoderCheckpoint
    record: dict[str, Any]


def check(checkpoint: EncoderCheckpoint, settings: Compression) -> None:
    """What can be refused before any row is read."""
    config = checkpoint.config
    if checkpoint.model_name not in COMPRESSIBLE:
        raise InputError(
            f"Only BERT can be compressed ({' or '.join(COMPRESSIBLE)}). Received: {checkpoint.model_name}."
        )
    if settings.is_empty:
        raise InputError(
            "Nothing to do: give --drop-layers, --prune-heads, --remove-heads, --prune-ffn or --ghosts. Received: none of "
            "them, or a share of 0."
        )
    if (config.ghost_heads or config.ghost_folds) and (settings.changes_width or settings.ghosts is not None):
        raise InputError(
            "A model with ghosts can lose layers only: compress the one without, then add ghosts. Received: a ghostbert."
        )
    dropped: Sequence[int] = ()
    if isinstance(settings.drop_layers, LayerChoice):
        settings.drop_layers.check(config.num_layers)
        if not settings.drop_layers.needs_data:
            dropped = settings.drop_layers.resolve(config.num_layers)
    counts = [config.heads_of(layer) for layer in range(config.num_layers)]
    if settings.remove_heads:
        heads.without(counts, dict(settings.remove_heads), minimum=settings.min_heads)
        _check_not_dropped(settings, dropped)
    if settings.prune_heads and settings.min_heads > min(counts):
        raise InputError(
            f"--min-heads must be 1 to {min(counts)}, the heads of a layer. Received: {settings.min_heads}."
        )
    if settings.ghosts is not None:
        if settings.ghosts > config.num_heads:
            raise InputError(f"--ghosts must be at most the {config.num_heads} heads. Received: {settings.ghosts}.")
        if config.intermediate_size % config.num_heads:
            raise InputError(
                f"--ghosts needs an FFN that falls into as many folds as there are heads, {config.num_heads}. "
                f"Received: {config.intermediate_size} neurons."
            )
        uneven = [config.ffn_of(layer) for layer in range(config.num_layers) if config.ffn_of(layer) % config.fold_size]
        if uneven and not settings.prune_ffn:
            raise InputError(
                f"--ghosts needs FFNs of whole folds, {config.fold_size} neurons each. Received: {uneven[0]} neurons; "
                "compress the model before it was made narrower."
            )


def compress(checkpoint: EncoderCheckpoint, settings: Compression, rows: TaskRows | None = None) -> Compressed:
    """`rows` are needed as `settings.needs_rows` and `needs_gradients` say. The order of heads and neurons that are chosen
    by importance is that of their importance.
    """
    check(checkpoint, settings)
    if settings.needs_rows and (rows is None or (settings.needs_gradients and rows.targets is None)):
        raise InputError("Heads and neurons are chosen by gradients on rows with labels. Received: no such rows.")
    network = Network(config=checkpoint.config, head=checkpoint.head, tensors=checkpoint.tensors)
    record: dict[str, Any] = {"settings": settings.to_dict(), "rows": len(rows) if rows and settings.needs_rows else 0}
    network, kept_layers = _drop(network, settings, rows, record)
    network = _narrow(network, settings, rows, record, kept_layers)
    if settings.ghosts is not None:
        network = _with_ghosts(network, settings)
    config = network.config
    record["ghosts"] = {"heads": list(config.ghost_heads), "folds": list(config.ghost_folds), "on": config.ghost_on}
    record["parameters"] = {"before": _parameters(checkpoint.tensors), "after": _parameters(network.tensors)}
    name = GHOSTBERT if config.ghost_heads or config.ghost_folds else BERT
    smaller = dataclasses.replace(checkpoint, model_name=name, config=config, tensors=dict(network.tensors))
    return Compressed(checkpoint=smaller, record=record)


def _drop(
    network: Network, settings: Compression, rows: TaskRows | None, record: dict[str, Any]
) -> tuple[Network, list[int]]:
    count, choice = network.config.num_layers, settings.drop_layers
    if not isinstance(choice, LayerChoice):
        record["layers"] = {"kept": list(range(count)), "dropped": []}
        return network, list(range(count))
    similarity = None
    if choice.needs_data and rows is not None:
        from models_tf.compress.rows import batches

        similarity = layers.similarities(network, batches(rows))
    dropped = choice.resolve(count, similarity)
    _check_not_dropped(settings, dropped)
    kept = [layer for layer in range(count) if layer not in dropped]
    record["layers"] = {"kept": kept, "dropped": dropped} | ({"similarity": similarity} if similarity else {})
    return layers.drop_layers(network, dropped), kept


def _narrow(
    network: Network, settings: Compression, rows: TaskRows | None, record: dict[str, Any], kept_layers: list[int]
) -> Network:
    config = network.config
    counts = [config.heads_of(layer) for layer in range(config.num_layers)]
    kept = [list(range(count)) for count in counts]
    kept_neurons = [list(range(config.ffn_of(layer))) for layer in range(config.num_layers)]
    importance = None
    if settings.needs_gradients and rows is not None:
        from models_tf.compress.importance import measure
        from models_tf.compress.rows import batches, loss_of

        method = MASK if settings.head_importance == RANDOM else settings.head_importance
        importance = measure(network, batches(rows), loss_of(rows.task), method=method)
        record["importance"] = {"method": method, "heads": [scores.tolist() for scores in importance.heads]}
    if settings.remove_heads:
        removed = {kept_layers.index(layer): numbers for layer, numbers in settings.remove_heads}
        kept = heads.without(counts, removed, minimum=settings.min_heads)
    elif settings.prune_heads:
        at_random = settings.head_importance == RANDOM or importance is None
        kept = heads.choose_heads(
            heads.random_importance(counts, settings.seed) if at_random or importance is None else importance.heads,
            share=settings.prune_heads,
            scope=settings.head_scope,
            minimum=settings.min_heads,
            normalize=settings.normalize_heads and not at_random,
        )
    if settings.prune_ffn and importance is not None:
        fold = config.fold_size if settings.ghosts is not None else None
        kept_neurons = neurons.choose_neurons(importance.neurons, share=settings.prune_ffn, fold=fold)
    record["heads"], record["neurons"] = {"kept": kept}, {"kept": kept_neurons}
    if settings.changes_width:
        network = width.keep_neurons(width.keep_heads(network, kept), kept_neurons)
    return network


def _with_ghosts(network: Network, settings: Compression) -> Network:
    count = None if settings.ghosts == AS_REMOVED else settings.ghosts
    by_heads, by_folds = ghosts.ghosts_for(network.config, count)
    try:
        return ghosts.add_ghosts(
            network,
            heads=by_heads,
            folds=by_folds,
            ghost_on=settings.ghost_on,
            kernel=settings.ghost_kernel,
            seed=settings.seed,
        )
    except InputError:
        raise
    except ValueError as error:
        raise InputError(str(error)) from error


def _check_not_dropped(settings: Compression, dropped: Sequence[int]) -> None:
    for layer, _ in settings.remove_heads:
        if layer in dropped:
            raise InputError(f"--remove-heads must name layers that stay. Received: layer {layer}, which is dropped.")


def _parameters(tensors: Any) -> int:
    return int(sum(value.size for value in tensors.values()))
