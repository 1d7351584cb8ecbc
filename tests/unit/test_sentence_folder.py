"""Folders of sentence-transformers: what is read, and what is refused in one line. No TensorFlow."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from models_tf.checkpoints import encoder as checkpoints
from models_tf.checkpoints.kind import kind_of
from models_tf.checkpoints.sentence_folder import encoder_folder, is_sentence_folder, read_sentence_folder
from models_tf.encoder.heads import EMBEDDING, Head
from models_tf.errors import InputError
from support.sentence_folders import modules, write_cross_encoder, write_sentence_folder
from support.tiny_models import write_checkpoint


def test_pooling_normalization_and_length_are_read(tmp_path: Path) -> None:
    folder = write_sentence_folder(tmp_path / "st", settings={"max_seq_length": 12, "do_lower_case": False})
    found = read_sentence_folder(folder)
    assert found.head == Head(kind=EMBEDDING, pooling="mean", normalize=True)
    assert (found.encoder, found.max_seq_len, found.lower_case, found.width) == (folder, 12, False, 24)
    assert [file.name for file in found.files] == ["modules.json", "config.json", "sentence_bert_config.json"]


@pytest.mark.parametrize(
    ("pooling", "expected"),
    [
        ({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}, "cls"),
        ({"pooling_mode_max_tokens": True}, "max"),
        ({"pooling_mode": "cls", "embedding_dimension": 24}, "cls"),
        ({"pooling_mode": ["max"]}, "max"),
        ({}, "mean"),
    ],
)
def test_keys_of_old_and_new_versions_say_how_to_pool(tmp_path: Path, pooling: dict[str, Any], expected: str) -> None:
    folder = write_sentence_folder(tmp_path / "st", pooling=pooling, normalize=False)
    assert read_sentence_folder(folder).head == Head(kind=EMBEDDING, pooling=expected)


def test_types_of_newer_versions_are_known(tmp_path: Path) -> None:
    folder = write_sentence_folder(tmp_path / "st")
    listed = modules("Transformer", "Pooling", "Normalize")
    listed[0]["type"] = "sentence_transformers.base.modules.transformer.Transformer"
    listed[1]["type"] = "sentence_transformers.sentence_transformer.modules.pooling.Pooling"
    (folder / "modules.json").write_text(json.dumps(listed))
    assert read_sentence_folder(folder).head.normalize


def test_the_encoder_may_be_in_a_folder_of_its_own(tmp_path: Path) -> None:
    folder = write_sentence_folder(tmp_path / "st", encoder="0_Transformer", settings={"max_seq_length": 9})
    assert encoder_folder(folder) == folder / "0_Transformer"
    assert read_sentence_folder(folder).max_seq_len == 9
    assert checkpoints.load(folder, head="embedding").head.kind == EMBEDDING


def test_a_plain_checkpoint_is_its_own_encoder(tmp_path: Path) -> None:
    folder = write_checkpoint(tmp_path / "plain", "bert", "base")
    assert not is_sentence_folder(folder)
    assert encoder_folder(folder) == folder


@pytest.mark.parametrize("encoder", ["", "0_Transformer"])
@pytest.mark.parametrize(
    ("stated", "of_tokenizer", "expected"),
    [
        (None, 9, 9),
        (None, 16, 16),
        (None, 17, None),
        (None, 10**30, None),
        (None, 1e30, None),
        (None, "9", None),
        (None, True, None),
        (None, 0, None),
        (12, 9, 12),
        (12, 10**30, 12),
    ],
)
def test_the_length_of_the_tokenizer_counts_where_the_library_says_none(
    tmp_path: Path, encoder: str, stated: int | None, of_tokenizer: Any, expected: int | None
) -> None:
    settings = {} if stated is None else {"max_seq_length": stated}
    folder = write_sentence_folder(tmp_path / "st", encoder=encoder, settings=settings)
    (folder / encoder / "tokenizer_config.json").write_text(json.dumps({"model_max_length": of_tokenizer}))
    found = read_sentence_folder(folder)
    assert found.length(positions=16) == expected
    assert found.files[-1] == folder / encoder / "tokenizer_config.json"


@pytest.mark.parametrize("encoder", ["", "0_Transformer"])
def test_an_encoder_alone_is_a_plain_checkpoint(tmp_path: Path, encoder: str) -> None:
    folder = write_cross_encoder(tmp_path / "ce", encoder=encoder)
    assert not is_sentence_folder(folder)
    assert encoder_folder(folder) == folder / encoder
    assert kind_of(folder) == "tokens"


@pytest.mark.parametrize("kinds", [("Transformer", "Pooling", "Dense"), ("Pooling", "Transformer"), ("Transformer",)])
def test_the_encoder_is_found_whatever_stands_beside_it(tmp_path: Path, kinds: tuple[str, ...]) -> None:
    folder = write_sentence_folder(tmp_path / "st", encoder="0_Transformer")
    listed = modules(*kinds)
    listed[kinds.index("Transformer")]["path"] = "0_Transformer"
    (folder / "modules.json").write_text(json.dumps(listed))
    assert encoder_folder(folder) == folder / "0_Transformer"
    assert checkpoints.load(folder, head="base").head.kind == "base"


def test_modules_without_an_encoder_are_refused(tmp_path: Path) -> None:
    folder = write_sentence_folder(tmp_path / "st", encoder="0_Transformer")
    (folder / "modules.json").write_text(json.dumps(modules("WordEmbeddings", "Pooling")))
    with pytest.raises(InputError, match=r"must name a module Transformer\. Received: WordEmbeddings, Pooling\."):
        encoder_folder(folder)


def _set_modules(value: Any) -> Callable[[Path], None]:
    return lambda folder: (folder / "modules.json").write_text(json.dumps(value))


def _set_path(place: int, path: Any) -> Callable[[Path], None]:
    listed = modules("Transformer", "Pooling", "Normalize")
    listed[place]["path"] = path
    return _set_modules(listed)


def _set_pooling(value: Any) -> Callable[[Path], None]:
    return lambda folder: (folder / "1_Pooling" / "config.json").write_text(json.dumps(value))


def _set_settings(value: Any) -> Callable[[Path], None]:
    return lambda folder: (folder / "sentence_bert_config.json").write_text(json.dumps(value))


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (_set_modules(modules("Transformer", "Pooling", "Dense", "Normalize")), "Received: Dense"),
        (_set_modules(modules("Transformer", "Pooling", "LSTM")), "Received: LSTM"),
        (_set_modules(modules("Pooling", "Transformer")), "in this order. Received: Pooling, Transformer"),
        (_set_modules(modules("Transformer")), "Received: Transformer"),
        (_set_modules([{**modules("Transformer")[0], "type": "evil.Transformer"}]), "Received: evil.Transformer"),
        (_set_modules([]), "must be a list of modules"),
        (_set_modules({"0": "Transformer"}), "must be a list of modules"),
        (_set_modules([1, 2]), "must be a list of modules"),
        (_set_modules([{"type": 3, "path": ""}]), "must be a list of modules"),
        (lambda folder: (folder / "modules.json").write_text("{"), "modules.json must be JSON"),
        (_set_path(1, "/etc"), "must name folders of its own folder. Received: /etc"),
        (_set_path(1, "../other"), "must name folders of its own folder. Received: ../other"),
        (_set_path(0, "a/../.."), "must name folders of its own folder"),
        (_set_path(1, "..\\other"), "must name folders of its own folder"),
        (_set_path(1, "C:/other"), "must name folders of its own folder"),
        (_set_path(1, "a\0b"), "must name folders of its own folder"),
        (_set_path(1, "nowhere"), "no config.json there"),
        (_set_path(1, None), "must be a list of modules"),
        (_set_pooling([]), "must hold a JSON object. Received: list"),
        (_set_pooling({"pooling_mode": "lasttoken"}), "must pool in one way: mean, cls, max. Received: lasttoken"),
        (_set_pooling({"pooling_mode": ["mean", "max"]}), "Received: mean and max"),
        (_set_pooling({"pooling_mode": 7}), "Received: 7"),
        (_set_pooling({"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": True}), "Received: cls and mean"),
        (_set_pooling({"pooling_mode_mean_sqrt_len_tokens": True}), "Received: mean_sqrt_len_tokens"),
        (_set_pooling({"pooling_mode_mean_tokens": "yes"}), "must be true or false. Received: yes"),
        (_set_pooling({"include_prompt": False}), "must pool all tokens"),
        (_set_pooling({"word_embedding_dimension": -1}), "must be a whole number above 0"),
        (_set_settings({"max_seq_length": "long"}), "`max_seq_length` must be a whole number above 0. Received: long"),
        (_set_settings({"max_seq_length": True}), "`max_seq_length` must be a whole number above 0"),
        (_set_settings({"do_lower_case": 1}), "`do_lower_case` must be true or false"),
        (_set_settings("x"), "must hold a JSON object. Received: str"),
    ],
)
def test_what_is_wrong_is_one_line(tmp_path: Path, change: Callable[[Path], None], expected: str) -> None:
    folder = write_sentence_folder(tmp_path / "st")
    change(folder)
    with pytest.raises(InputError) as error:
        read_sentence_folder(folder)
    assert expected in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "name",
    ["1_Pooling", "1_Pooling/config.json", "modules.json", "sentence_bert_config.json", "tokenizer_config.json"],
)
def test_links_out_of_the_folder_are_refused(tmp_path: Path, name: str) -> None:
    folder = write_sentence_folder(tmp_path / "st", settings={})
    (folder / "tokenizer_config.json").write_text("{}")
    (folder / name).rename(tmp_path / "elsewhere")
    (folder / name).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="a link to"):
        read_sentence_folder(folder)


def test_a_link_inside_of_the_folder_is_followed(tmp_path: Path) -> None:
    folder = write_sentence_folder(tmp_path / "st")
    (folder / "1_Pooling").rename(folder / "pool")
    (folder / "1_Pooling").symlink_to(folder / "pool")
    assert read_sentence_folder(folder).head.pooling == "mean"


@pytest.mark.parametrize("wrapper", ["module.", "auto_model.", "0.auto_model.", "module.0.auto_model.", "_orig_mod."])
@pytest.mark.parametrize("task", ["base", "classification"])
def test_names_behind_the_prefix_of_another_library_are_read(tmp_path: Path, wrapper: str, task: str) -> None:
    from safetensors.numpy import load_file, save_file

    folder = write_checkpoint(tmp_path / "plain", "bert", task)
    before = checkpoints.load(folder)
    weights = folder / "model.safetensors"
    save_file({wrapper + name: value for name, value in load_file(weights).items()}, weights)
    after = checkpoints.load(folder)
    assert after.head == before.head
    for name, value in before.tensors.items():
        np.testing.assert_array_equal(after.tensors[name], value)


def test_a_prefix_of_some_names_only_is_an_error_that_names_one(tmp_path: Path) -> None:
    from safetensors.numpy import load_file, save_file

    folder = write_checkpoint(tmp_path / "plain", "bert", "base")
    stored = load_file(folder / "model.safetensors")
    first = next(iter(stored))
    save_file({**stored, f"module.{first}": stored[first]}, folder / "model.safetensors")
    with pytest.raises(InputError, match=r"tensor module\.\S+ is not part of the model"):
        checkpoints.load(folder)


def test_any_head_may_give_way_to_an_embedding(tmp_path: Path) -> None:
    folder = write_checkpoint(tmp_path / "plain", "bert", "classification")
    found = checkpoints.load(folder, head="embedding")
    assert (found.head.pooling, found.head.normalize, found.labels) == ("mean", True, [])
    assert not any(name.startswith(("pooler.", "classifier.")) for name in found.tensors)


def test_a_model_that_drops_tokens_has_no_embedding(tmp_path: Path) -> None:
    folder = write_checkpoint(tmp_path / "plain", "powerbert", "classification")
    with pytest.raises(InputError, match="drops tokens"):
        checkpoints.load(folder, head="embedding")
