"""Builds a `tokenizers` tokenizer from ALBERT's spiece.model, with its lower-casing, accents and quotes.

The tokens equal SentencePiece's after ALBERT's own text preparation, which splits a number from its comma. Leaves out
other models' preparation, and sampling.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from models_tf.tokenizers.spiece_file import Spiece
from models_tf.tokenizers.spiece_words import split_words

if TYPE_CHECKING:
    from tokenizers import Tokenizer as Backend

# Names of the special tokens if tokenizer_config.json has none.
SPECIAL = {"pad": "<pad>", "unk": "<unk>", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}
# Added to the score of a piece such as `9,`, so that it is never chosen.
_NEVER = -100.0


def make_backend(spiece: Spiece, special: Mapping[str, str], *, lower_case: bool, keep_accents: bool) -> "Backend":
    """`special` are the names of pad, unk, cls, sep and mask; those that are not pieces get no id."""
    from tokenizers import AddedToken, models, normalizers
    from tokenizers import Tokenizer as Backend

    scores = [(text, score + _NEVER * _is_number_with_comma(text)) for text, score, _ in spiece.pieces]
    backend = Backend(models.Unigram(scores, unk_id=spiece.unknown))
    steps: list[normalizers.Normalizer] = [normalizers.Replace("``", '"'), normalizers.Replace("''", '"')]
    if not keep_accents:
        steps += [normalizers.NFKD(), normalizers.StripAccents()]
    if lower_case:
        steps.append(normalizers.Lowercase())
    if spiece.character_map:
        steps.append(normalizers.Precompiled(spiece.character_map))
    backend.normalizer = normalizers.Sequence(steps)
    split_words(backend)
    present = {text for text, _, _ in spiece.pieces}
    backend.add_special_tokens(
        [
            # A mask includes the space before it, as a word would.
            AddedToken(name, special=True, normalized=False, lstrip=kind == "mask")
            for kind, name in special.items()
            if name in present
        ]
    )
    return backend


def _is_number_with_comma(piece: str) -> bool:
    return len(piece) > 1 and piece[-1] == "," and piece[-2].isdigit()
