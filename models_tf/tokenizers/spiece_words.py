"""How SentencePiece tells words apart, for all backends of its files: each begins with the sign of a space."""

from typing import TYPE_CHECKING

from models_tf.tokenizers.spiece_file import SPACE

if TYPE_CHECKING:
    from tokenizers import Tokenizer as Backend


def split_words(backend: "Backend") -> None:
    """Gives the tokenizer its splitter and its decoder."""
    from tokenizers import decoders, pre_tokenizers

    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(replacement=SPACE, prepend_scheme="always")]
    )
    backend.decoder = decoders.Metaspace(replacement=SPACE, prepend_scheme="always")
