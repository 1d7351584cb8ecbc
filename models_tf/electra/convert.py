"""PyTorch's tensors of ELECTRA: the rename table. The heads of pretraining, of both networks, are left out."""

from models_tf.bert import convert as bert
from models_tf.checkpoints.family import HEAD_LAYERS, Compressed, Family
from models_tf.checkpoints.rename import PortLine, dense, embeddings, layer, weights_of
from models_tf.electra.config import CONFIG, PRESETS
from models_tf.encoder.config import EncoderConfig
from models_tf.encoder.heads import BASE, CLASSIFICATION, QUESTION_ANSWERING, TOKEN_CLASSIFICATION

PREFIX = "electra."
ARCHITECTURES = {
    "ElectraModel": BASE,
    "ElectraForPreTraining": BASE,
    "ElectraForMaskedLM": BASE,
    "ElectraForSequenceClassification": CLASSIFICATION,
    "ElectraForTokenClassification": TOKEN_CLASSIFICATION,
    "ElectraForQuestionAnswering": QUESTION_ANSWERING,
}
PRETRAINING_HEADS = weights_of(
    "discriminator_predictions.dense",
    "discriminator_predictions.dense_prediction",
    "generator_predictions.LayerNorm",
    "generator_predictions.dense",
    "generator_lm_head",
)


def lines(config: EncoderConfig, prefix: str) -> list[PortLine]:
    found = embeddings(f"{prefix}embeddings.") + dense("embedding_projection", f"{prefix}embeddings_project")
    for stored in range(len(config.first_uses)):
        theirs = f"{prefix}encoder.layer.{stored}."
        found += layer(f"layers.{stored}.", theirs, bert.LAYER_DENSE, bert.LAYER_NORMS)
    return found


FAMILY = Family(
    config=CONFIG,
    prefix=PREFIX,
    architectures=ARCHITECTURES,
    presets=PRESETS,
    lines=lines,
    unread=bert.unread,
    head_layers={**HEAD_LAYERS, CLASSIFICATION: "classifier.out_proj"},
    head_poolers={CLASSIFICATION: "classifier.dense"},
    pretraining_heads=PRETRAINING_HEADS,
    compressed=Compressed(plain="electra", narrow_words=False),  # narrow words have narrow positions
)
