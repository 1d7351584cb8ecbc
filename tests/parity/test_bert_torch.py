"""BERT computes what PyTorch's classes compute on the same random weights: every setting that changes the computation.

One config with every head is in test_mobilebert_torch.py, whose comparison this uses; real checkpoints are in
test_bert_real.py.
"""

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from models_tf.bert import convert as bert
from models_tf.bert.config import BERT_BASE
from models_tf.checkpoints import encoder as checkpoint
from models_tf.encoder.model import Encoder
from support.tiny_models import HEADS, TIME, WORD_COUNT
from support.torch_models import TOLERANCE, compare, given_rows, our_model, pytorch_model

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

SMALL: dict[str, Any] = {
    "model_type": "bert",
    "vocab_size": WORD_COUNT,
    "hidden_size": 24,
    "num_hidden_layers": 3,
    "num_attention_heads": 3,
    "intermediate_size": 40,
    "max_position_embeddings": 20,
    "layer_norm_eps": 1e-12,
    "hidden_act": "gelu",
    "pad_token_id": 0,
}
VARIANTS: dict[str, dict[str, Any]] = {
    "gelu (erf)": {},
    "gelu_new (tanh)": {"hidden_act": "gelu_new"},
    "gelu_pytorch_tanh": {"hidden_act": "gelu_pytorch_tanh"},
    "relu": {"hidden_act": "relu"},
    "silu": {"hidden_act": "silu"},
    "epsilon 1e-5": {"layer_norm_eps": 1e-5},
    # So large that a norm with another epsilon is off by far more than the tolerance.
    "epsilon 0.1": {"layer_norm_eps": 0.1},
    "one head": {"num_attention_heads": 1},
    "heads of one channel": {"num_attention_heads": 24},
    "one layer": {"num_hidden_layers": 1},
    "as many positions as tokens": {"max_position_embeddings": TIME},
    "three segments": {"type_vocab_size": 3},
    "padding is 3": {"pad_token_id": 3},
    "narrow middle": {"intermediate_size": 5},
}
# float32 rounding of these sizes is some 1e-6; GELU by erf instead of tanh changes the output by 6e-5, so that the 1e-4
# of the big models would not see it.
SMALL_TOLERANCE = 1e-5
# BERT-base's twelve layers, twelve heads and fourfold middle; the width and the vocabulary are reduced.
TWELVE_LAYERS = {
    **BERT_BASE,
    "hidden_size": 96,
    "intermediate_size": 384,
    "vocab_size": 200,
    "max_position_embeddings": 64,
}
# The same in full width: 86M weights without the words.
FULL_WIDTH = {**BERT_BASE, "vocab_size": 500}


