"""The families beside BERT compute what PyTorch's classes compute on the same random weights: all settings and heads.

BERT, MobileBERT and ALBERT have files of their own.
"""

from typing import Any

import numpy as np
import pytest

from models_tf import registry
from models_tf.checkpoints import encoder as checkpoint
from models_tf.checkpoints.encoder import EncoderCheckpoint
from support.tiny_models import HEADS, LABELS, RELATIVES, WORD_COUNT
from support.torch_models import CLASSES, compare, given_rows, pytorch_model

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

# float32 rounding of these sizes is some 1e-6; GELU by erf instead of tanh changes the output by 6e-5.
TOLERANCE = 1e-5
SIZES: dict[str, Any] = {
    "vocab_size": WORD_COUNT, "hidden_size": 24, "num_hidden_layers": 3, "num_attention_heads": 3,
    "intermediate_size": 40, "max_position_embeddings": 20, "pad_token_id": 0,
}  # fmt: skip
DISTILBERT: dict[str, Any] = {
    "model_type": "distilbert", "vocab_size": WORD_COUNT, "dim": 24, "n_layers": 3, "n_heads": 3, "hidden_dim": 40,
    "max_position_embeddings": 20, "pad_token_id": 0,
}  # fmt: skip
ELECTRA = {**SIZES, "model_type": "electra", "embedding_size": 8}
ROBERTA = {**SIZES, "model_type": "roberta", "type_vocab_size": 1, "pad_token_id": 1, "layer_norm_eps": 1e-5}
MPNET = {**SIZES, "model_type": "mpnet", "pad_token_id": 1, "layer_norm_eps": 1e-5}
DEBERTA: dict[str, Any] = {
    **SIZES, "model_type": "deberta-v2", "type_vocab_size": 0, "relative_attention": True, "position_buckets": 4,
    "norm_rel_ebd": "layer_norm", "share_att_key": True, "pos_att_type": "p2c|c2p", "position_biased_input": False,
}  # fmt: skip
NAMES = {
    "distilbert": "DistilBert", "electra": "Electra", "roberta": "Roberta", "xlm-roberta": "XLMRoberta",
    "mpnet": "MPNet", "deberta-v2": "DebertaV2", "camembert": "Camembert",
}  # fmt: skip
EPSILON = 0.1  # so large that a norm with another one is off by far more than the tolerance
VARIANTS: dict[str, dict[str, Any]] = {
    "distilbert": DISTILBERT,
    "distilbert, relu": {**DISTILBERT, "activation": "relu"},
    "distilbert, sinusoidal": {**DISTILBERT, "sinusoidal_pos_embds": True},
    "distilbert, one layer, padding is 3": {**DISTILBERT, "n_layers": 1, "pad_token_id": 3},
    "electra": ELECTRA,
    "electra, equal widths": {**ELECTRA, "embedding_size": 24},
    "electra, wide words": {**ELECTRA, "embedding_size": 32},
    "electra, gelu_new, epsilon": {**ELECTRA, "hidden_act": "gelu_new", "layer_norm_eps": EPSILON},
    "electra, three segments": {**ELECTRA, "type_vocab_size": 3},
    "roberta": ROBERTA,
    "roberta, two segments": {**ROBERTA, "type_vocab_size": 2},
    "roberta, padding is 4": {**ROBERTA, "pad_token_id": 4},
    "roberta, padding is 0, epsilon": {**ROBERTA, "pad_token_id": 0, "layer_norm_eps": EPSILON},
    "roberta, as many positions as tokens": {**ROBERTA, "max_position_embeddings": 14},
    "xlm-roberta": {**ROBERTA, "model_type": "xlm-roberta"},
    "camembert": {**ROBERTA, "model_type": "camembert"},
    "mpnet": MPNET,
    "mpnet, padding is 4": {**MPNET, "pad_token_id": 4},
    "mpnet, one layer, relu, epsilon": {
        **MPNET,
        "num_hidden_layers": 1,
        "hidden_act": "relu",
        "layer_norm_eps": EPSILON,
    },
    "mpnet, as many positions as tokens": {**MPNET, "max_position_embeddings": 14},
    "deberta-v2": DEBERTA,
    "deberta-v2, no buckets, few distances": {**DEBERTA, "position_buckets": -1, "max_relative_positions": 5},
    "deberta-v2, no buckets, all distances": {**DEBERTA, "position_buckets": 0},
    "deberta-v2, odd buckets, few distances": {**DEBERTA, "position_buckets": 5, "max_relative_positions": 9},
    "deberta-v2, own kernels": {**DEBERTA, "share_att_key": False},
    "deberta-v2, own kernels, c2p": {**DEBERTA, "share_att_key": False, "pos_att_type": ["c2p"]},
    "deberta-v2, own kernels, p2c": {**DEBERTA, "share_att_key": False, "pos_att_type": ["p2c"]},
    "deberta-v2, c2p, no norm": {**DEBERTA, "pos_att_type": "c2p", "norm_rel_ebd": "none"},
    "deberta-v2, p2c, epsilon": {**DEBERTA, "pos_att_type": ["p2c"], "layer_norm_eps": EPSILON},
    "deberta-v2, positions, three segments": {**DEBERTA, "position_biased_input": True, "type_vocab_size": 3},
    "deberta-v2, narrow words": {**DEBERTA, "embedding_size": 8, "pooler_hidden_act": "tanh", "hidden_act": "relu"},
    "deberta-v2, narrow words, positions, two segments": {
        **DEBERTA,
        "embedding_size": 8,
        "position_biased_input": True,
        "type_vocab_size": 2,
        "pad_token_id": 3,
    },
}


