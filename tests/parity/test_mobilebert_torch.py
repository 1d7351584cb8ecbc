"""Every variant and head of MobileBERT (and BERT) computes what PyTorch's classes compute on the same random weights.

`transformers` has no IB-BERT; an oracle in numpy, written from the paper's formulas, stands for it.
"""

import dataclasses
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from models_tf.bert import convert as bert
from models_tf.encoder import forward
from models_tf.encoder.model import Encoder
from models_tf.layers.dropout import Draws
from models_tf.mobilebert import convert as mobilebert
from models_tf.mobilebert.config import CONFIG, IB_BERT, OPT, TINY
from support.tiny_models import HEADS, TIME, WORD_COUNT, values
from support.torch_models import TOLERANCE, compare, given_rows, our_model, pytorch_model

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

SMALL = {
    "vocab_size": WORD_COUNT,
    "embedding_size": 8,
    "hidden_size": 32,
    "intra_bottleneck_size": 16,
    "intermediate_size": 24,
    "num_hidden_layers": 3,
    "max_position_embeddings": 20,
}
OPT_SMALL, TINY_SMALL = {**OPT, **SMALL}, {**TINY, **SMALL}
LAYER_NORM = {**OPT_SMALL, "normalization_type": "layer_norm"}
DOCUMENTS: dict[str, dict[str, Any]] = {
    "opt": OPT_SMALL,
    "tiny": TINY_SMALL,
    "both bottlenecks": {**TINY_SMALL, "key_query_shared_bottleneck": True},
    "one ffn": {**OPT_SMALL, "num_feedforward_networks": 1},
    "two ffns": {**OPT_SMALL, "num_feedforward_networks": 2},
    "three ffns": {**OPT_SMALL, "num_feedforward_networks": 3},
    "not shared, equal widths": {**OPT_SMALL, "key_query_shared_bottleneck": False, "intra_bottleneck_size": 32},
    "not shared": {**OPT_SMALL, "key_query_shared_bottleneck": False},
    "no trigram": {**OPT_SMALL, "trigram_input": False},
    "no trigram, equal widths": {**OPT_SMALL, "trigram_input": False, "embedding_size": 32},
    "trigram, equal widths": {**OPT_SMALL, "embedding_size": 32},
    "no bottleneck": {**OPT_SMALL, "use_bottleneck": False},
    "no bottleneck, tiny": {**TINY_SMALL, "use_bottleneck": False},
    "gelu": {**OPT_SMALL, "hidden_act": "gelu"},
    "gelu_new": {**OPT_SMALL, "hidden_act": "gelu_new"},
    "relu6": {**OPT_SMALL, "hidden_act": "relu6"},
    "silu": {**OPT_SMALL, "hidden_act": "silu"},
    "pooler": {**OPT_SMALL, "classifier_activation": True},
    "layer norm": LAYER_NORM,
    "layer norm, tiny": {**TINY_SMALL, "normalization_type": "layer_norm"},
    "layer norm, no bottleneck": {**LAYER_NORM, "use_bottleneck": False},
    "layer norm, one ffn, gelu, pooler": {
        **LAYER_NORM,
        "num_feedforward_networks": 1,
        "hidden_act": "gelu",
        "classifier_activation": True,
    },
    # All epsilons far apart and large: a norm with the wrong one is off by far more than the tolerance.
    "layer norm, epsilon": {**LAYER_NORM, "layer_norm_eps": 0.1},
    "one head, pad 3": {**OPT_SMALL, "num_attention_heads": 1, "pad_token_id": 3},
}


@pytest.mark.parametrize("padded", [False, True], ids=["unpadded", "padded"])
@pytest.mark.parametrize("variant", DOCUMENTS)
def test_a_variant_equals_pytorch_in_every_hidden_state(variant: str, padded: bool) -> None:
    document = DOCUMENTS[variant]
    given = given_rows(document, padded=padded)
    assert compare("MobileBert", mobilebert.FAMILY, document, HEADS["base"], given) < TOLERANCE


