"""Refuses what a `Compression` cannot do to a checkpoint, before any row is read or any weight touched."""

from collections.abc import Sequence

from models_tf import registry
from models_tf.checkpoints.encoder import EncoderCheckpoint
from models_tf.compress import heads
from models_tf.compress.layer_choice import LayerChoice
from models_tf.compress.settings import Compression, check_kept_tokens
from models_tf.encoder.heads import BASE
from models_tf.errors import InputError


def check(checkpoint: EncoderCheckpoint, settings: Compression) -> None:
    """Everything that can be refused before rows are read."""
    family = registry.get(checkpoint.model_name).family()
    if family.compressed is None:
        name = checkpoint.model_name
        raise InputError(f"{registry.not_compressible(name)} Received: a checkpoint of {name}.")
    if settings.is_empty:
        raise InputError(
            "Nothing to do: give --drop-layers, --prune-heads, --remove-heads, --prune-ffn, --ghosts, --share-layers, "
            "--embedding-size, --prune-vocab or --retention. Received: none of them, or a share of 0."
        )
    dropped = _check_layers(checkpoint, settings)
    _check_width(checkpoint, settings, dropped, heads_may_go=family.compressed.heads)
    _check_ghosts(checkpoint, settings, possible=family.compressed.ghosts is not None)
    _check_shared(checkpoint, settings, possible=family.compressed.narrow_words)
    _check_tokens(checkpoint, settings, possible=family.compressed.retention is not None)


def layers_left(checkpoint: EncoderCheckpoint, settings: Compression) -> int:
    count, choice = checkpoint.config.num_layers, settings.drop_layers
    if not isinstance(choice, LayerChoice):
        return count
    return count - int(choice.count or 0) if choice.needs_data else count - len(choice.resolve(count))


def check_not_dropped(settings: Compression, dropped: Sequence[int]) -> None:
    for layer, _ in settings.remove_heads:
        if layer in dropped:
            raise InputError(f"--remove-heads must name layers that stay. Received: layer {layer}, which is dropped.")


def _check_layers(checkpoint: EncoderCheckpoint, settings: Compression) -> Sequence[int]:
    """The layers to drop, if already known."""
    config, choice = checkpoint.config, settings.drop_layers
    if not isinstance(choice, LayerChoice):
        return ()
    choice.check(config.num_layers)
    if not choice.needs_data:
        return choice.resolve(config.num_layers)
    if config.retention:
        raise InputError(
            "--drop-layers contribution:K compares the tokens before and behind a layer. "
            "Received: a model whose layers drop tokens; "
            "name the layers, or choose them on the model before --retention."
        )
    return ()


def _check_width(
    checkpoint: EncoderCheckpoint, settings: Compression, dropped: Sequence[int], *, heads_may_go: bool
) -> None:
    config = checkpoint.config
    if not heads_may_go and (settings.prune_heads or settings.remove_heads):
        asked = "--prune-heads" if settings.prune_heads else "--remove-heads"
        names = [name for name in registry.compressible("heads") if not registry.adds_ghosts(name)]
        raise InputError(
            f"{asked} is for {', '.join(names)}. Received: {checkpoint.model_name}; "
            "use --prune-ffn, --drop-layers or --share-layers."
        )
    counts = [config.heads_of(layer) for layer in range(config.num_layers)]
    if settings.remove_heads:
        heads.without(counts, dict(settings.remove_heads), minimum=settings.min_heads)
        check_not_dropped(settings, dropped)
    if settings.prune_heads and settings.min_heads > min(counts):
        raise InputError(
            f"--min-heads must be 1 to {min(counts)}, the heads of a layer. Received: {settings.min_heads}."
        )


def _check_ghosts(checkpoint: EncoderCheckpoint, settings: Compression, *, possible: bool) -> None:
    config = checkpoint.config
    if config.ghost_heads or config.ghost_folds:
        asked = {
            "": settings.changes_width or settings.ghosts is not None,
            "--share-layers is for layers without ghosts": settings.share_layers is not None,
            "--retention is for layers without ghosts": bool(settings.retention),
        }
        for what in (text for text, given in asked.items() if given):
            lose = "A model with ghosts can lose layers only: compress the one without, then add ghosts"
            raise InputError(f"{what or lose}. Received: a ghostbert.")
    if settings.ghosts is None:
        return
    if not possible or config.shared_layers or config.retention:
        received = checkpoint.model_name
        if possible:
            received = "a model whose layers share weights" if config.shared_layers else "one whose layers drop tokens"
        raise InputError(f"--ghosts makes a ghostbert of a bert with layers of their own. Received: {received}.")
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


def _check_shared(checkpoint: EncoderCheckpoint, settings: Compression, *, possible: bool) -> None:
    config, left = checkpoint.config, layers_left(checkpoint, settings)
    if settings.share_layers is not None and settings.share_layers > left:
        raise InputError(
            f"--share-layers must be 1 to {left} groups, the model's layers"
            f"{' that --drop-layers leaves' * (left < config.num_layers)}. Received: {settings.share_layers}."
        )
    if settings.embedding_size is not None:
        if not possible:
            names = ", ".join(registry.compressible("narrow_words"))
            raise InputError(f"--embedding-size is for {names}. Received: {checkpoint.model_name}.")
        if config.projects_embedding:
            raise InputError(
                "--embedding-size is for a word embedding as wide as the model. Received: one of width "
                f"{config.embedding_size} that is factorised already."
            )
        if settings.embedding_size >= config.hidden_size:
            raise InputError(
                f"--embedding-size must be below the model's width, {config.hidden_size}. "
                f"Received: {settings.embedding_size}."
            )


def _check_tokens(checkpoint: EncoderCheckpoint, settings: Compression, *, possible: bool) -> None:
    if settings.prune_vocab and not checkpoint.tokenizer_files:
        raise InputError("--prune-vocab needs a model with a vocabulary. Received: one without tokenizer files.")
    kept = settings.retention
    if not kept or isinstance(kept, str):
        return
    head, left = checkpoint.head, layers_left(checkpoint, settings)
    if not (head.reads_pooled or head.kind == BASE):
        raise InputError(
            "--retention is for classification and regression, whose heads read the first token. Received: a "
            f"{head.kind} model."
        )
    if not possible:
        raise InputError(f"--retention makes a powerbert of a bert. Received: {checkpoint.model_name}.")
    check_kept_tokens(kept, left, dropped=left < checkpoint.config.num_layers)
