"""PyTorch's tensors of MobileBERT: the rename table. Masked-word and next-sentence heads are left out."""

from collections.abc import Mapping

from models_tf.checkpoints.family import Family
from models_tf.checkpoints.rename import PortLine, dense, embeddings, layer, norm, weights_of
from models_tf.encoder.config import EncoderConfig
from models_tf.encoder.heads import BASE, CLASSIFICATION, QUESTION_ANSWERING, TOKEN_CLASSIFICATION
from models_tf.mobilebert.config import CONFIG, PRESETS

PREFIX = "mobilebert."
ARCHITECTURES = {
    "MobileBertModel": BASE,
    "MobileBertForPreTraining": BASE,
    "MobileBertForMaskedLM": BASE,
    "MobileBertForNextSentencePrediction": BASE,
    "MobileBertForSequenceClassification": CLASSIFICATION,
    "MobileBertForTokenClassification": TOKEN_CLASSIFICATION,
    "MobileBertForQuestionAnswering": QUESTION_ANSWERING,
}
# Ours -> PyTorch's, within a layer.
LAYER_DENSE = {
    "bottleneck_input": "bottleneck.input.dense",
    "bottleneck_shared": "bottleneck.attention.dense",
    "query": "attention.self.query",
    "key": "attention.self.key",
    "value": "attention.self.value",
    "attention_output": "attention.output.dense",
    "bottleneck_output": "output.bottleneck.dense",
}
LAYER_NORMS = {
    "bottleneck_input_norm": "bottleneck.input.LayerNorm",
    "bottleneck_shared_norm": "bottleneck.attention.LayerNorm",
    "attention_norm": "attention.output.LayerNorm",
    "bottleneck_output_norm": "output.bottleneck.LayerNorm",
}


def lines(config: EncoderConfig, prefix: str) -> list[PortLine]:
    """Every tensor of every variant; the family keeps those that the config has."""
    found = embeddings(f"{prefix}embeddings.")
    found += dense("embedding_projection", f"{prefix}embeddings.embedding_transformation")
    for stored in range(config.num_layers):
        ours, theirs = f"layers.{stored}.", f"{prefix}encoder.layer.{stored}."
        found += layer(ours, theirs, LAYER_DENSE, LAYER_NORMS)
        for number in range(config.num_ffn):
            # PyTorch counts all but the last one.
            stage = theirs if number == config.num_ffn - 1 else f"{theirs}ffn.{number}."
            found += dense(f"{ours}ffn.{number}.intermediate", f"{stage}intermediate.dense")
            found += dense(f"{ours}ffn.{number}.output", f"{stage}output.dense")
            found += norm(f"{ours}ffn.{number}.norm", f"{stage}output.LayerNorm")
    return found + dense("pooler", f"{prefix}pooler.dense")


def unread(config: EncoderConfig, prefix: str) -> frozenset[str]:
    """Position numbers of old files, and layers that PyTorch has and does not use in some variants."""
    names = {f"{prefix}embeddings.position_ids", *fillers(config, prefix)}
    if config.use_bottleneck_attention:
        for number in range(config.num_layers):
            shared = f"{prefix}encoder.layer.{number}.bottleneck.attention"
            names |= weights_of(f"{shared}.dense", f"{shared}.LayerNorm")
    return frozenset(names)


def fillers(config: EncoderConfig, prefix: str) -> Mapping[str, tuple[int, ...]]:
    """Without trigrams, words as wide as the layers need no projection; PyTorch has one, and skips it."""
    if config.projects_embedding:
        return {}
    name, size = f"{prefix}embeddings.embedding_transformation", config.hidden_size
    return {f"{name}.weight": (size, size), f"{name}.bias": (size,)}


FAMILY = Family(
    config=CONFIG,
    prefix=PREFIX,
    architectures=ARCHITECTURES,
    presets=PRESETS,
    lines=lines,
    unread=unread,
    fillers=fillers,
)
