"""Folders go both ways: what `transformers` writes is read here, and what is written here `transformers` reads."""

import numpy as np
import pytest

from models_tf.checkpoints.encoder import load, random_init, save
from support.tiny_models import BERT, LABELS, MOBILEBERT, MOBILEBERTS, tiny_encoder

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

CLASSES = {
    "base": "Model",
    "classification": "ForSequenceClassification",
    "token-classification": "ForTokenClassification",
    "question-answering": "ForQuestionAnswering",
}
WORDS = {"mobilebert": "MobileBert", "bert": "Bert"}


def torch_class(model, head):
    return getattr(transformers, WORDS[model] + CLASSES[head])


def random_model(model, head, **changes):
    """PyTorch's model with every weight away from its default."""
    document = {**{"mobilebert": MOBILEBERT, "bert": BERT}[model], **changes}
    labels = {"num_labels": 3} if "classification" in head else {}
    config = getattr(transformers, WORDS[model] + "Config")(**document, **labels)
    made = torch_class(model, head)(config).eval()
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for value in made.parameters():
            value.add_(torch.randn(value.shape, generator=generator) * 0.3)
    return made


def assert_read_by_torch(folder, model, head, expected):
    """No tensor missing, none unexpected, every one the same."""
    found, info = torch_class(model, head).from_pretrained(folder, output_loading_info=True)
    assert {name: value for name, value in info.items() if value} == {}
    state = found.state_dict()
    unused = {name for name in state if name not in expected}
    assert unused == set()
    for name, value in expected.items():
        if name in state:
            np.testing.assert_array_equal(state[name].numpy(), value.numpy(), err_msg=name)
    return found


@pytest.mark.parametrize("head", CLASSES)
@pytest.mark.parametrize("model", WORDS)
def test_a_folder_of_transformers_is_read_and_written_back(model, head, tmp_path):
    made = random_model(model, head)
    made.save_pretrained(tmp_path / "theirs")
    found = load(tmp_path / "theirs")
    assert (found.model_name, found.head.kind, found.trained) == (model, head, True)
    save(tmp_path / "ours", found)
    back = assert_read_by_torch(tmp_path / "ours", model, head, made.state_dict())
    assert back.dtype == torch.float32
    assert back.config.num_labels == made.config.num_labels


@pytest.mark.parametrize("name", MOBILEBERTS)
def test_every_variant_of_transformers_is_read_and_written_back(name, tmp_path):
    made = random_model("mobilebert", "classification", **MOBILEBERTS[name])
    made.save_pretrained(tmp_path / "theirs")
    save(tmp_path / "ours", load(tmp_path / "theirs"))
    expected = made.state_dict()
    if name == "no trigrams, no projection":  # PyTorch stores a projection and does not use it: ours is an identity
        kernel = "mobilebert.embeddings.embedding_transformation"
        expected |= {f"{kernel}.weight": torch.eye(24), f"{kernel}.bias": torch.zeros(24)}
    assert_read_by_torch(tmp_path / "ours", "mobilebert", "classification", expected)


@pytest.mark.parametrize("head", CLASSES)
@pytest.mark.parametrize("model", WORDS)
def test_a_folder_of_ours_is_read_by_transformers(model, head, tmp_path):
    save(tmp_path, tiny_encoder(model, head))
    found, info = torch_class(model, head).from_pretrained(tmp_path, output_loading_info=True)
    assert {name: value for name, value in info.items() if value} == {}
    if "classification" in head:
        assert found.config.id2label == dict(enumerate(LABELS[head][:3]))


def test_a_folder_of_random_weights_is_read_by_transformers(tmp_path):
    save(tmp_path, random_init("mobilebert", MOBILEBERT, head="classification", labels=["score"]))
    found = torch_class("mobilebert", "classification").from_pretrained(tmp_path)
    assert found.config.problem_type == "regression"
    assert found.config.num_labels == 1


@pytest.mark.parametrize("form", ["bfloat16", "float16", "sharded", "bin", "sharded bin"])
def test_every_way_of_storing_the_weights_is_read(form, tmp_path):
    made = random_model("mobilebert", "classification")
    if form in ("bfloat16", "float16"):
        made = made.to(getattr(torch, form))
    if "bin" in form:  # `transformers` 5 no longer writes it
        made.config.architectures = [type(made).__name__]
        made.config.save_pretrained(tmp_path)
        state = made.state_dict()
        if form == "bin":
            torch.save(state, tmp_path / "pytorch_model.bin")
        else:
            write_shards(state, tmp_path)
    else:
        made.save_pretrained(tmp_path, max_shard_size="20KB" if form == "sharded" else "1GB")
        assert (tmp_path / "model.safetensors.index.json").exists() == (form == "sharded")
    found = load(tmp_path)
    kernel = made.state_dict()["mobilebert.encoder.layer.1.attention.self.value.weight"].float().numpy()
    np.testing.assert_array_equal(found.tensors["layers.1.value.kernel"], kernel.T)


def write_shards(state, folder):
    import json

    names, table = list(state), {}
    for number, part in enumerate((names[::2], names[1::2]), start=1):
        file = f"pytorch_model-0000{number}-of-00002.bin"
        torch.save({name: state[name] for name in part}, folder / file)
        table |= dict.fromkeys(part, file)
    (folder / "pytorch_model.bin.index.json").write_text(json.dumps({"weight_map": table}))


@pytest.mark.parametrize("architecture", ["ForPreTraining", "ForMaskedLM", "ForNextSentencePrediction"])
@pytest.mark.parametrize("model", WORDS)
def test_pretraining_models_of_transformers_are_read_as_base_models(model, architecture, tmp_path):
    config = getattr(transformers, WORDS[model] + "Config")(
        **{"mobilebert": MOBILEBERT | {"classifier_activation": True}, "bert": BERT}[model]
    )
    getattr(transformers, WORDS[model] + architecture)(config).save_pretrained(tmp_path)
    # The model of masked words has no pooler: it gives hidden states alone, and a training draws one.
    pools, found = architecture != "ForMaskedLM", load(tmp_path)
    assert found.head.kind == "base"
    assert ("pooler.kernel" in found.tensors) == found.config.pools_base == pools
    tuned = load(tmp_path, head="classification", new_head_labels=["a", "b"])
    assert ("pooler.kernel" in tuned.new_tensors) == (not pools)
