"""`compress`: a checkpoint and a `Compression` -> a smaller checkpoint, and the record of what was kept.

The order: layers are dropped first, so that importance is measured on what is left; then heads and neurons; then ghosts
are made from those kept; then layers are shared; then the vocabulary is pruned and the word embedding factorised for
the remaining words; then the retention is set for the remaining layers. No file access: `exporters/compression` has it.
"""

import dataclasses
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from models_tf import registry
from models_tf.checkpoints.encoder import EncoderCheckpoint, to_document
from models_tf.checkpoints.initial import initial_tensors
from models_tf.compress import factorize, ghosts, heads, layers, neurons, retention, share, width
from models_tf.compress.checks import check, check_not_dropped
from models_tf.compress.layer_choice import LayerChoice
from models_tf.compress.notes import notes_of
from models_tf.compress.settings import (
    AS_REMOVED,
    FIRST,
    MASK,
    RANDOM,
    Compression,
)
from models_tf.encoder.config import BY_CHANCE
from models_tf.encoder.network import Network
from models_tf.errors import InputError
from models_tf.tasks.rows import TaskRows


@dataclass(frozen=True, kw_only=True)
class Compressed:
    """`record` says what was kept, in the numbering of the given model; it can be written as JSON. `notes` say what
    was asked for and removed nothing.
    """

    checkpoint: EncoderCheckpoint
    record: dict[str, Any]
    notes: tuple[str, ...] = ()


def compress(
    checkpoint: EncoderCheckpoint,
    settings: Compression,
    rows: TaskRows | None = None,
    used: Collection[int] | None = None,
) -> Compressed:
    """`rows` are needed if `settings.needs_rows` or `needs_gradients`. `used` are token ids `prune_vocab` must keep.

    Heads and neurons chosen by importance come out in the order of their importance.
    """
    check(checkpoint, settings)
    if settings.needs_rows and (rows is None or (settings.needs_gradients and rows.targets is None)):
        raise InputError("Heads and neurons are chosen by gradients on rows with labels. Received: no such rows.")
    network = Network(config=checkpoint.config, head=checkpoint.head, tensors=checkpoint.tensors)
    record: dict[str, Any] = {"settings": settings.to_dict(), "rows": len(rows) if rows and settings.needs_rows else 0}
    network, kept_layers = _drop(network, settings, rows, record)
    whole = network.config
    network = _narrow(network, settings, rows, record, kept_layers)
    try:
        if settings.ghosts is not None:
            network = _with_ghosts(network, settings)
        network = _shared(network, settings, checkpoint.trained)
        network, pruned = _pruned(network, checkpoint, settings, record, used)
        network = _factorized(network, settings, record, checkpoint.trained)
        if settings.retention:
            network = retention.keep_tokens(
                network, tuple(map(int, settings.retention)), by=settings.retention_by, seed=settings.seed
            )
    except InputError:
        raise
    except ValueError as error:
        raise InputError(str(error)) from error
    config = network.config
    family = registry.get(checkpoint.model_name).family()
    name = family.compressed.name(config) if family.compressed else family.name
    smaller = dataclasses.replace(pruned, model_name=name, config=config, tensors=dict(network.tensors))
    try:
        to_document(smaller)
    except ValueError as error:
        raise InputError(f"What is left must be {name}. Received: {error}") from error
    record["ghosts"] = {"heads": list(config.ghost_heads), "folds": list(config.ghost_folds), "on": config.ghost_on}
    if config.shared_layers:
        record["shared_layers"] = list(config.shared_layers)
    if config.retention:
        kept = {"kept": list(config.retention), "by": config.retention_by}
        record["retention"] = kept | ({"seed": config.retention_seed} if config.retention_by == BY_CHANCE else {})
    record["parameters"] = {"before": _parameters(checkpoint.tensors), "after": _parameters(smaller.tensors)}
    return Compressed(checkpoint=smaller, record=record, notes=notes_of(settings, whole, record))


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
    check_not_dropped(settings, dropped)
    kept = [layer for layer in range(count) if layer not in dropped]
    record["layers"] = {"kept": kept, "dropped": dropped} | ({"similarity": similarity} if similarity else {})
    return layers.drop_layers(network, dropped), kept


