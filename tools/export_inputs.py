"""What the exports of `compare_exports.py` read: tiny checkpoints of every family, and rows of every task.

Made with only NumPy and JSON, as the compared code must not write what it then reads. Every run gives the same bytes.
Norms, biases and the padding row are random, gammas have both signs: defaults of 1 and 0 hide bugs.
"""

import json
import random
import struct
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from safetensors.numpy import save

Shapes = dict[str, tuple[int, ...]]

# Words that decide a row's label, and words that do not; some of them are not in the vocabulary.
KINDS = {"no": ("bad", "poor", "awful"), "yes": ("good", "great", "fine"), "perhaps": ("some", "maybe", "often")}
FILLERS = (
    "the",
    "a",
    "film",
    "movie",
    "was",
    "play",
    "plays",
    "Berlin",
    "Anna",
    "in",
    "lives",
    "7",
    "naïve",
    "zoo",
    "of",
)
PLACES, NAMES = ("Berlin", "Oslo"), ("Anna", "Carl")
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789.,!?'"
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
WORDS = (
    "bad",
    "poor",
    "good",
    "great",
    "fine",
    "some",
    "maybe",
    "the",
    "film",
    "movie",
    "was",
    "play",
    "##ing",
    "berlin",
    "anna",
)
WORDS += ("in", "lives", "of", "unused", "spare")
VOCABULARY = (*SPECIAL, *WORDS, *LETTERS, *(f"##{letter}" for letter in LETTERS[:36]))
POSITIONS = 32

# The end of a class name of `transformers`, and the labels of the head.
HEADS: dict[str, tuple[str, tuple[str, ...]]] = {
    "base": ("Model", ()),
    "classification": ("ForSequenceClassification", tuple(sorted(KINDS))),
    "regression": ("ForSequenceClassification", ("score",)),
    "token-classification": ("ForTokenClassification", ("B-loc", "B-per", "O")),
    "question-answering": ("ForQuestionAnswering", ("start", "end")),
}
BERT: dict[str, Any] = {
    "model_type": "bert",
    "vocab_size": len(VOCABULARY),
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "hidden_act": "gelu",
    "max_position_embeddings": POSITIONS,
    "type_vocab_size": 2,
}
MOBILEBERT: dict[str, Any] = {
    **BERT,
    "model_type": "mobilebert",
    "hidden_act": "relu",
    "intermediate_size": 32,
    "embedding_size": 16,
    "intra_bottleneck_size": 16,
    "num_feedforward_networks": 4,
    "normalization_type": "no_norm",
    "use_bottleneck_attention": False,
    "key_query_shared_bottleneck": True,
    "classifier_activation": False,
}
GHOSTBERT: dict[str, Any] = {
    **BERT,
    "model_type": "ghostbert",
    "export_mobile_kept_heads": [2, 3],
    "export_mobile_kept_ffn": [32, 48],
    "ghost_heads": [2, 1],
    "ghost_folds": [2, 0],
}
ALBERT: dict[str, Any] = {
    **BERT,
    "model_type": "albert",
    "embedding_size": 16,
    "num_hidden_layers": 4,
    "num_hidden_groups": 2,
    "hidden_act": "gelu_new",
}
# Folder -> its config.json and its head.
CHECKPOINTS: dict[str, tuple[dict[str, Any], str]] = {
    "bert": ({**BERT, "num_hidden_layers": 3}, "classification"),
    "bert-base": (BERT, "base"),
    "bert-regression": (BERT, "regression"),
    "bert-tags": (BERT, "token-classification"),
    "bert-questions": (BERT, "question-answering"),
    "mobilebert-opt": (MOBILEBERT, "classification"),
    "mobilebert-tiny": (
        {
            **MOBILEBERT,
            "num_feedforward_networks": 2,
            "use_bottleneck_attention": True,
            "key_query_shared_bottleneck": False,
        },
        "token-classification",
    ),
    "mobilebert-layer-norm": (
        {
            **MOBILEBERT,
            "normalization_type": "layer_norm",
            "hidden_act": "gelu",
            "num_feedforward_networks": 1,
            "key_query_shared_bottleneck": False,
            "classifier_activation": True,
        },
        "classification",
    ),
    "ghostbert": (GHOSTBERT, "classification"),
    "powerbert": (
        {**BERT, "model_type": "powerbert", "num_hidden_layers": 3, "retention": [12, 6, 1]},
        "classification",
    ),
    "albert": (ALBERT, "classification"),
    "tagger": ({**BERT, "model_type": "tagger", "num_hidden_layers": 3}, "token-classification"),
    "bert-labels": ({**BERT, "problem_type": "multi_label_classification"}, "classification"),
}
CLASSES = {"bert": "Bert", "mobilebert": "MobileBert", "ghostbert": "GhostBert", "powerbert": "Bert"}
CLASSES |= {"albert": "Albert", "tagger": "Bert"}