def test_every_family_beside_bert_has_its_settings_here() -> None:
    assert set(NAMES) == {document["model_type"] for document in VARIANTS.values()}
    assert {registry.reader_of(name) for name in NAMES} == set(RELATIVES)


def family_of(document: dict[str, Any]) -> tuple[str, Any]:
    """PyTorch's name of it, and ours."""
    return NAMES[document["model_type"]], registry.get(str(registry.reader_of(document["model_type"]))).family()


def rows_for(document: dict[str, Any], *, padded: bool) -> dict[str, np.ndarray]:
    """No token of a text is padding, and none has a segment that the model lacks. MPNet's class takes 1 for padding."""
    given = given_rows(document, padded=padded)
    for pad in {document["pad_token_id"], 1}:
        is_pad = (given["ids"] == pad) & (given["mask"] == 1)
        given["ids"] = np.where(is_pad, document["pad_token_id"] + 1, given["ids"]).astype(np.int32)
    given["segments"] = np.minimum(given["segments"], max(document.get("type_vocab_size", 2), 1) - 1)
    return given


@pytest.mark.parametrize("padded", [False, True], ids=["unpadded", "padded"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_a_setting_equals_pytorch_in_every_hidden_state(variant: str, padded: bool) -> None:
    document = VARIANTS[variant]
    assert compare(*family_of(document), document, HEADS["base"], rows_for(document, padded=padded)) < TOLERANCE


@pytest.mark.parametrize("head", [name for name in HEADS if name != "base"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_a_head_equals_pytorch(variant: str, head: str) -> None:
    document = VARIANTS[variant]
    assert compare(*family_of(document), document, HEADS[head], rows_for(document, padded=True)) < TOLERANCE


def read(folder: Any, document: dict[str, Any], head: str) -> EncoderCheckpoint:
    """A checkpoint that PyTorch wrote, as the command reads it."""
    name, _ = family_of(document)
    pytorch_model(name, document, HEADS[head]).save_pretrained(folder)
    return checkpoint.load(folder)


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("model", NAMES)
def test_a_saved_checkpoint_is_read_and_written_so_that_pytorch_computes_the_same(tmp_path, model, head) -> None:
    document = VARIANTS[model]
    found = read(tmp_path / "theirs", document, head)
    assert found.model_name == registry.reader_of(model)
    assert found.head == HEADS[head]
    checkpoint.save(tmp_path / "ours", found)
    given = rows_for(document, padded=True)
    answers = []
    for folder, name in (("theirs", model), ("ours", found.model_name)):
        loaded = getattr(transformers, f"{NAMES[name]}{CLASSES[HEADS[head].kind]}").from_pretrained(tmp_path / folder)
        with torch.no_grad():
            outputs = loaded.eval()(
                input_ids=torch.from_numpy(given["ids"]).long(), attention_mask=torch.from_numpy(given["mask"]).long()
            )
        answers.append(outputs[0].numpy())
    if HEADS[head].kind in ("base", "token-classification", "question-answering"):
        answers = [answer[given["mask"] == 1] for answer in answers]
    np.testing.assert_array_equal(*answers)


@pytest.mark.parametrize("model", NAMES)
def test_a_head_for_other_labels_is_new_and_the_encoder_stays(tmp_path, model) -> None:
    stored = read(tmp_path / "theirs", VARIANTS[model], "classification")
    fresh = checkpoint.load(tmp_path / "theirs", head="classification", new_head_labels=["a", "b"], seed=3)
    assert fresh.labels == ["a", "b"]
    assert [name for name in fresh.new_tensors if not name.startswith("classifier.")] == []
    np.testing.assert_array_equal(stored.tensors["layers.1.query.kernel"], fresh.tensors["layers.1.query.kernel"])
    base = checkpoint.load(tmp_path / "theirs", head="base")
    assert base.labels == []
    assert ("pooler.kernel" in base.tensors) == base.config.pools_base


@pytest.mark.parametrize("model", NAMES)
def test_a_head_on_a_masked_language_model_is_new_with_its_pooler(tmp_path, model) -> None:
    name, _ = family_of(VARIANTS[model])
    settings = {key: value for key, value in VARIANTS[model].items() if key != "model_type"}
    config = getattr(transformers, f"{name}Config")(**settings)
    getattr(transformers, f"{name}ForMaskedLM")(config).save_pretrained(tmp_path / "masked")
    found = checkpoint.load(tmp_path / "masked", head="classification", new_head_labels=LABELS["classification"])
    assert {"pooler.kernel", "pooler.bias", "classifier.kernel", "classifier.bias"} == set(found.new_tensors)
