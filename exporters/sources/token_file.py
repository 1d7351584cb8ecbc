"""model.json: everything an app needs to feed a token model and read its answers.

Holds the inputs and outputs of every file, special tokens and labels. Examples to check another tokenizer or runtime
against are in examples.json.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from exporters.formats.tensor_names import PROBABILITIES
from exporters.report.json_lists import short_lists
from models_tf.spec import EMBEDDING, END_LOGITS, HIDDEN, IDS, LOGITS, MASK, POOLED, SEGMENTS, START_LOGITS
from models_tf.tokenizers.files import SPIECE, TOKENIZER, VOCAB, WORDPIECE
from models_tf.tokenizers.spiece_file import SPACE
from models_tf.tokenizers.tokenizer import Tokenizer

FORMAT = "export-mobile-tokens/1"
_MEANINGS = {
    IDS: "numbers of the tokens; after the last token anything",
    MASK: "1 for a token, 0 for padding",
    SEGMENTS: "0 for the first text with its special tokens, 1 for the second",
    LOGITS: "one number for each label; the largest is the answer",
    PROBABILITIES: "the probability of each label",
    START_LOGITS: "one number for each token: where the answer begins",
    END_LOGITS: "one number for each token: where the answer ends",
    HIDDEN: "one vector for each token",
    POOLED: "one vector for the whole row",
    EMBEDDING: "one vector for the text; the cosine of two says how similar their texts are",
}
_IDS_OF = {
    VOCAB: "numbers of the tokens, lines of vocab.txt from 0; after the last token anything",
    SPIECE: "numbers of the tokens, pieces of spiece.model from 0; after the last token anything",
}
_SEVERAL = "several labels"  # of a classification
_LOGITS_OF = {
    "regression": "one number, the score",
    _SEVERAL: "one number for each label, whose sigmoid is the label's own probability; a text may have several labels",
    "token-classification": "for each token one number for each label; the largest is the answer",
}
_ABOUT = (
    "Inputs are int32 [1, length] (files whose shape says batch take several rows), bound by name. "
    "A row is {single}, or {pair}; "
    "too long texts lose tokens from the end of the longer one. An int8 output q stands for "
    "(q - zero_point) * scale. examples.json has texts with their inputs and answers."
)
# Of random weights, which have no tokenizer.
_ROWS = ("[CLS] text [SEP]", "[CLS] text [SEP] second text [SEP]")
_ANY_LENGTH = (
    "Any length up to length.max will do, and a short input takes less time: no padding is needed, and padding changes "
    "an answer by rounding only."
)
_ONE_LENGTH = "The length is always max_seq_len, since {reason}: pad with pad_id."
_FIXED_TOKENS = "the model keeps a fixed number of tokens"
_FIXED_DISTANCES = "the model's attention to distances needs the number of tokens"


def token_file(
    *,
    files: Mapping[str, Any],
    task: str,
    labels: Sequence[str],
    max_seq_len: int,
    inputs: Sequence[str],
    tokenizer: Tokenizer | None,
    trained: bool = True,
    multi_label: bool = False,
    pairs: bool | None = None,
    any_length: bool = False,
    attends_to_distances: bool = False,
    embedding: Mapping[str, Any] | None = None,
) -> str:
    """The text of model.json. `files` gives the inputs and outputs of each model file. With `any_length` they take
    shorter inputs as well; without it, they keep a fixed number of tokens, unless `attends_to_distances` is why.
    `pairs` says whether rows have two texts, None where that is not known, and `embedding` how a vector is made of
    those of the tokens.
    """
    vocabulary = VOCAB if tokenizer is None else _vocabulary(tokenizer)
    meanings = {
        **_MEANINGS,
        IDS: _IDS_OF.get(vocabulary, _MEANINGS[IDS]),
        LOGITS: _LOGITS_OF.get(_SEVERAL if multi_label else task, _MEANINGS[LOGITS]),
    }
    fixed = _ONE_LENGTH.format(reason=_FIXED_DISTANCES if attends_to_distances else _FIXED_TOKENS)
    about = _ABOUT.format(single=_row(tokenizer, pair=False), pair=_row(tokenizer, pair=True))
    used = {entry["name"] for file in files.values() for entry in _entries(file)}
    document = {
        "format": FORMAT,
        "about": f"{about} {_ANY_LENGTH if any_length else fixed}",
        "task": task,
        "trained": trained,
        "max_seq_len": max_seq_len,
        "length": {"max": max_seq_len, "any": any_length},
        "inputs": list(inputs),
        "meanings": {name: meaning for name, meaning in meanings.items() if name in used},
        "labels": list(labels),
        "multi_label": multi_label,
        "pairs": pairs,
        **({"embedding": dict(embedding)} if embedding else {}),
        "tokenizer": None if tokenizer is None else _tokenizer(tokenizer),
        "files": files,
    }
    return short_lists(json.dumps(document, indent=2, ensure_ascii=False)) + "\n"


def _row(tokenizer: Tokenizer | None, *, pair: bool) -> str:
    """The special tokens around one text or two, in words."""
    if tokenizer is None:
        return _ROWS[pair]
    names = iter(("text", "second text"))
    parts = (tokenizer.pair if pair else tokenizer.single).parts
    return " ".join(next(names) if number is None else tokenizer.token(number) for number, _ in parts)


def _entries(file: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    if "inputs" not in file:  # by signature
        return [entry for part in file.values() for entry in _entries(part)]
    return [*file["inputs"], *file["outputs"]]


def _vocabulary(tokenizer: Tokenizer) -> str:
    """The file that numbers the tokens; tokenizer.json holds the same."""
    if tokenizer.kind == WORDPIECE:
        return VOCAB
    return SPIECE if SPIECE in tokenizer.files() else TOKENIZER


def _tokenizer(tokenizer: Tokenizer) -> dict[str, Any]:
    return {
        "kind": tokenizer.kind,
        "vocabulary": _vocabulary(tokenizer),
        "vocab_size": tokenizer.vocab_size,
        "pad_id": tokenizer.pad_id,
        "unk_id": tokenizer.unk_id,
        "cls_id": tokenizer.cls_id,
        "sep_id": tokenizer.sep_id,
        "lower_case": tokenizer.basic_tokens("A") in (["a"], [f"{SPACE}a"]),
    }
