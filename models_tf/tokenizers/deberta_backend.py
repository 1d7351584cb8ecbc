"""Builds a `tokenizers` tokenizer from DeBERTa-v2's and v3's spm.model.

Pieces keep the numbers of the file, and a mask that the file lacks comes behind them. Text is prepared as the file's
own character map says, which is what SentencePiece does.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from models_tf.tokenizers.spiece_file import CONTROL, USER_DEFINED, Spiece
from models_tf.tokenizers.spiece_words import split_words

if TYPE_CHECKING:
    from tokenizers import Tokenizer as Backend


def make_backend(spiece: Spiece, special: Mapping[str, str], *, lower_case: bool) -> "Backend":
    """`special` are the names of pad, unk, cls, sep and mask; those that are not pieces get no id, but for the mask."""
    from tokenizers import AddedToken, models, normalizers
    from tokenizers import Tokenizer as Backend

    backend = Backend(models.Unigram([(text, score) for text, score, _ in spiece.pieces], unk_id=spiece.unknown))
    steps: list[normalizers.Normalizer] = [normalizers.Lowercase()] if lower_case else []
    if spiece.character_map:
        steps.append(normalizers.Precompiled(spiece.character_map))
    backend.normalizer = normalizers.Sequence(steps)
    split_words(backend)
    kinds = {text: kind for text, _, kind in spiece.pieces}
    named = [name for which, name in special.items() if name in kinds or which == "mask"]
    backend.add_special_tokens([AddedToken(name, special=True, normalized=False) for name in named])
    backend.add_tokens(
        [
            AddedToken(text, special=kind == CONTROL, normalized=False)
            for text, kind in kinds.items()
            if kind in (CONTROL, USER_DEFINED) and text not in named
        ]
    )
    return backend