@pytest.mark.parametrize("variant", ["opt", "tiny", "pooler", "layer norm, one ffn, gelu, pooler"])
@pytest.mark.parametrize("head", HEADS)
def test_a_head_equals_pytorch(head: str, variant: str) -> None:
    document = DOCUMENTS[variant]
    given = given_rows(document, padded=True)
    assert compare("MobileBert", mobilebert.FAMILY, document, HEADS[head], given) < TOLERANCE


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("padded", [False, True], ids=["unpadded", "padded"])
def test_bert_equals_pytorch(padded: bool, head: str) -> None:
    document = {
        "model_type": "bert",
        "vocab_size": WORD_COUNT,
        "hidden_size": 24,
        "num_hidden_layers": 3,
        "num_attention_heads": 3,
        "intermediate_size": 40,
        "max_position_embeddings": 20,
        "layer_norm_eps": 0.01,
        "hidden_act": "gelu",
        "pad_token_id": 0,
    }
    assert compare("Bert", bert.FAMILY, document, HEADS[head], given_rows(document, padded=padded)) < TOLERANCE


@pytest.mark.exhaustive
@pytest.mark.parametrize("padded", [False, True], ids=["unpadded", "padded"])
@pytest.mark.parametrize("document", [OPT, TINY], ids=["opt", "tiny"])
def test_the_published_24_layers_equal_pytorch(document: dict[str, Any], padded: bool) -> None:
    given = given_rows(document, padded=padded)
    assert compare("MobileBert", mobilebert.FAMILY, document, HEADS["base"], given) < TOLERANCE


@pytest.mark.exhaustive
@pytest.mark.parametrize("head", ["classification", "question-answering"])
def test_a_head_on_24_layers_equals_pytorch(head: str) -> None:
    document = {**OPT, "vocab_size": 1000}
    given = given_rows(document, padded=True)
    assert compare("MobileBert", mobilebert.FAMILY, document, HEADS[head], given) < TOLERANCE


def test_what_stands_in_padding_does_not_matter() -> None:
    model = pytorch_model("MobileBert", OPT_SMALL, HEADS["classification"])
    ours = our_model(mobilebert.FAMILY, OPT_SMALL, HEADS["classification"], model)
    given = given_rows(OPT_SMALL, padded=True)
    other = {**given, "ids": np.where(given["mask"], given["ids"], 7).astype(np.int32)}
    first, second = (
        ours(*(tf.constant(part[key]) for key in ("ids", "mask", "segments")))["logits"].numpy()
        for part in (given, other)
    )
    np.testing.assert_array_equal(first, second)


