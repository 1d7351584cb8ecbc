"""Tiny encoders of every variant as values of `EncoderCheckpoint`, for tests of reading and writing checkpoints.

All weights are random, norms and biases too: defaults of 1 and 0 hide bugs.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from models_tf.checkpoints import encoder as checkpoint
from models_tf.checkpoints.encoder import EncoderCheckpoint

VOCABULARY = "".join(f"{word}\n" for word in ("[PAD]", "[UNK]", "[CLS]", "[SEP]", *range(56))).encode()
BERT: dict[str, Any] = {
    "model_type": "bert",
    "vocab_size": 60,
    "hidden_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 20,
    "max_position_embeddings": 16,
    "hidden_act": "gelu",
}
MOBILEBERT: dict[str, Any] = {
    **BERT,
    "model_type": "mobilebert",
    "hidden_act": "relu",
    "embedding_size": 12,
    "intra_bottleneck_size": 16,
    "num_feedforward_networks": 2,
}
GHOSTBERT: dict[str, Any] = {
    **BERT,
    "model_type": "ghostbert",
    "export_mobile_kept_heads": [2, 3],
    "export_mobile_kept_ffn": [10, 15],
    "ghost_heads": [1, 2],
    "ghost_folds": [3, 0],
}
POWERBERT: dict[str, Any] = {**BERT, "model_type": "powerbert", "retention": [9, 4], "retention_by": "first"}
ALBERT: dict[str, Any] = {
    **BERT,
    "model_type": "albert",
    "embedding_size": 12,
    "num_hidden_layers": 4,
    "num_hidden_groups": 2,
}
TAGGER: dict[str, Any] = {**BERT, "model_type": "tagger"}
DOCUMENTS = {
    "mobilebert": MOBILEBERT,
    "bert": BERT,
    "ghostbert": GHOSTBERT,
    "powerbert": POWERBERT,
    "albert": ALBERT,
    "tagger": TAGGER,
}
# What is changed of MOBILEBERT. Without any bottleneck for attention, PyTorch's class asks for one as wide as the layer.
VARIANTS: dict[str, dict[str, Any]] = {
    "opt": {"num_feedforward_networks": 4, "classifier_activation": False},
    "tiny": {"use_bottleneck_attention": True, "key_query_shared_bottleneck": False},
    "both flags": {"use_bottleneck_attention": True},
    "unshared": {"key_query_shared_bottleneck": False, "intra_bottleneck_size": 24},
    "no bottleneck": {"use_bottleneck": False, "intra_bottleneck_size": 24},
    "no trigram": {"trigram_input": False},
    "no trigrams, no projection": {"trigram_input": False, "embedding_size": 24},
    "layer norm": {"normalization_type": "layer_norm", "hidden_act": "gelu"},
    "one ffn": {"num_feedforward_networks": 1},
    "one segment": {"type_vocab_size": 1},
}
LABELS = dict.fromkeys(("classification", "token-classification"), ("no", "yes", "perhaps"))


def tiny_encoder(
    model: str = "mobilebert",
    head: str = "classification",
    *,
    labels: Sequence[str] | None = None,
    seed: int = 0,
    **changes: Any,
) -> EncoderCheckpoint:
    """`changes` are keys of config.json."""
    made = checkpoint.random_init(
        model,
        {**DOCUMENTS[model], **changes},
        head=head,
        labels=LABELS.get(head, ()) if labels is None else labels,
        tokenizer_files={"vocab.txt": VOCABULARY},
    )
    generator = np.random.default_rng(seed)
    return checkpoint.with_tensors(
        made, {name: generator.normal(0, 0.3, v.shape).astype(np.float32) for name, v in made.tensors.items()}
    )
