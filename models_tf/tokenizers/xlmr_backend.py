"""Builds a `tokenizers` tokenizer from XLM-RoBERTa's sentencepiece.bpe.model, as `transformers` does.

In spite of its name the file holds a Unigram model. XLM-RoBERTa numbers its pieces anew: <s>, <pad>, </s> and <unk>
come first, then the pieces behind <unk>, <s> and </s> of the file, each by one higher than there, and <mask> last.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from models_tf.errors import InputError
from models_tf.tokenizers.files import XLMR_SPIECE
from models_tf.tokenizers.spiece_file import CONTROL, USER_DEFINED, Spiece
from models_tf.tokenizers.spiece_words import split_words

if TYPE_CHECKING:
    from tokenizers import Tokenizer as Backend

# The first pieces of the file, and the first tokens of the model.
_IN_FILE = ("<unk>", "<s>", "</s>")
FIRST = ("<s>", "<pad>", "</s>", "<unk>")
_MASK = "<mask>"


def make_backend(spiece: Spiece, special: Mapping[str, str]) -> "Backend":
    """`special` are the names of pad, unk, cls, sep and mask; those that are not pieces get no id."""
    from tokenizers import AddedToken, models, normalizers, processors
    from tokenizers import Tokenizer as Backend

    others = spiece.pieces[len(_IN_FILE) :]
    _check(spiece)
    scores = [*((name, 0.0) for name in FIRST), *((text, score) for text, score, _ in others), (_MASK, 0.0)]
    backend = Backend(models.Unigram(scores, unk_id=FIRST.index("<unk>")))
    if spiece.character_map:
        backend.normalizer = normalizers.Precompiled(spiece.character_map)
    split_words(backend)
    known = {text for text, _ in scores}
    names = dict.fromkeys((*FIRST, _MASK, *(name for name in special.values() if name in known)))
    backend.add_special_tokens([AddedToken(name, special=True, normalized=False) for name in names])
    backend.add_tokens(
        [
            AddedToken(text, special=kind == CONTROL, normalized=False)
            for text, _, kind in others
            if kind in (CONTROL, USER_DEFINED)
        ]
    )
    backend.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>",
        pair="<s> $A </s> </s> $B:0 </s>",
        special_tokens=[(name, FIRST.index(name)) for name in ("<s>", "</s>")],
    )
    return backend


def _check(spiece: Spiece) -> None:
    texts = [text for text, _, _ in spiece.pieces]
    begins = tuple(texts[: len(_IN_FILE)])
    if begins != _IN_FILE or spiece.unknown != 0:
        raise InputError(
            f"{XLMR_SPIECE} must begin with the pieces {', '.join(_IN_FILE)}, as XLM-RoBERTa's does. "
            f"Received: {', '.join(begins)[:100]}."
        )
    twice = next((text for text in texts[len(_IN_FILE) :] if text in (*FIRST, _MASK)), None)
    if twice is not None:
        raise InputError(
            f"{XLMR_SPIECE} must not number {twice} itself: XLM-RoBERTa puts it in. Received: it with number "
            f"{texts.index(twice)}."
        )