@pytest.mark.parametrize("padded", [False, True], ids=["unpadded", "padded"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_a_setting_equals_pytorch_in_every_hidden_state(variant: str, padded: bool) -> None:
    document = {**SMALL, **VARIANTS[variant]}
    given = given_rows(document, padded=padded)
    assert set(given["segments"].ravel()) == {0, 1}
    assert compare("Bert", bert.FAMILY, document, HEADS["base"], given) < SMALL_TOLERANCE


@pytest.mark.parametrize("head", [name for name in HEADS if name != "base"])
@pytest.mark.parametrize(
    ("activation", "epsilon"), [("gelu", 1e-12), ("gelu_new", 1e-5), ("relu", 0.1), ("silu", 1e-3)]
)
def test_a_head_equals_pytorch_with_every_activation(activation: str, epsilon: float, head: str) -> None:
    document = {**SMALL, "hidden_act": activation, "layer_norm_eps": epsilon}
    assert compare("Bert", bert.FAMILY, document, HEADS[head], given_rows(document, padded=True)) < SMALL_TOLERANCE


@pytest.mark.parametrize("head", HEADS)
def test_twelve_layers_equal_pytorch(head: str) -> None:
    given = given_rows(TWELVE_LAYERS, padded=True)
    assert compare("Bert", bert.FAMILY, TWELVE_LAYERS, HEADS[head], given) < SMALL_TOLERANCE


@pytest.mark.exhaustive
@pytest.mark.parametrize("padded", [False, True], ids=["unpadded", "padded"])
def test_bert_base_in_full_width_equals_pytorch(padded: bool) -> None:
    given = given_rows(FULL_WIDTH, padded=padded)
    assert compare("Bert", bert.FAMILY, FULL_WIDTH, HEADS["classification"], given) < TOLERANCE


def test_the_comparison_sees_another_epsilon_and_another_gelu() -> None:
    """What would pass whatever the settings are proves nothing."""
    given = given_rows(SMALL, padded=True)
    model = pytorch_model("Bert", SMALL, HEADS["base"])
    plain = our_model(bert.FAMILY, SMALL, HEADS["base"], model)
    inputs = [tf.constant(given[key]) for key in ("ids", "mask", "segments")]
    hidden = plain(*inputs)["hidden"].numpy()
    changes: list[dict[str, Any]] = [{"layer_norm_eps": 1e-3}, {"hidden_act": "relu"}, {"hidden_act": "gelu_new"}]
    for change in changes:
        other = our_model(bert.FAMILY, {**SMALL, **change}, HEADS["base"], model)(*inputs)["hidden"].numpy()
        assert np.abs(other - hidden).max() / np.abs(hidden).max() > 3 * SMALL_TOLERANCE


def test_attention_maps_equal_pytorch() -> None:
    """What distillation of attention compares: the weights after mask and softmax."""
    given = given_rows(SMALL, padded=True)
    model = pytorch_model("Bert", SMALL, HEADS["base"])
    model.set_attn_implementation("eager")  # the fused one does not give them
    with torch.no_grad():
        theirs = model(
            input_ids=torch.from_numpy(given["ids"]).long(),
            attention_mask=torch.from_numpy(given["mask"]).long(),
            token_type_ids=torch.from_numpy(given["segments"]).long(),
            output_attentions=True,
        ).attentions
    ours = our_model(bert.FAMILY, SMALL, HEADS["base"], model)
    found = ours.activations(*(tf.constant(given[key]) for key in ("ids", "mask", "segments")))
    assert len(found.scores) == len(theirs) == 3
    for scores, other in zip(found.scores, theirs, strict=True):
        mine = tf.nn.softmax(scores + found.mask_bias).numpy()
        assert np.abs(mine - other.numpy()).max() < SMALL_TOLERANCE


def test_a_row_has_the_same_hidden_states_whatever_it_is_padded_to() -> None:
    given = given_rows(SMALL, padded=True)
    ours = our_model(bert.FAMILY, SMALL, HEADS["base"], pytorch_model("Bert", SMALL, HEADS["base"]))
    names = ("ids", "mask", "segments")
    padded = ours(*(tf.constant(given[name]) for name in names))["hidden"].numpy()
    for row, length in enumerate(given["mask"].sum(1)):
        alone = ours(*(tf.constant(given[name][row : row + 1, :length]) for name in names))["hidden"].numpy()[0]
        assert np.abs(padded[row, :length] - alone).max() < SMALL_TOLERANCE * np.abs(alone).max()


@pytest.mark.parametrize("kind", ["ForPreTraining", "ForMaskedLM", "ForNextSentencePrediction"])
def test_a_pretraining_checkpoint_has_the_hidden_states_of_pytorch(kind: str, tmp_path: Any) -> None:
    """Through the folder: written by `transformers`, read by us."""
    config = transformers.BertConfig(**{key: value for key, value in SMALL.items() if key != "model_type"})
    model = getattr(transformers, f"Bert{kind}")(config).eval()
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for value in model.parameters():
            value.add_(0.1 * torch.randn(value.shape, generator=generator))
    model.save_pretrained(tmp_path)
    # A model of masked words has no pooler: one is drawn, and so is a head.
    fresh: dict[str, Any] = {"head": "classification", "new_head_labels": ["a", "b"]} if kind == "ForMaskedLM" else {}
    found = checkpoint.load(tmp_path, **fresh)
    given = given_rows(SMALL, padded=True)
    ours = Encoder(found.config, found.head, found.tensors)
    states = ours.activations(*(tf.constant(given[key]) for key in ("ids", "mask", "segments"))).hidden_states
    with torch.no_grad():
        theirs = model.bert(
            torch.from_numpy(given["ids"]).long(),
            torch.from_numpy(given["mask"]).long(),
            torch.from_numpy(given["segments"]).long(),
            output_hidden_states=True,
        ).hidden_states
    for mine, other in zip(states, theirs, strict=True):
        assert np.abs(mine.numpy() - other.numpy()).max() < SMALL_TOLERANCE * np.abs(other.numpy()).max()
