"""The tensors of GhostBERT in a file: BERT's names, and names for the ghosts, which no other program has."""

import dataclasses

from models_tf.bert import convert as bert
from models_tf.checkpoints.rename import PortLine
from models_tf.encoder.config import EncoderConfig
from models_tf.ghostbert.config import CONFIG, PRESETS

GHOSTS = {"ghost_heads": "attention.ghosts", "ghost_folds": "ghosts"}


def lines(config: EncoderConfig, prefix: str) -> list[PortLine]:
    found = bert.lines(config, prefix)
    for layer in range(config.num_layers):
        for ours, theirs in GHOSTS.items():
            for part in ("kernel", "gain"):
                name = f"{prefix}encoder.layer.{layer}.{theirs}.{part}"
                found.append(PortLine(ours=f"layers.{layer}.{ours}.{part}", theirs=name))
    return found


FAMILY = dataclasses.replace(
    bert.FAMILY,
    config=CONFIG,
    presets=PRESETS,
    architectures={name.replace("Bert", "GhostBert"): head for name, head in bert.ARCHITECTURES.items()},
    lines=lines,
)
