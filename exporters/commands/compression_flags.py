"""The compression flags that `compress`, `train` and the export share."""

import argparse
from pathlib import Path
from typing import Any

from models_tf.compress.layer_choice import FORMS, parse_layers
from models_tf.compress.settings import AS_REMOVED, HEAD_IMPORTANCE, HEAD_SCOPES, SHARE_FROM, Compression, parse_heads
from models_tf.encoder.config import GHOST_FORMS, RETENTIONS
from models_tf.errors import InputError

# Flags of `add_compression` that are fields of `Compression` under the same name.
_FIELDS = (
    "prune_heads", "head_scope", "head_importance", "normalize_heads", "min_heads", "prune_ffn", "ghosts", "ghost_on",
    "ghost_kernel", "share_layers", "share_from", "embedding_size", "prune_vocab", "drop_characters", "retention",
    "retention_by",
)  # fmt: skip
# Flags that need another one.
_NEEDS = {
    "ghost_on": "ghosts", "ghost_kernel": "ghosts", "share_from": "share_layers",
    "drop_characters": "prune_vocab", "retention_by": "retention",
}  # fmt: skip
# All flags of `add_compression` except --vocab-data.
FLAGS = (*_FIELDS, "drop_layers", "remove_heads")


def add_compression(parser: Any) -> None:
    """Adds the flags to a parser or a group. All default to None: not given."""
    add = parser.add_argument
    add("--drop-layers", metavar="WHICH", help=f"{FORMS}; layers count from 0")
    add("--prune-heads", type=float, metavar="SHARE", help="share of attention heads to remove, such as 0.5")
    add(
        "--head-scope",
        choices=HEAD_SCOPES,
        help="take the share from each layer, or from all heads together (default layer)",
    )
    add(
        "--head-importance",
        choices=HEAD_IMPORTANCE,
        help="mask: gradient of a mask on the head; token: summed per token, as in Michel et al.'s code (default mask)",
    )
    add(
        "--normalize-heads",
        action="store_true",
        default=None,
        help="divide importance by its L2 norm in each layer before comparing layers",
    )
    add("--min-heads", type=int, metavar="N", help="fewest heads a layer keeps (default 1)")
    add("--remove-heads", metavar="LIST", help='remove exactly these, as layer:heads, such as "0:3,5;2:1"')
    add(
        "--prune-ffn",
        type=float,
        metavar="SHARE",
        help="share of each FFN's neurons to remove; the rest is rounded to a multiple of 16, or to whole folds with "
        "--ghosts",
    )
    add(
        "--ghosts",
        nargs="?",
        type=_ghosts,
        const=AS_REMOVED,
        metavar="N",
        help="add N cheap features to each layer, by default as many as were removed; makes a ghostbert",
    )
    add("--ghost-on", choices=GHOST_FORMS, help="what ghosts are made of (default heads)")
    add("--ghost-kernel", type=int, metavar="N", help="tokens a ghost reads, an odd number (default 3)")
    add(
        "--share-layers",
        nargs="?",
        type=int,
        const=1,
        metavar="N",
        help="share weights between neighbouring layers, in N groups (default 1, as in ALBERT)",
    )
    add(
        "--share-from",
        choices=SHARE_FROM,
        help="start shared weights from the group's first layer or its mean (default first)",
    )
    add(
        "--embedding-size",
        type=int,
        metavar="N",
        help="factor the word embedding to width N by SVD",
    )
    add(
        "--prune-vocab",
        action="store_true",
        default=None,
        help="keep only special tokens, single characters and the tokens of --vocab-data",
    )
    add(
        "--vocab-data",
        action="extend",
        nargs="+",
        type=Path,
        metavar="FILE",
        help="texts whose tokens stay: tables, tagged files, or .txt with one text per line; repeatable",
    )
    add(
        "--drop-characters",
        action="store_true",
        default=None,
        help="with --prune-vocab: also drop single characters that do not occur; new words then become unknown",
    )
    add(
        "--retention",
        metavar="LIST",
        help="tokens each remaining layer passes on, never growing, such as 64,48,40,32,24,16; makes a powerbert; "
        "for classification and regression",
    )
    add(
        "--retention-by",
        choices=RETENTIONS,
        help="keep the tokens with the most attention, the leftmost ones, or random ones (default significance)",
    )


def from_args(args: argparse.Namespace) -> Compression:
    """The settings from the flags of `add_compression`. An InputError names the flag."""
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