def _narrow(
    network: Network, settings: Compression, rows: TaskRows | None, record: dict[str, Any], kept_layers: list[int]
) -> Network:
    config = network.config
    # Shared weights get one choice: until the end, lists have one entry per set of stored weights.
    users, first_uses = config.shared_layers or tuple(range(config.num_layers)), config.first_uses
    counts = [config.heads_of(layer) for layer in first_uses]
    kept = [list(range(count)) for count in counts]
    kept_neurons = [list(range(config.ffn_of(layer))) for layer in first_uses]
    importance = None
    if settings.needs_gradients and rows is not None:
        from models_tf.compress.importance import measure
        from models_tf.compress.rows import batches, loss_of

        method = MASK if settings.head_importance == RANDOM else settings.head_importance
        importance = measure(network, batches(rows), loss_of(rows.task), method=method)
        record["importance"] = {"method": method, "heads": [scores.tolist() for scores in importance.heads]}
    if settings.remove_heads:
        removed: dict[int, tuple[int, ...]] = {}
        for layer, numbers in settings.remove_heads:
            user = users[kept_layers.index(layer)]
            removed[user] = tuple(dict.fromkeys((*removed.get(user, ()), *numbers)))
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
    kept, kept_neurons = ([lists[user] for user in users] for lists in (kept, kept_neurons))
    record["heads"], record["neurons"] = {"kept": kept}, {"kept": kept_neurons}
    if settings.changes_width:
        network = width.keep_neurons(width.keep_heads(network, kept), kept_neurons)
    return network


def _with_ghosts(network: Network, settings: Compression) -> Network:
    count = None if settings.ghosts == AS_REMOVED else settings.ghosts
    by_heads, by_folds = ghosts.ghosts_for(network.config, count)
    return ghosts.add_ghosts(
        network,
        heads=by_heads,
        folds=by_folds,
        ghost_on=settings.ghost_on,
        kernel=settings.ghost_kernel,
        seed=settings.seed,
    )


def _shared(network: Network, settings: Compression, trained: bool) -> Network:
    if settings.share_layers is None:
        return network
    # The mean of random layers would have smaller weights than a random layer.
    return share.share_layers(network, settings.share_layers, start=settings.share_from if trained else FIRST)


def _factorized(network: Network, settings: Compression, record: dict[str, Any], trained: bool) -> Network:
    size = settings.embedding_size
    if size is None:
        return network
    table = network.tensors["word_embedding"]
    smaller = factorize.factorize_embedding(network, size)
    record["embedding"] = {"before": int(table.shape[1]), "after": size}
    if trained:
        record["embedding"]["discarded"] = factorize.discarded(table, size)
        return smaller
    # Random weights hold nothing to keep: they all start as in a new model.
    shapes = smaller.config.shapes(smaller.head)
    names = ("word_embedding", "embedding_projection.kernel", "embedding_projection.bias")
    drawn = {name: shapes[name] for name in names}
    return smaller.change(initial_tensors(drawn, smaller.config.initializer_range, settings.seed))


def _pruned(
    network: Network,
    checkpoint: EncoderCheckpoint,
    settings: Compression,
    record: dict[str, Any],
    used: Collection[int] | None,
) -> tuple[Network, EncoderCheckpoint]:
    """The network with fewer words, and the checkpoint with the matching tokenizer files."""
    if not settings.prune_vocab:
        return network, checkpoint
    from models_tf.checkpoints import vocabulary

    if used is None:
        raise InputError("--prune-vocab keeps the tokens of texts: give --vocab-data FILE. Received: none.")
    kept = vocabulary.kept_tokens(checkpoint, used, characters=not settings.drop_characters)
    pruned = vocabulary.keep_tokens(checkpoint, kept)
    before, after = checkpoint.config.vocab_size, pruned.config.vocab_size
    record["vocabulary"] = {"before": before, "after": after, "in_data": len(set(used))}
    return vocabulary.keep_rows(network, kept), pruned


def _parameters(tensors: Any) -> int:
    return int(sum(value.size for value in tensors.values()))
