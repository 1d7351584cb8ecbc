"""The table of tiny token models: one config.json for each of the registry, with words that are the numbers 0 to 55.

`tiny_encoder` makes a checkpoint as a value, `write_checkpoint` as a folder. Norms, biases and the row of padding are
random, gammas have both signs: defaults of 1 and 0 hide bugs. Projection models are in `tiny_models`.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from models_tf import registry
from models_tf.checkpoints import encoder as checkpoint
from models_tf.checkpoints.encoder import EncoderCheckpoint

LENGTH = 16
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
VOCABULARY = "".join(f"{word}\n" for word in (*SPECIAL, *map(str, range(56)))).encode()
BERT: dict[str, Any] = {
    "model_type": "bert",
    "vocab_size": 60,
    "hidden_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 20,
    "max_position_embeddings": LENGTH,
}
MOBILEBERT: dict[str, Any] = {
    **BERT,
    "model_type": "mobilebert",
    "hidden_act": "relu",
    "embedding_size": 12,
    "intra_bottleneck_size": 16,
    "num_feedforward_networks": 2,
    "classifier_activation": False,
}
GHOSTBERT: dict[str, Any] = {
    **BERT,
    "model_type": "ghostbert",
    "export_mobile_kept_heads": [1, 2],
    "export_mobile_kept_ffn": [10, 20],
    "ghost_heads": [1, 2],
    "ghost_folds": [2, 1],
}
DOCUMENTS: dict[str, dict[str, Any]] = {
    "mobilebert": MOBILEBERT,
    "bert": BERT,
    "ghostbert": GHOSTBERT,
    "powerbert": {**BERT, "model_type": "powerbert", "num_hidden_layers": 3, "retention": [9, 5, 1]},
    "albert": {
        **BERT,
        "model_type": "albert",
        "embedding_size": 12,
        "num_hidden_layers": 4,
        "num_hidden_groups": 2,
    },
    "tagger": {**BERT, "model_type": "tagger", "num_hidden_layers": 3},
}
# Most tests are parametrised over this table: a model without an entry must not pass for tested.
if set(DOCUMENTS) != set(registry.names(registry.TOKENS)):
    raise LookupError(f"every token model needs a tiny one here; the registry has {registry.names(registry.TOKENS)}")
# Changes of MOBILEBERT. Without any bottleneck for attention, PyTorch's class asks for one as wide as the layer.
VARIANTS: dict[str, dict[str, Any]] = {
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
LABELS = {
    "classification": ("no", "yes", "perhaps"),
    "regression": ("score",),
    "token-classification": ("O", "B-X", "I-X"),
}


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
        head="classification" if task == "regression" else task,
        labels=LABELS.get(task, ()) if labels is None else labels,
        tokenizer_files={"vocab.txt": VOCABULARY},
    )
    generator = np.random.default_rng(seed)
    tensors = {name: _values(generator, name, value.shape) for name, value in made.tensors.items()}
    return checkpoint.with_tensors(made, tensors)


def write_checkpoint(folder: Path, model: str = "mobilebert", task: str = "classification", **changes: Any) -> Path:
    """A folder with a model for the task. `changes` are keys of config.json."""
    checkpoint.save(folder, tiny_encoder(model, task, **changes))
    return folder


def _values(generator: np.random.Generator, name: str, shape: tuple[int, ...]) -> np.ndarray:
    values = generator.normal(0, 0.1, shape)
    if name.endswith("gamma"):
        values = generator.uniform(0.7, 1.2, shape) * generator.choice([1, 1, 1, -1], shape)
    elif name.endswith("kernel"):
        values = generator.normal(0, 1 / np.sqrt(shape[0]), shape)
    elif name.endswith("embedding"):
        values = generator.normal(0, 0.5, shape)
    return values.astype(np.float32)
