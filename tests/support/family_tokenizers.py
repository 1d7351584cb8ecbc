"""The tokenizer of BERT and of each relative, as its checkpoints have it: files, checkpoints, `transformers`' own."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from models_tf.checkpoints import encoder as checkpoint
from models_tf.tokenizers.tokenizer import Tokenizer
from support.byte_pairs import byte_pairs
from support.spiece_files import deberta_model, xlmr_model
from support.tiny_models import DOCUMENTS, RELATIVES, TOKENS, VOCAB, tiny_encoder

MPNET = ["<s>", "<pad>", "</s>", "<unk>", *TOKENS, "<mask>"]


def _words() -> dict[str, bytes]:
    return {"vocab.txt": VOCAB}


def _mpnet() -> dict[str, bytes]:
    return {
        "vocab.txt": "".join(f"{token}\n" for token in MPNET).encode(),
        "tokenizer_config.json": b'{"tokenizer_class": "MPNetTokenizer"}',
    }


def _roberta() -> dict[str, bytes]:
    return {name: byte_pairs()[name] for name in ("vocab.json", "merges.txt")}


# Class of `transformers`, files.
FAMILIES: Mapping[str, tuple[str, Callable[[], dict[str, bytes]]]] = {
    "bert": ("BertTokenizerFast", _words),
    "distilbert": ("DistilBertTokenizerFast", _words),
    "electra": ("ElectraTokenizerFast", _words),
    "roberta": ("RobertaTokenizerFast", _roberta),
    "xlm-roberta": ("XLMRobertaTokenizerFast", lambda: {"sentencepiece.bpe.model": xlmr_model()}),
    "mpnet": ("MPNetTokenizerFast", _mpnet),
    "deberta-v2": ("DebertaV2TokenizerFast", lambda: {"spm.model": deberta_model()}),
}
# Most tests are parametrised over this table: a family without a row must not pass for tested.
if FAMILIES.keys() != {"bert", *RELATIVES}:
    raise LookupError(f"BERT and every relative need a tokenizer here. Received: {', '.join(FAMILIES)}")
LENGTH = 64


def files_of(model: str) -> dict[str, bytes]:
    return FAMILIES[model][1]()


def write_family(folder: Path, model: str, task: str = "classification") -> Path:
    """A folder with a tiny model that reads up to `LENGTH` tokens of its family's own."""
    tokenizer = Tokenizer.from_files(files_of(model))
    # RoBERTa counts positions from behind padding, MPNet from 2.
    changes = {"vocab_size": tokenizer.vocab_size, "max_position_embeddings": LENGTH + 2}
    if "pad_token_id" in DOCUMENTS[model]:
        changes["pad_token_id"] = tokenizer.pad_id
    made = tiny_encoder(model, task, **changes)
    made.tokenizer_files.clear()
    made.tokenizer_files.update(files_of(model))
    checkpoint.save(folder, made)
    return folder


def of_transformers(model: str, folder: Path) -> Any:
    """Its own tokenizer from the same files."""
    import transformers

    for name, data in files_of(model).items():
        (folder / name).write_bytes(data)
    return getattr(transformers, FAMILIES[model][0]).from_pretrained(folder)