def numpy_ib_bert(document: dict[str, Any], tensors: dict[str, np.ndarray], given: dict[str, np.ndarray]) -> np.ndarray:
    """IB-BERT in float64, row by row: query, key and value read the layer's input; the skip path has a bottleneck."""
    table = {name: value.astype(np.float64) for name, value in tensors.items()}

    def dense(name: str, x: np.ndarray) -> np.ndarray:
        return x @ table[f"{name}.kernel"] + table[f"{name}.bias"]

    def norm(name: str, x: np.ndarray, epsilon: float = document["layer_norm_eps"]) -> np.ndarray:
        centered = x - x.mean(-1, keepdims=True)
        scaled = centered / np.sqrt((centered**2).mean(-1, keepdims=True) + epsilon)
        return scaled * table[f"{name}.gamma"] + table[f"{name}.beta"]

    def softmax(scores: np.ndarray) -> np.ndarray:
        shares = np.exp(scores - scores.max(-1, keepdims=True))
        return shares / shares.sum(-1, keepdims=True)

    def row(ids: np.ndarray, mask: np.ndarray, segments: np.ndarray) -> np.ndarray:
        words = table["word_embedding"][ids]
        edge = np.zeros((1, words.shape[1]))
        trigrams = np.hstack([np.vstack([words[1:], edge]), words, np.vstack([edge, words[:-1]])])
        x = dense("embedding_projection", trigrams) + table["position_embedding"][: len(ids)]
        x = norm("embedding_norm", x + table["segment_embedding"][segments], 1e-5)
        for number in range(document["num_hidden_layers"]):
            layer = f"layers.{number}"
            skip = norm(f"{layer}.bottleneck_input_norm", dense(f"{layer}.bottleneck_input", x))
            q, k, v = (dense(f"{layer}.{part}", x) for part in ("query", "key", "value"))
            size = q.shape[1] // document["num_attention_heads"]
            contexts = []
            for start in range(0, q.shape[1], size):
                part = slice(start, start + size)
                scores = q[:, part] @ k[:, part].T / np.sqrt(size)
                scores[:, mask == 0] = -np.inf
                contexts.append(softmax(scores) @ v[:, part])
            h = norm(f"{layer}.attention_norm", dense(f"{layer}.attention_output", np.hstack(contexts)) + skip)
            m = dense(f"{layer}.ffn.0.intermediate", h)
            m = 0.5 * m * (1 + np.tanh(np.sqrt(2 / np.pi) * (m + 0.044715 * m**3)))
            h = norm(f"{layer}.ffn.0.norm", dense(f"{layer}.ffn.0.output", m) + h, 1e-5)
            x = norm(f"{layer}.bottleneck_output_norm", dense(f"{layer}.bottleneck_output", h) + x)
        return x

    return np.stack([row(*parts) for parts in zip(given["ids"], given["mask"], given["segments"], strict=True)])


@pytest.mark.parametrize("padded", [False, True], ids=["unpadded", "padded"])
def test_ib_bert_equals_an_oracle_in_numpy(padded: bool) -> None:
    document = {**IB_BERT, **SMALL, "hidden_size": 24, "intra_bottleneck_size": 48, "layer_norm_eps": 1e-3}
    config, head = CONFIG.from_document(document), HEADS["base"]
    rng = np.random.default_rng(0)
    tensors = {name: values(rng, name, shape).astype(np.float32) for name, shape in config.shapes(head).items()}
    given = given_rows(document, padded=padded)
    found = Encoder(config, head, tensors)(*(tf.constant(given[key]) for key in ("ids", "mask", "segments")))
    expected = numpy_ib_bert(document, tensors, given)
    assert np.abs(found["hidden"].numpy() - expected).max() < TOLERANCE * np.abs(expected).max()
    assert found["pooled"].shape == (len(expected), 24)


def test_ib_bert_equals_pytorch_with_layers_of_the_right_width() -> None:
    document = {**IB_BERT, **SMALL, "hidden_size": 24, "intra_bottleneck_size": 48}
    given = given_rows(document, padded=True)
    assert given["ids"].shape == (4, TIME)
    assert compare("MobileBert", mobilebert.FAMILY, document, HEADS["base"], given) < TOLERANCE


def test_dropout_is_off_unless_training() -> None:
    config = dataclasses.replace(CONFIG.from_document(OPT_SMALL), hidden_dropout=0.5, attention_dropout=0.5)
    rng = np.random.default_rng(0)
    head = HEADS["classification"]
    tensors = {name: values(rng, name, shape).astype(np.float32) for name, shape in config.shapes(head).items()}
    inputs = [tf.constant(given_rows(OPT_SMALL, padded=True)[key]) for key in ("ids", "mask", "segments")]
    model, plain = Encoder(config, head, tensors), Encoder(CONFIG.from_document(OPT_SMALL), head, tensors)
    np.testing.assert_array_equal(model(*inputs)["logits"], plain(*inputs)["logits"])
    options = forward.Options(draws=Draws(tf.constant([1, 2], tf.int32)))
    given = dict(zip(("ids", "mask", "segments"), inputs, strict=True))
    dropped = forward.run(config, head, model.table, **given, options=options).outputs["logits"]
    assert np.abs(dropped - plain(*inputs)["logits"]).max() > 1e-3