def inputs() -> dict[str, bytes]:
    """Every file by its path in the input folder."""
    found: dict[str, bytes] = {}
    for seed, (name, (document, head)) in enumerate(CHECKPOINTS.items()):
        for file, content in _checkpoint(document, head, seed).items():
            found[f"{name}/{file}"] = content
    return found | {name: text.encode() for name, text in _rows().items()}


def _checkpoint(document: Mapping[str, Any], head: str, seed: int) -> dict[str, bytes]:
    """A folder in Hugging Face format."""
    generator, (ending, labels) = np.random.default_rng(seed), HEADS[head]
    tokenizer = {"vocab.txt": "".join(f"{token}\n" for token in VOCABULARY).encode()}
    if document["model_type"] == "albert":
        tokenizer = {"spiece.model": _sentence_pieces()}
        document = {**document, "vocab_size": len(_pieces())}
    shapes = _shapes(document, head, len(labels))
    config: dict[str, Any] = {"architectures": [CLASSES[document["model_type"]] + ending], **document}
    if labels:
        config["id2label"] = {str(number): label for number, label in enumerate(labels)}
        config["label2id"] = {label: number for number, label in enumerate(labels)}
    if head == "regression":
        config["problem_type"] = "regression"
    tensors = {name: _values(generator, name, shape) for name, shape in shapes.items()}
    weights = save(tensors, metadata={"format": "pt"})
    return {"config.json": (json.dumps(config, indent=2) + "\n").encode(), "model.safetensors": weights, **tokenizer}


def _values(generator: np.random.Generator, name: str, shape: tuple[int, ...]) -> np.ndarray:
    if name.endswith(("norm.weight", "LayerNorm.weight")):
        values = generator.uniform(0.7, 1.2, shape) * generator.choice([1, 1, 1, -1], shape)
    elif len(shape) == 1:
        values = generator.normal(0, 0.1, shape)
    elif "_embeddings." in name:
        values = generator.normal(0, 0.5, shape)
    else:
        values = generator.normal(0, 1 / np.sqrt(np.prod(shape[1:])), shape)
    return values.astype(np.float32)


def _shapes(document: Mapping[str, Any], head: str, num_labels: int) -> Shapes:
    """Names and shapes as in PyTorch. Without a head there is no prefix."""
    layouts: dict[str, Callable[[Mapping[str, Any]], Shapes]] = {"mobilebert": _mobilebert, "albert": _albert}
    kind = document["model_type"]
    encoder = layouts.get(kind, _bert)(document)
    hidden = document["hidden_size"]
    if head in ("base", "classification", "regression") and document.get("classifier_activation", True):
        encoder |= _dense("pooler" if kind == "albert" else "pooler.dense", hidden, hidden)
    if head == "base":
        return encoder
    prefix = kind if kind in layouts else "bert"
    layer = "qa_outputs" if head == "question-answering" else "classifier"
    return {f"{prefix}.{name}": shape for name, shape in encoder.items()} | _dense(layer, hidden, num_labels)


def _dense(name: str, size: int, units: int) -> Shapes:
    return {f"{name}.weight": (units, size), f"{name}.bias": (units,)}


def _norm(name: str, size: int) -> Shapes:
    return {f"{name}.weight": (size,), f"{name}.bias": (size,)}


