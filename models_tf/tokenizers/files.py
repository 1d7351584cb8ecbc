"""The files of a tokenizer in a checkpoint folder: their names, and their bytes as they are."""

from pathlib import Path

from models_tf.bounded_files import read_document
from models_tf.folders.links import path_inside

WORDPIECE, SENTENCEPIECE, BYTE_PAIRS = ("wordpiece", "sentencepiece", "byte-pairs")
VOCAB, SPIECE, TOKENIZER = "vocab.txt", "spiece.model", "tokenizer.json"
XLMR_SPIECE, DEBERTA_SPIECE = "sentencepiece.bpe.model", "spm.model"
SPIECE_FILES = (SPIECE, XLMR_SPIECE, DEBERTA_SPIECE)
PIECES, MERGES = "vocab.json", "merges.txt"
SETTINGS, SPECIAL_TOKENS, ADDED_TOKENS = "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"
# A folder has some of them.
TOKENIZER_FILES = (
    VOCAB,
    *SPIECE_FILES,
    PIECES,
    MERGES,
    TOKENIZER,
    SETTINGS,
    SPECIAL_TOKENS,
    ADDED_TOKENS,
)


def read_tokenizer_files(folder: Path) -> dict[str, bytes]:
    """Those that are there; which of them are needed and whether they are right is for the tokenizer to say. They are
    copied into what is written: a link out of the folder is refused.
    """
    return {name: read_document(path_inside(folder, name)) for name in TOKENIZER_FILES if (folder / name).is_file()}
