"""GhostBERT's config.json and checkpoint folders: what is written is read back, and a bad document is one line."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from models_tf.bert.config import CONFIG as BERT_CONFIG
from models_tf.checkpoints import encoder as checkpoint
from models_tf.compress.ghosts import add_ghosts
from models_tf.encoder.config import GHOST_FORMS
from models_tf.encoder.network import Network
from models_tf.errors import InputError
from models_tf.ghostbert.config import CONFIG, HALF, PRESETS
from support.tiny_models import BERT, GHOSTBERT, VOCABULARY, tiny_encoder


@pytest.mark.parametrize("form", GHOST_FORMS)
@pytest.mark.parametrize("head", ["base", "classification", "token-classification", "question-answering"])
def test_what_is_saved_is_loaded_back(form: str, head: str, tmp_path: Path) -> None:
    made = tiny_encoder("ghostbert", head, ghost_on=form, ghost_kernel=5)
    checkpoint.save(tmp_path / "saved", made)
    found = checkpoint.load(tmp_path / "saved", head=head)
    assert (found.model_name, found.config, found.head) == ("ghostbert", made.config, made.head)
    assert set(found.tensors) == set(made.tensors)
    for name, value in made.tensors.items():
        np.testing.assert_array_equal(found.tensors[name], value, err_msg=name)


def test_ghosts_added_to_a_bert_are_stored_as_ghostbert(tmp_path: Path) -> None:
    plain = checkpoint.random_init("bert", BERT, head="base", tokenizer_files={"vocab.txt": VOCABULARY})
    network = Network(config=plain.config, head=plain.head, tensors=plain.tensors)
    after = add_ghosts(network, heads=(1, 0), folds=(0, 2), ghost_on="outputs")
    document = CONFIG.to_document(after.config, plain.document)
    assert document["model_type"] == "ghostbert"
    assert (document["ghost_heads"], document["ghost_folds"]) == ([1, 0], [0, 2])
    assert CONFIG.from_document(document) == after.config


def test_the_document_of_a_plain_bert_names_no_ghosts() -> None:
    config = BERT_CONFIG.from_document(BERT)
    document = CONFIG.to_document(config, {**GHOSTBERT, "ghost_on": "outputs"})
    assert not {"ghost_heads", "ghost_folds", "export_mobile_kept_heads"} & set(document)
    assert CONFIG.from_document(document) == config


def test_other_keys_of_a_document_stay() -> None:
    config = CONFIG.from_document({**GHOSTBERT, "note": "mine"})
    assert CONFIG.to_document(config, {"note": "mine"})["note"] == "mine"


def test_the_preset_is_half_of_bert_base_with_a_ghost_for_each_head_that_is_gone() -> None:
    config = CONFIG.from_document(HALF)
    assert list(PRESETS) == ["half", "half-small"]
    assert (config.num_layers, config.num_heads, set(config.kept_heads), set(config.ghost_heads)) == (12, 12, {6}, {6})
    assert set(config.kept_ffn) == {config.intermediate_size // 2}
    # The pruned model has 67.0M weights with its pooler; ghosts add rows to the output kernels, and their own kernels.
    bare = {key: value for key, value in HALF.items() if not key.startswith("ghost_")}
    pruned = BERT_CONFIG.from_document({**bare, "model_type": "bert"})
    rows = 12 * 768 * (6 * 64 + 6 * 256)
    kernels = 12 * 3 * 6 * 6 * (64 + 256)
    assert config.parameters() == pruned.parameters() + rows + kernels


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"ghost_heads": 3}, "`ghost_heads` must be a list of whole numbers"),
        ({"ghost_heads": [1, "2"]}, "`ghost_heads` must be a list of whole numbers"),
        ({"ghost_heads": [1]}, "`ghost_heads` must be 2 whole numbers from 0 to 2, one per layer"),
        ({"ghost_folds": [1, 5]}, "`ghost_folds` must be 2 whole numbers from 0 to 2"),
        ({"ghost_on": "values"}, "`ghost_on` must be one of heads, outputs. Received: values"),
        ({"ghost_kernel": 4}, "`ghost_kernel` must be an odd number"),
        ({"ghost_kernel": 0}, "`ghost_kernel` must be a whole number from 1"),
        ({"export_mobile_kept_ffn": [12, 15]}, "must be a multiple of a fold"),
    ],
)
def test_a_bad_document_is_one_line_that_names_the_key(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError) as caught:
        CONFIG.from_document({**GHOSTBERT, **changes}, "here/config.json")
    message = str(caught.value)
    assert message.startswith("here/config.json: ")
    assert words in message
    assert "Received" in message
    assert "\n" not in message


def edit(folder: Path, **changes: Any) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def test_weights_that_do_not_fit_the_ghosts_of_the_config_are_refused(tmp_path: Path) -> None:
    checkpoint.save(tmp_path / "saved", tiny_encoder("ghostbert"))
    edit(tmp_path / "saved", ghost_heads=[2, 2])
    with pytest.raises(InputError, match=r"attention\.ghosts\.kernel must have shape"):
        checkpoint.load(tmp_path / "saved")
    edit(tmp_path / "saved", ghost_heads=[0, 2])
    with pytest.raises(InputError, match=r"attention\.output\.dense\.weight must have shape|is not part of the model"):
        checkpoint.load(tmp_path / "saved")


def test_a_ghostbert_is_not_read_as_a_bert(tmp_path: Path) -> None:
    checkpoint.save(tmp_path / "saved", tiny_encoder("ghostbert"))
    with pytest.raises(InputError, match="expected `model_type` bert"):
        checkpoint.load(tmp_path / "saved", model="bert")


def test_the_small_preset_is_made_like_the_large_one() -> None:
    config = CONFIG.from_document(PRESETS["half-small"])
    assert (config.num_layers, config.hidden_size, config.head_size, config.fold_size) == (6, 384, 32, 128)
    assert set(config.kept_heads) == set(config.ghost_heads) == set(config.ghost_folds) == {6}