def _embeddings(document: Mapping[str, Any], words: int, others: int) -> Shapes:
    return {
        "embeddings.word_embeddings.weight": (document["vocab_size"], words),
        "embeddings.position_embeddings.weight": (document["max_position_embeddings"], others),
        "embeddings.token_type_embeddings.weight": (document["type_vocab_size"], others),
        **_norm("embeddings.LayerNorm", others),
    }


def _bert(document: Mapping[str, Any]) -> Shapes:
    """BERT's tensors; a ghostbert has other widths, and kernels that make the ghosts."""
    hidden, heads, middle = document["hidden_size"], document["num_attention_heads"], document["intermediate_size"]
    count, none = document["num_hidden_layers"], [0] * document["num_hidden_layers"]
    kept_heads = document.get("export_mobile_kept_heads", [heads] * count)
    kept_ffn = document.get("export_mobile_kept_ffn", [middle] * count)
    ghost_heads, ghost_folds = document.get("ghost_heads", none), document.get("ghost_folds", none)
    found, head, fold = _embeddings(document, hidden, hidden), hidden // heads, middle // heads
    for layer in range(count):
        name, width, neurons = f"encoder.layer.{layer}", kept_heads[layer] * head, kept_ffn[layer]
        for part in ("query", "key", "value"):
            found |= _dense(f"{name}.attention.self.{part}", hidden, width)
        if ghost_heads[layer]:
            found[f"{name}.attention.ghosts.kernel"] = (3, kept_heads[layer], head, ghost_heads[layer])
        found |= _dense(f"{name}.attention.output.dense", width + head * ghost_heads[layer], hidden)
        found |= _norm(f"{name}.attention.output.LayerNorm", hidden)
        found |= _dense(f"{name}.intermediate.dense", hidden, neurons)
        if ghost_folds[layer]:
            found[f"{name}.ghosts.kernel"] = (3, neurons // fold, fold, ghost_folds[layer])
        found |= _dense(f"{name}.output.dense", neurons + fold * ghost_folds[layer], hidden)
        found |= _norm(f"{name}.output.LayerNorm", hidden)
    return found


def _mobilebert(document: Mapping[str, Any]) -> Shapes:
    hidden, inner, middle = (document[key] for key in ("hidden_size", "intra_bottleneck_size", "intermediate_size"))
    whole, shared = document["use_bottleneck_attention"], document["key_query_shared_bottleneck"]
    found = _embeddings(document, document["embedding_size"], hidden)
    found |= _dense("embeddings.embedding_transformation", 3 * document["embedding_size"], hidden)
    for layer in range(document["num_hidden_layers"]):
        name = f"encoder.layer.{layer}"
        for part in ("input", "attention") if shared else ("input",):
            found |= _dense(f"{name}.bottleneck.{part}.dense", hidden, inner)
            found |= _norm(f"{name}.bottleneck.{part}.LayerNorm", inner)
        for part in ("query", "key", "value"):
            narrow = whole or (shared and part != "value")
            found |= _dense(f"{name}.attention.self.{part}", inner if narrow else hidden, inner)
        found |= _dense(f"{name}.attention.output.dense", inner, inner)
        found |= _norm(f"{name}.attention.output.LayerNorm", inner)
        stacked = [f"{name}.ffn.{number}" for number in range(document["num_feedforward_networks"] - 1)]
        for stage in (*stacked, name):
            found |= _dense(f"{stage}.intermediate.dense", inner, middle)
            found |= _dense(f"{stage}.output.dense", middle, inner)
            found |= _norm(f"{stage}.output.LayerNorm", inner)
        found |= _dense(f"{name}.output.bottleneck.dense", inner, hidden)
        found |= _norm(f"{name}.output.bottleneck.LayerNorm", hidden)
    return found


def _albert(document: Mapping[str, Any]) -> Shapes:
    hidden, size, middle = (document[key] for key in ("hidden_size", "embedding_size", "intermediate_size"))
    found = _embeddings(document, size, size) | _dense("encoder.embedding_hidden_mapping_in", size, hidden)
    for group in range(document["num_hidden_groups"]):
        name = f"encoder.albert_layer_groups.{group}.albert_layers.0"
        for part in ("query", "key", "value", "dense"):
            found |= _dense(f"{name}.attention.{part}", hidden, hidden)
        found |= _norm(f"{name}.attention.LayerNorm", hidden)
        found |= _dense(f"{name}.ffn", hidden, middle) | _dense(f"{name}.ffn_output", middle, hidden)
        found |= _norm(f"{name}.full_layer_layer_norm", hidden)
    return found


def _pieces() -> list[tuple[str, float, int]]:
    """Text, score and kind (1 normal, 2 unknown, 3 control) of each piece; whole words cost less than their letters."""
    found = [("<pad>", 0.0, 3), ("<unk>", 0.0, 2), *((token, 0.0, 3) for token in SPECIAL[2:])]
    found += [(f"\u2581{word}", -3 - number / 8, 1) for number, word in enumerate(WORDS) if word[0] != "#"]
    return [*found, ("\u2581", -6.0, 1), *((sign, -7 - number / 64, 1) for number, sign in enumerate(LETTERS))]


def _sentence_pieces() -> bytes:
    """spiece.model: a protobuf message of pieces, the settings of its trainer, and its normalizer."""
    pieces = b"".join(
        _message(1, _message(1, text.encode()) + b"\x15" + struct.pack("<f", score) + _number(3, kind))
        for text, score, kind in _pieces()
    )
    return pieces + _message(2, _number(3, 1) + _number(40, 1)) + _message(3, _message(1, b"identity"))


def _varint(number: int) -> bytes:
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes((*found, number))


def _message(field: int, data: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(data)) + data


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _rows() -> dict[str, str]:
    """A file for every task; the words of a row give its label, so that a training learns something."""
    generator = random.Random(0)
    found = {}
    for name, count in (("train", 96), ("dev", 32), ("eval", 60), ("calibration", 24)):
        lines = [f"{text}\t{label}" for label, text in _texts(generator, count)]
        found[f"{name}.tsv"] = "\n".join(["text\tlabel", *lines]) + "\n"
        found[f"{name}.conll"] = "\n".join(map(_tagged, (_sentence(generator) for _ in range(count))))
    found["texts.txt"] = "".join(f"{' '.join(_sentence(generator))}\n" for _ in range(64))
    pairs = zip(_texts(generator, 60), _texts(generator, 60), strict=True)
    lines = [f"{text}\t{other}\t{len(text) / (len(text) + len(other)):.3f}" for (_, text), (_, other) in pairs]
    found["pairs.tsv"] = "\n".join(["sentence1\tsentence2\tscore", *lines]) + "\n"
    found["squad.json"] = json.dumps(
        {"version": "1.1", "data": [{"title": "t", "paragraphs": [_paragraph(generator, i) for i in range(40)]}]}
    )
    return found


def _texts(generator: random.Random, count: int) -> Iterator[tuple[str, str]]:
    for _ in range(count):
        label = generator.choice(sorted(KINDS))
        words = generator.choices(FILLERS, k=generator.randrange(1, 9))
        words.insert(generator.randrange(len(words) + 1), generator.choice(KINDS[label]))
        yield label, " ".join(words) + generator.choice(("", ".", " !"))


def _sentence(generator: random.Random) -> list[str]:
    words = generator.choices(("the", "film", "was", "often", "fine", "plays"), k=generator.randrange(1, 7))
    words.insert(generator.randrange(len(words) + 1), generator.choice(PLACES + NAMES))
    return words


def _tagged(words: list[str]) -> str:
    tags = ("B-loc" if word in PLACES else "B-per" if word in NAMES else "O" for word in words)
    return "".join(f"{word}\t{tag}\n" for word, tag in zip(words, tags, strict=True))


def _paragraph(generator: random.Random, number: int) -> dict[str, Any]:
    words = generator.choices(FILLERS, k=generator.randrange(4, 12))
    place = generator.randrange(len(words))
    answer = {"text": words[place], "answer_start": len(" ".join([*words[:place], ""]))}
    question = " ".join((generator.choice(("Who", "Where")), *generator.choices(FILLERS, k=3), "?"))
    return {"context": " ".join(words), "qas": [{"id": str(number), "question": question, "answers": [answer]}]}
