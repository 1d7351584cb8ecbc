"""The compression flags that `compress`, `train` and the export share."""

import argparse
from pathlib import Path
from typing import Any

from models_tf.compress.layer_choice import FORMS, parse_layers
from models_tf.compress.settings import AS_REMOVED, HEAD_IMPORTANCE, HEAD_SCOPES, SHARE_FROM, Compression, parse_heads
from models_tf.encoder.config import GHOST_FORMS, RETENTIONS
from models_tf.errors import InputError

# Flags of `add_compression` that are fields of `Compression` by themselves.
_FIELDS = (
    "prune_heads", "head_scope", "head_importance", "normalize_heads", "min_heads", "prune_ffn", "ghosts", "ghost_on",
    "ghost_kernel", "share_layers", "share_from", "embedding_size", "prune_vocab", "drop_characters", "retention",
    "retention_by",
)  # fmt: skip
# Flags that mean nothing without another one.
_NEEDS = {
    "ghost_on": "ghosts", "ghost_kernel": "ghosts", "share_from": "share_layers",
    "drop_characters": "prune_vocab", "retention_by": "retention",
}  # fmt: skip
# All of them: what other commands take out of their own settings.
FLAGS = (*_FIELDS, "drop_layers", "remove_heads")


def add_compression(parser: Any) -> None:
    """What to remove and to add, for a parser or a group of one. All default to None: nothing was said."""
    add = parser.add_argument
    add("--drop-layers", metavar="WHICH", help=f"{FORMS}; layers count from 0")
    add("--prune-heads", type=float, metavar="SHARE", help="share of the attention heads that is removed, such as 0.5")
    add(
        "--head-scope",
        choices=HEAD_SCOPES,
        help="the share is removed from each layer, or from all heads together (default layer)",
    )
    add(
        "--head-importance",
        choices=HEAD_IMPORTANCE,
        help="gradient of a mask on the head, the sum over tokens of Michel et al.'s code, or by chance (default mask)",
    )
    add(
        "--normalize-heads",
        action="store_true",
        default=None,
        help="divide the importance of a layer's heads by its L2 norm before layers are compared",
    )
    add("--min-heads", type=int, metavar="N", help="heads that each layer keeps at least (default 1)")
    add("--remove-heads", metavar="LIST", help='these heads instead of a share, as layer:heads, such as "0:3,5;2:1"')
    add(
        "--prune-ffn",
        type=float,
        metavar="SHARE",
        help="share of each FFN's neurons that is removed; what is kept is rounded to a multiple of 16, with --ghosts to "
        "whole folds",
    )
    add(
        "--ghosts",
        nargs="?",
        type=_ghosts,
        const=AS_REMOVED,
        metavar="N",
        help="cheap features beside heads and FFN, N in each layer, or as many as were removed: makes a ghostbert",
    )
    add("--ghost-on", choices=GHOST_FORMS, help="what ghosts are made of (default heads)")
    add("--ghost-kernel", type=int, metavar="N", help="tokens that a ghost reads, an odd number (default 3)")
    add(
        "--share-layers",
        nargs="?",
        type=int,
        const=1,
        metavar="N",
        help="neighbouring layers share weights, in N groups (default 1: all layers, as in ALBERT)",
    )
    add(
        "--share-from",
        choices=SHARE_FROM,
        help="shared weights start as the group's first layer or mean (default first)",
    )
    add(
        "--embedding-size",
        type=int,
        metavar="N",
        help="word embedding of width N with a matrix that widens it, by singular values",
    )
    add(
        "--prune-vocab",
        action="store_true",
        default=None,
        help="keep only the tokens of --vocab-data, special tokens and single characters",
    )
    add(
        "--vocab-data",
        action="extend",
        nargs="+",
        type=Path,
        metavar="FILE",
        help="texts whose tokens stay: tables and tagged files as --data, or .txt with one text per line; may be repeated",
    )
    add(
        "--drop-characters",
        action="store_true",
        default=None,
        help="with --prune-vocab: single characters go too unless they occur; a new word is then unknown as a whole",
    )
    add(
        "--retention",
        metavar="LIST",
        help="tokens that go on from each layer that is left, such as 64,48,40,32,24,16, never growing: makes a powerbert; "
        "for classification and regression",
    )
    add(
        "--retention-by",
        choices=RETENTIONS,
        help="tokens that get most attention, those further left, or by chance with --seed (default significance)",
    )


def from_args(args: argparse.Namespace) -> Compression:
    """The settings that the flags of `add_compression` say; an InputError names the flag."""
    given = {name: getattr(args, name) for name in _FIELDS if getattr(args, name) is not None}
    for name, needed in _NEEDS.items():
        value = getattr(args, name)
        if value is not None and needed not in given:
            flag, shown = "--" + name.replace("_", "-"), "" if value is True else f" {value}"
            raise InputError(f"{flag} needs --{needed.replace('_', '-')}. Received: {flag}{shown} alone.")
    if not args.prune_heads:
        for name in ("head_scope", "head_importance", "normalize_heads"):
            if name in given:
                flag = "--" + name.replace("_", "-")
                raise InputError(f"{flag} needs --prune-heads. Received: {flag} alone.")
        if "min_heads" in given and args.remove_heads is None:
            raise InputError("--min-heads needs --prune-heads or --remove-heads. Received: --min-heads alone.")
    return Compression(
        **given,
        drop_layers=None if args.drop_layers is None else parse_layers(args.drop_layers),
        remove_heads=() if args.remove_heads is None else parse_heads(args.remove_heads),
        seed=args.seed or 0,
    )


def is_given(args: argparse.Namespace) -> bool:
    """Whether any flag of `add_compression` was given."""
    return any(getattr(args, name, None) is not None for name in FLAGS)


def _ghosts(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or len(text) > 5 or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be from 1 to the number of heads, or nothing. Received: {text!r}")
    return int(text)
