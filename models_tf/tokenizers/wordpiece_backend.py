"""A tokenizer of the `tokenizers` package from vocab.txt: BERT's and MPNet's WordPiece, as transformers builds it."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from models_tf.errors import InputError
from models_tf.tokenizers.files import VOCAB

if TYPE_CHECKING:
    from tokenizers import Tokenizer as Backend
    from tokenizers.processors import PostProcessor

# Names of the special tokens where tokenizer_config.json does not say them.
SPECIAL = {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}
# The same of MPNet, which has RoBERTa's around BERT's words. Two texts then have two separators between them.
_MPNET_CLASSES = ("MPNetTokenizer", "MPNetTokenizerFast")
MPNET_SPECIAL = {**SPECIAL, "pad": "<pad>", "cls": "<s>", "sep": "</s>", "mask": "<mask>"}


def special_of(settings: Mapping[str, Any], vocab: Mapping[str, int]) -> Mapping[str, str]:
    """MPNet's names or BERT's. MPNet's vocabulary holds both; where no class is stated, it begins with its own."""
    stated = settings.get("tokenizer_class")
    if stated in _MPNET_CLASSES or (stated is None and vocab.get(MPNET_SPECIAL["cls"]) == 0):
        return MPNET_SPECIAL
    return SPECIAL


def make_backend(
    vocab: dict[str, int],
    special: Mapping[str, str],
    *,
    never_split: Sequence[str],
    lower_case: bool,
    strip_accents: bool | None,
    split_chinese: bool,
) -> "Backend":
    """`never_split` are others beside the special tokens; `strip_accents` None is as `lower_case`."""
    from tokenizers import AddedToken, decoders, models, normalizers, pre_tokenizers
    from tokenizers import Tokenizer as Backend

    backend = Backend(models.WordPiece(vocab, unk_token=special["unk"]))
    backend.normalizer = normalizers.BertNormalizer(
        clean_text=True, handle_chinese_chars=split_chinese, strip_accents=strip_accents, lowercase=lower_case
    )
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.decoder = decoders.WordPiece(prefix="##")
    # Only tokens that the vocabulary holds: another would get an id beyond the embedding.
    kept = [name for name in (*special.values(), *never_split) if name in vocab]
    backend.add_special_tokens([AddedToken(name, special=True, normalized=False) for name in kept])
    if special["cls"] == MPNET_SPECIAL["cls"] and {special["cls"], special["sep"]} <= vocab.keys():
        cls, sep = ((special[which], vocab[special[which]]) for which in ("cls", "sep"))
        backend.post_processor = two_separators(cls, sep)
    return backend


def two_separators(cls: tuple[str, int], sep: tuple[str, int]) -> "PostProcessor":
    """What RobertaProcessing does to words, in the form that the libraries for devices read."""
    from tokenizers.processors import TemplateProcessing

    return TemplateProcessing(
        single=f"{cls[0]}:0 $A:0 {sep[0]}:0",
        pair=f"{cls[0]}:0 $A:0 {sep[0]}:0 {sep[0]}:0 $B:0 {sep[0]}:0",
        special_tokens=[cls, sep],
    )


def read_vocab(data: bytes) -> dict[str, int]:
    """One token per line; its id is the number of the line, from 0."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(f"{VOCAB} must be UTF-8. Received: byte 0x{data[error.start]:02x} in line {line}.") from error
    # Not splitlines(): a vocabulary may hold U+2028 and its like as tokens.
    lines = text.replace("\r\n", "\n").removesuffix("\n").split("\n")
    if lines == [""]:
        raise InputError(f"{VOCAB} must have one token per line. Received: an empty file.")
    vocab: dict[str, int] = {}
    for number, token in enumerate(lines):
        if not token or "\t" in token:
            received = "a tab (a list of tokens and scores?)" if token else "an empty line"
            raise InputError(f"{VOCAB} line {number + 1} must be one token. Received: {received}.")
        if token in vocab:
            raise InputError(
                f"{VOCAB} must have each token once. Received: {token!r} in lines {vocab[token] + 1} and {number + 1}."
            )
        vocab[token] = number
    return vocab
