"""Tiny checkpoints in Hugging Face's form, for exports: two layers, words that are the numbers 0 to 55.

Norms, biases and the row of padding are random, gammas have both signs: defaults of 1 and 0 hide bugs.
"""

from pathlib import Path
from typing import Any

import numpy as np

from models_tf.checkpoints import encoder as checkpoint

LENGTH = 16
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
VOCABULARY = "".join(f"{word}\n" for word in (*SPECIAL, *map(str, range(56))))
_BERT = {
    "model_type": "bert",
    "vocab_size": 60,
    "hidden_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 20,
    "max_position_embeddings": LENGTH,
}
_MOBILEBERT = {
    **_BERT,
    "model_type": "mobilebert",
    "embedding_size": 12,
    "intra_bottleneck_size": 16,
    "num_feedforward_networks": 2,
    "classifier_activation": False,
}
_GHOSTBERT = {
    **_BERT,
    "model_type": "ghostbert",
    "export_mobile_kept_heads": [1, 2],
    "export_mobile_kept_ffn": [10, 20],
    "ghost_heads": [1, 2],
    "ghost_folds": [2, 1],
}
_POWERBERT = {**_BERT, "model_type": "powerbert", "num_hidden_layers": 3, "retention": [9, 5, 1]}
_ALBERT = {**_BERT, "model_type": "albert", "embedding_size": 12, "num_hidden_layers": 4, "num_hidden_groups": 2}
_TAGGER = {**_BERT, "model_type": "tagger", "num_hidden_layers": 3}
DOCUMENTS: dict[str, dict[str, Any]] = {
    "mobilebert": _MOBILEBERT,
    "bert": _BERT,
    "ghostbert": _GHOSTBERT,
    "powerbert": _POWERBERT,
    "albert": _ALBERT,
    "tagger": _TAGGER,
}
LABELS = {
    "classification": ("no", "yes", "perhaps"),
    "regression": ("score",),
    "token-classification": ("O", "B-X", "I-X"),
}


def write_checkpoint(folder: Path, model: str = "mobilebert", task: str = "classification", **changes: Any) -> Path:
    """A folder with a model for the task. `changes` are keys of config.json."""
    made = checkpoint.random_init(
        model,
        {**DOCUMENTS[model], **changes},
        head="classification" if task == "regression" else task,
        labels=LABELS.get(task, ()),
        tokenizer_files={"vocab.txt": VOCABULARY.encode()},
    )
    generator = np.random.default_rng(0)
    tensors = {}
    for name, value in made.tensors.items():
        values = generator.normal(0, 0.1, value.shape)
        if name.endswith("gamma"):
            values = generator.uniform(0.7, 1.2, value.shape) * generator.choice([1, 1, 1, -1], value.shape)
        elif name.endswith("kernel"):
            values = generator.normal(0, 1 / np.sqrt(value.shape[0]), value.shape)
        elif name.endswith("embedding"):
            values = generator.normal(0, 0.5, value.shape)
        tensors[name] = values.astype(np.float32)
    checkpoint.save(folder, checkpoint.with_tensors(made, tensors))
    return folder
