"""The one table of tiny models, and the makers of a network, a checkpoint, a folder and a vocabulary from its rows.

`DOCUMENTS` has a config.json for every token model of the registry (`RELATIVES` those of BERT's relatives), `SHAPES`
the networks that tests of single parts take, `CONVERTED` those whose files are made (`tiny_files`), `PROJECTION` PRADO
and SGNN. Norms, biases and the row of padding are random, gammas have both signs: defaults of 1 and 0 hide bugs.
Imports no TensorFlow.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from models_tf import registry
from models_tf.checkpoints import encoder as checkpoint
from models_tf.checkpoints.encoder import EncoderCheckpoint
from models_tf.encoder.config import EncoderConfig
from models_tf.encoder.heads import BASE, CLASSIFICATION, QUESTION_ANSWERING, TOKEN_CLASSIFICATION, Head
from models_tf.encoder.network import Network
from models_tf.ops.projection.config import ProjectionConfig
from models_tf.prado.config import BRANCHES, PradoConfig
from models_tf.sgnn.config import SgnnConfig
from models_tf.tokenizers.tokenizer import Tokenizer

LABELS = {
    "classification": ["no", "yes", "perhaps"],
    "regression": ["score"],
    "token-classification": ["O", "B-X", "I-X", "B-Y", "I-Y"],
}
HEADS = {
    "base": Head(kind=BASE),
    "classification": Head(kind=CLASSIFICATION, num_labels=3),
    "regression": Head(kind=CLASSIFICATION, num_labels=1),
    "token-classification": Head(kind=TOKEN_CLASSIFICATION, num_labels=5),
    "question-answering": Head(kind=QUESTION_ANSWERING, num_labels=2),
}


# Vocabularies.


def numbers(size: int) -> bytes:
    """A vocab.txt of this many tokens: four special ones, then the numbers from 0."""
    return "".join(f"{word}\n" for word in ("[PAD]", "[UNK]", "[CLS]", "[SEP]", *range(size - 4))).encode()


SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = ["the", "a", "of", "in", "is", "was", "good", "bad", "film", "movie", "play", "##s", "##ing", "##ed", "un"]
WORDS += ["##able", "who", "where", "when", "lives", "berlin", "anna", "smith"]
SIGNS = list("abcdefghijklmnopqrstuvwxyz0123456789.,!?'-") + [f"##{c}" for c in "abcdefghijklmnopqrstuvwxyz0123456789"]
TOKENS = SPECIAL + WORDS + [sign for sign in SIGNS if sign not in WORDS]
VOCAB = "".join(f"{token}\n" for token in TOKENS).encode()


def tiny_tokenizer() -> Tokenizer:
    """Of the words and signs above."""
    return Tokenizer.from_files({"vocab.txt": VOCAB})


# Token models as checkpoints: keys of config.json.

LENGTH = 16
BERT: dict[str, Any] = {
    "model_type": "bert", "vocab_size": 60, "hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 2,
    "intermediate_size": 20, "max_position_embeddings": LENGTH,
}  # fmt: skip
VOCABULARY = numbers(BERT["vocab_size"])
MOBILEBERT: dict[str, Any] = {
    **BERT, "model_type": "mobilebert", "hidden_act": "relu", "embedding_size": 12, "intra_bottleneck_size": 16,
    "num_feedforward_networks": 2, "classifier_activation": False,
}  # fmt: skip
GHOSTBERT: dict[str, Any] = {
    **BERT, "model_type": "ghostbert", "export_mobile_kept_heads": [1, 2], "export_mobile_kept_ffn": [10, 20],
    "ghost_heads": [1, 2], "ghost_folds": [2, 1],
}  # fmt: skip
POWERBERT = {**BERT, "model_type": "powerbert", "num_hidden_layers": 3, "retention": [9, 5, 1]}
ALBERT = {**BERT, "model_type": "albert", "embedding_size": 12, "num_hidden_layers": 4, "num_hidden_groups": 2}
DISTILBERT = {
    "model_type": "distilbert", "vocab_size": BERT["vocab_size"], "dim": 24, "n_layers": 2, "n_heads": 2,
    "hidden_dim": 20, "max_position_embeddings": LENGTH,
}  # fmt: skip
ELECTRA = {**BERT, "model_type": "electra", "embedding_size": 12}
ROBERTA = {
    **BERT,
    "model_type": "roberta",
    "type_vocab_size": 1,
    "max_position_embeddings": LENGTH + 1,
    "pad_token_id": 0,
}
XLM_ROBERTA = {**ROBERTA, "model_type": "xlm-roberta"}
MPNET = {
    **{key: value for key, value in BERT.items() if key != "type_vocab_size"},
    "model_type": "mpnet",
    "max_position_embeddings": LENGTH + 2,
    "pad_token_id": 0,
}
DEBERTA_V2 = {
    **BERT,
    "model_type": "deberta-v2",
    "type_vocab_size": 0,
    "relative_attention": True,
    "position_buckets": 4,
    "max_relative_positions": -1,
    "norm_rel_ebd": "layer_norm",
    "share_att_key": True,
    "pos_att_type": "p2c|c2p",
    "position_biased_input": False,
}
TAGGER = {**BERT, "model_type": "tagger", "num_hidden_layers": 3}
# Their tests go over all of them: a new family of checkpoints belongs here.
RELATIVES: dict[str, dict[str, Any]] = {
    document["model_type"]: document for document in (DISTILBERT, ELECTRA, ROBERTA, XLM_ROBERTA, MPNET, DEBERTA_V2)
}
DOCUMENTS: dict[str, dict[str, Any]] = {
    **{one["model_type"]: one for one in (MOBILEBERT, BERT, GHOSTBERT, POWERBERT, ALBERT, TAGGER)},
    **RELATIVES,
}
# Changes of MOBILEBERT. Without any bottleneck for attention, PyTorch's class asks for one as wide as the layer.
MOBILEBERTS: dict[str, dict[str, Any]] = {
    "opt": {"num_feedforward_networks": 4},
    "pooler": {"classifier_activation": True},
    "tiny": {"use_bottleneck_attention": True, "key_query_shared_bottleneck": False, "classifier_activation": True},
    "both flags": {"use_bottleneck_attention": True},
    "unshared": {"key_query_shared_bottleneck": False, "intra_bottleneck_size": 24, "classifier_activation": True},
    "no bottleneck": {"use_bottleneck": False, "intra_bottleneck_size": 24, "classifier_activation": True},
    "no trigram": {"trigram_input": False},
    "no trigrams, no projection": {"trigram_input": False, "embedding_size": 24},
    "layer norm": {"normalization_type": "layer_norm", "hidden_act": "gelu", "classifier_activation": True},
    "one ffn": {"num_feedforward_networks": 1},
    "one segment": {"type_vocab_size": 1},
}

# Networks: fields of `EncoderConfig`, what differs from MobileBERT as published.

TIME, WORD_COUNT = 12, 61
_OPT: dict[str, Any] = {
    "vocab_size": WORD_COUNT, "embedding_size": 8, "hidden_size": 32, "bottleneck_size": 16, "num_heads": 2,
    "intermediate_size": 24, "use_bottleneck": True, "key_query_shared": True, "num_ffn": 4, "activation": "relu",
    "norm": "no_norm", "trigram": True, "pooler": False, "max_positions": 20, "num_layers": 3,
}  # fmt: skip
_AS_BERT: dict[str, Any] = {
    "use_bottleneck": False, "bottleneck_size": 32, "embedding_size": 32, "trigram": False, "key_query_shared": False,
    "num_ffn": 1, "activation": "gelu", "norm": "layer_norm", "pooler": True,
}  # fmt: skip
SHAPES: dict[str, dict[str, Any]] = {
    "opt": {},
    "tiny": {"use_bottleneck_attention": True, "key_query_shared": False, "num_ffn": 2},
    "both-bottlenecks": {"use_bottleneck_attention": True},
    "not-shared": {"key_query_shared": False},
    "no-trigram": {"trigram": False},
    "no-projection": {"trigram": False, "embedding_size": 32},
    "no-bottleneck": {"use_bottleneck": False, "bottleneck_size": 32, "key_query_shared": False, "num_ffn": 1},
    "gelu": {"activation": "gelu"},
    "relu6": {"activation": "relu6", "num_ffn": 3},
    "pooler": {"pooler": True},
    "layer-norm": {"norm": "layer_norm", "activation": "gelu_tanh", "norm_epsilon": 1e-12, "outer_norm_epsilon": 1e-5},
    "bert": _AS_BERT,
    "factorized": {**_AS_BERT, "embedding_size": 8},
    "shared": {**_AS_BERT, "num_layers": 4, "shared_layers": (0, 0, 1, 1)},
    "albert": {**_AS_BERT, "embedding_size": 8, "norm_before_projection": True, "shared_layers": (0, 0, 0)},
}
# Three layers that differ in everything a layer can differ in; folds are 8 neurons, heads are 8 channels.
PRUNED: dict[str, Any] = {"num_heads": 4, "intermediate_size": 32, "kept_heads": (4, 2, 3), "kept_ffn": (16, 32, 8)}
GHOSTS: dict[str, dict[str, Any]] = {
    "both": {"ghost_heads": (2, 3, 1), "ghost_folds": (1, 2, 3)},
    "some layers have none": {"ghost_heads": (0, 3, 2), "ghost_folds": (2, 0, 0)},
    "none in the last layer": {"ghost_heads": (1, 2, 0), "ghost_folds": (2, 1, 0)},
    "attention alone": {"ghost_heads": (2, 3, 1)},
    "ffn alone": {"ghost_folds": (1, 2, 3)},
}

# Networks whose files are made: enough words for a table that a recipe stores in eight bits.

CONVERTED_WORDS, KEPT = 500, (11, 6, 1)
_SMALL = EncoderConfig(
    vocab_size=CONVERTED_WORDS, hidden_size=32, num_layers=3, num_heads=4, intermediate_size=64, embedding_size=32,
    bottleneck_size=32, max_positions=24,
)  # fmt: skip
_OF_ALBERT = dataclasses.replace(
    _SMALL, embedding_size=16, norm_before_projection=True, shared_layers=(0, 0, 0), activation="gelu_tanh"
)
_OF_POWERBERT = dataclasses.replace(_SMALL, intermediate_size=32, max_positions=80, retention=KEPT)
_OF_GHOSTBERT = dataclasses.replace(
    _SMALL, num_layers=2, kept_heads=(2, 3), kept_ffn=(32, 48), ghost_heads=(2, 1), ghost_folds=(2, 1)
)
OUTLIERS = [3, 17]


@dataclass(frozen=True, kw_only=True)
class Converted:
    """A row. `outliers` are the sizes of the outlier channels behind an FFN and behind attention, see `_add_outliers`.

    With opposite signs they leave the mean that a norm subtracts where it is: otherwise every answer is a constant of a
    few units with a signal of 0.03, less than one step of 8 bits.
    """

    config: EncoderConfig
    outliers: tuple[float, float] | None = None
    opposite: bool = True
    # The mask that an export would choose, or one below the scores of these weights by more than their spread.
    chosen_mask: bool = False


CONVERTED = {
    "mobilebert": Converted(
        config=dataclasses.replace(
            _SMALL, num_layers=2, intermediate_size=32, embedding_size=16, bottleneck_size=16, num_ffn=2,
            use_bottleneck=True, key_query_shared=True, activation="relu", norm="no_norm", trigram=True, pooler=False,
        )
    ),
    "outliers": Converted(config=_SMALL, outliers=(40.0, 8.0), opposite=False),
    "wild outliers": Converted(config=_SMALL, outliers=(80.0, 32.0)),
    # Layers that share weights: one used by all, two in turn; "own" is the second without sharing.
    "albert": Converted(config=_OF_ALBERT, outliers=(40.0, 8.0)),
    "wild": Converted(config=_OF_ALBERT, outliers=(80.0, 32.0)),
    "in turn": Converted(
        config=dataclasses.replace(_SMALL, num_layers=4, shared_layers=(0, 1, 0, 1)), outliers=(40.0, 8.0)
    ),
    "own": Converted(config=dataclasses.replace(_SMALL, num_layers=4), outliers=(40.0, 8.0)),
    # Tokens kept by significance, place or chance, and by layers that share weights.
    "significance": Converted(config=_OF_POWERBERT, chosen_mask=True),
    "first": Converted(config=dataclasses.replace(_OF_POWERBERT, retention_by="first"), chosen_mask=True),
    "random": Converted(
        config=dataclasses.replace(_OF_POWERBERT, retention_by="random", retention_seed=3), chosen_mask=True
    ),
    "shared": Converted(config=dataclasses.replace(_OF_POWERBERT, shared_layers=(0, 0, 0)), chosen_mask=True),
    "relative": Converted(config=dataclasses.replace(_SMALL, relative_positions=True), chosen_mask=True),
    "disentangled": Converted(
        config=dataclasses.replace(
            _SMALL, position_attention=("c2p", "p2c"), position_buckets=8, relative_span=24, norms_relative=True,
            has_positions=False,
        ),
        chosen_mask=True,
    ),
    "ghosts on heads": Converted(config=_OF_GHOSTBERT, chosen_mask=True),
    "ghosts on outputs": Converted(config=dataclasses.replace(_OF_GHOSTBERT, ghost_on="outputs"), chosen_mask=True),
}  # fmt: skip
SHARED = ("albert", "in turn")
POWER = ("significance", "first", "random", "shared")

# Projection models.

_FEATURES: dict[str, Any] = {"projection": ProjectionConfig(feature_size=32, presence_feature=True), "max_seq_len": 12}
PROJECTION: dict[str, PradoConfig | SgnnConfig] = {
    "prado": PradoConfig(num_labels=5, embedding_size=8, **dict.fromkeys(BRANCHES, 4), **_FEATURES),
    "sgnn": SgnnConfig(num_labels=5, hidden_size=16, **_FEATURES),
    "mixed prado": PradoConfig(
        num_labels=3, max_seq_len=12, embedding_size=8,
        projection=ProjectionConfig(feature_size=64, features="mixed", presence_feature=True),
        **{name: 4 if name in ("unigram", "bigram", "trigram", "skip1bigram") else 0 for name in BRANCHES},
    ),
}  # fmt: skip
# Most tests are parametrised over this table: a model without a row must not pass for tested.
if missing := set(registry.MODELS) - {*DOCUMENTS, *PROJECTION}:
    raise LookupError(f"every model of the registry needs a tiny one here. Missing: {', '.join(missing)}")


# Makers.


def tiny_encoder(
    model: str = "mobilebert",
    task: str = "classification",
    *,
    labels: Sequence[str] | None = None,
    seed: int = 0,
    **changes: Any,
) -> EncoderCheckpoint:
    """A checkpoint for the task. `changes` are keys of config.json."""
    made = checkpoint.random_init(
        model,
        {**DOCUMENTS[model], **changes},
        head=CLASSIFICATION if task == "regression" else task,
        labels=LABELS.get(task, [])[:3] if labels is None else labels,
        tokenizer_files={"vocab.txt": VOCABULARY},
    )
    generator = np.random.default_rng(seed)
    tensors = {name: _plain(generator, name, value.shape) for name, value in made.tensors.items()}
    return checkpoint.with_tensors(made, tensors)


def write_checkpoint(folder: Path, model: str = "mobilebert", task: str = "classification", **changes: Any) -> Path:
    """A folder with a model for the task. `changes` are keys of config.json."""
    checkpoint.save(folder, tiny_encoder(model, task, **changes))
    return folder


def config(shape: str = "opt", **changes: Any) -> EncoderConfig:
    return EncoderConfig(**{**_OPT, **SHAPES[shape], **changes})


def ghost_config(which: str = "both", **changes: Any) -> EncoderConfig:
    return config("bert", **{**PRUNED, **GHOSTS[which], **changes})


def network(
    settings: EncoderConfig, head: Head = HEADS["classification"], *, seed: int = 0, dtype: Any = np.float32
) -> Network:
    rng = np.random.default_rng(seed)
    tensors = {name: values(rng, name, shape).astype(dtype) for name, shape in settings.shapes(head).items()}
    return Network(config=settings, head=head, tensors=tensors)


def values(rng: np.random.Generator, name: str, shape: tuple[int, ...]) -> np.ndarray:
    if ".ghost_" in name:  # kernel logits, and gains of both signs: no two taps are alike and no ghost is off
        return rng.normal(0, 1, shape)
    if name.endswith(".gamma"):
        return rng.uniform(0.6, 1.3, shape) * rng.choice([-1, 1], shape)
    if name.endswith((".bias", ".beta")):
        return rng.normal(0, 0.2, shape)
    return rng.normal(0, 0.5 / np.sqrt(shape[0]) if name.endswith(".kernel") else 1, shape)


def bert(head: str = "classification", *, seed: int = 0, dtype: Any = np.float32, **changes: Any) -> Network:
    """Three layers of four heads of eight, 32 neurons each."""
    sizes = {"num_heads": 4, "intermediate_size": 32, **changes}
    return network(config("bert", **sizes), HEADS[head], seed=seed, dtype=dtype)


def stored(of: Network, **changes: Any) -> EncoderCheckpoint:
    """A BERT as a checkpoint whose words are numbers."""
    labels = next((LABELS[task] for task, head in HEADS.items() if head == of.head and task in LABELS), [])
    return EncoderCheckpoint(
        model_name="bert",
        config=of.config,
        head=of.head,
        labels=labels,
        tensors=dict(of.tensors),
        tokenizer_files={"vocab.txt": numbers(of.config.vocab_size)},
        **changes,
    )


def converted_network(row: str | EncoderConfig, head: str = "classification") -> Network:
    """A row of `CONVERTED`, or another config with such weights."""
    settings = CONVERTED[row].config if isinstance(row, str) else row
    generator, ghosts = np.random.default_rng(0), np.random.default_rng(5)
    tensors = {}
    for name, shape in settings.shapes(HEADS[head]).items():
        tensors[name] = _sharp(generator, name, shape)
        if ".ghost_" in name:
            tensors[name] = ghosts.normal(0, 1.0 if name.endswith(".kernel") else 0.5, shape).astype(np.float32)
    if isinstance(row, str):
        _add_outliers(CONVERTED[row], tensors)
    return Network(config=settings, head=HEADS[head], tensors=tensors)


def projection_model(name: str = "prado") -> Any:
    """A Keras model of `PROJECTION`, with random norms and biases."""
    import tf_keras as keras

    keras.utils.set_random_seed(0)
    made = registry.get(name.rsplit(maxsplit=1)[-1]).model_class()(PROJECTION[name])
    generator = np.random.default_rng(0)
    for weight in made.weights:
        noise = generator.normal(0, 0.3, weight.shape)
        weight.assign(np.abs(1 + noise) if "variance" in weight.name else weight.numpy() + noise)
    return made


def write_projection(folder: Path, labels: Sequence[str], name: str = "mixed prado") -> Path:
    """A folder with a PRADO: no gamma of 1, no bias of 0, no variance of 1 that could hide a fault."""
    from models_tf.checkpoints import projection
    from models_tf.prado.model import Prado

    generator, weights = np.random.default_rng(7), {}
    for key, value in projection.tensors(Prado(PROJECTION[name])).items():
        random = generator.normal(0, 0.3, value.shape)
        weights[key] = (np.abs(random) + 0.5 if "variance" in key or "gamma" in key else random).astype(np.float32)
    saved = projection.ProjectionCheckpoint(
        model_name="prado", config=PROJECTION[name], labels=list(labels), weights=weights
    )
    projection.save(folder, saved)
    return folder


def _plain(generator: np.random.Generator, name: str, shape: tuple[int, ...]) -> np.ndarray:
    found = generator.normal(0, 0.1, shape)
    if name.endswith("gamma"):
        found = _gammas(generator, shape)
    elif name.endswith("kernel"):
        found = generator.normal(0, 1 / np.sqrt(shape[0]), shape)
    elif name.endswith(("embedding", "attention_bias")):
        found = generator.normal(0, 0.5, shape)
    return found.astype(np.float32)


def _sharp(generator: np.random.Generator, name: str, shape: tuple[int, ...]) -> np.ndarray:
    """Queries and keys that give scores of a few units, outputs that do not outgrow the skip path."""
    if name.endswith("gamma"):
        found = _gammas(generator, shape)
    elif name.endswith("kernel"):
        gain = 2.5 if "query" in name or "key" in name else 0.5 if "output" in name else 1.0
        found = generator.normal(0, gain / np.sqrt(shape[0]), shape)
    else:
        found = generator.normal(0, 0.1 if name.endswith((".beta", ".bias")) else 0.5, shape)
    return found.astype(np.float32)


def _gammas(generator: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return generator.uniform(0.7, 1.2, shape) * generator.choice([1, 1, 1, -1], shape)


def _add_outliers(row: Converted, tensors: Mapping[str, np.ndarray]) -> None:
    """Outlier channels, as trained encoders have them: the FFN writes much larger values into them. The norm that
    follows divides all channels by that (with two of 32 channels, by a quarter of it), and its gammas undo it; the norm
    of attention lets larger values through, and small weights read them.
    """
    if row.outliers is None:
        return
    large, medium = row.outliers
    for layer in range(len(row.config.first_uses)):
        own = f"layers.{layer}"
        tensors[f"{own}.ffn.0.output.bias"][OUTLIERS] += (large, -large if row.opposite else large)
        tensors[f"{own}.ffn.0.norm.gamma"][...] *= _channels(row, 1.0, large / 4)
        tensors[f"{own}.attention_norm.gamma"][...] *= _channels(row, medium, 1.0)
        tensors[f"{own}.ffn.0.intermediate.kernel"][...] /= _channels(row, medium, 1.0)[:, None]


def _channels(row: Converted, outlier: float, other: float) -> np.ndarray:
    found = np.full(row.config.hidden_size, other, np.float32)
    found[OUTLIERS] = outlier
    return found
