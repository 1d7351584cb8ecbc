"""PyTorch's classes with random weights, ours with the same, and how far apart their answers are."""

from typing import Any

import numpy as np

from models_tf.checkpoints.family import Family
from models_tf.encoder.heads import BASE, CLASSIFICATION, QUESTION_ANSWERING, TOKEN_CLASSIFICATION, Head
from models_tf.encoder.model import Encoder
from models_tf.mobilebert.config import CONFIG
from support.network_runs import rows
from support.tiny_models import values

# float32 through 24 layers of sums over at most 512 products: rounding reaches a few 1e-6 of the output's scale.
TOLERANCE = 1e-4
CLASSES = {
    BASE: "Model",
    CLASSIFICATION: "ForSequenceClassification",
    TOKEN_CLASSIFICATION: "ForTokenClassification",
    QUESTION_ANSWERING: "ForQuestionAnswering",
}
_TABLES = ("embeddings.weight", "attention_bias.weight")
_NORMS = ("LayerNorm.weight", "layer_norm.weight")


def pytorch_model(name: str, document: dict[str, Any], head: Head) -> Any:
    """PyTorch's model with every weight random, the PAD row and unused layers included."""
    import torch
    import transformers

    settings = {key: value for key, value in document.items() if key != "model_type"}
    labels = {"num_labels": head.num_labels} if head.num_labels else {}
    config = getattr(transformers, f"{name}Config")(**settings, **labels)
    model = getattr(transformers, f"{name}{CLASSES[head.kind]}")(config).eval()
    ours = CONFIG.from_document(document) if name == "MobileBert" else None
    if ours and ours.use_bottleneck and ours.reads("query") == "input":
        # The class makes layers that are too narrow for what its own code feeds them, unless the widths are equal.
        encoder = getattr(model, "mobilebert", model).encoder
        for layer in encoder.layer:
            for part in ("query", "key"):
                setattr(layer.attention.self, part, torch.nn.Linear(ours.hidden_size, ours.bottleneck_size))
    rng = np.random.default_rng(0)
    with torch.no_grad():
        for key, parameter in model.named_parameters():
            kinds = dict.fromkeys(_NORMS, ".gamma") | dict.fromkeys(_TABLES, ".table") | {".weight": ".kernel"}
            kind = next((ours for ending, ours in kinds.items() if key.endswith(ending)), ".bias")
            shape = tuple(reversed(parameter.shape)) if kind == ".kernel" else tuple(parameter.shape)
            drawn = values(rng, kind, shape).astype(np.float32)
            parameter.copy_(torch.from_numpy(np.ascontiguousarray(drawn.T if kind == ".kernel" else drawn)))
    return model


def our_model(family: Family, document: dict[str, Any], head: Head, model: Any) -> Encoder:
    """Our model with PyTorch's weights."""
    config = family.config.from_document(document, "config.json")
    stored = {key: value.numpy() for key, value in model.state_dict().items()}
    lines = family.port_lines(config, head, "" if head.kind == BASE else family.prefix)
    return Encoder(config, head, {line.ours: line.take(stored[line.theirs]) for line in lines})


def compare(name: str, family: Family, document: dict[str, Any], head: Head, given: dict[str, np.ndarray]) -> float:
    """Largest error of any output and any hidden state, as a share of its largest value.

    What stands at the places of padding is left out where a model computes something else there: nothing reads it.
    """
    import tensorflow as tf
    import torch

    model = pytorch_model(name, document, head)
    ours = our_model(family, document, head, model)
    inputs = {"input_ids": given["ids"], "attention_mask": given["mask"]}
    if ours.config.num_segments:
        inputs["token_type_ids"] = given["segments"]
    with torch.no_grad():
        theirs = model(
            **{key: torch.from_numpy(value).long() for key, value in inputs.items()}, output_hidden_states=True
        )
    found = ours.activations(*(tf.constant(given[key]) for key in ("ids", "mask", "segments")))
    names = {"hidden": "last_hidden_state", "pooled": "pooler_output"}
    pairs = [(value, theirs[names.get(key, key)]) for key, value in found.outputs.items()]
    assert len(found.hidden_states) == len(theirs.hidden_states) == ours.config.num_layers + 1
    pairs += zip(found.hidden_states, theirs.hidden_states, strict=True)
    errors = []
    for mine, other in pairs:
        assert mine.shape == tuple(other.shape)
        here, there = mine.numpy(), other.numpy()
        if differs_in_padding(family) and here.shape[:2] == given["mask"].shape:
            here, there = here[given["mask"] == 1], there[given["mask"] == 1]
        errors.append(np.abs(here - there).max() / np.abs(there).max())
    return float(max(errors))


def differs_in_padding(family: Family) -> bool:
    """Whether PyTorch numbers positions by the tokens that are not padding, or lets padding attend to nothing."""
    return family.name in ("roberta", "xlm-roberta", "mpnet", "deberta-v2")


def given_rows(document: dict[str, Any], *, padded: bool) -> dict[str, np.ndarray]:
    found = rows(padded=padded, vocabulary=document["vocab_size"])
    found["ids"] = np.where(found["mask"], found["ids"], document["pad_token_id"]).astype(np.int32)
    return found
