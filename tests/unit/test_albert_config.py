"""ALBERT's config.json: published sizes, groups of layers, keys of ours, and settings that are refused."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from models_tf import registry
from models_tf.albert.config import ALBERT_BASE, CONFIG, PRESETS, groups_of, shared_layers
from models_tf.checkpoints import encoder as checkpoint
from models_tf.encoder.heads import BASE as NO_HEAD
from models_tf.encoder.heads import CLASSIFICATION, QUESTION_ANSWERING, TOKEN_CLASSIFICATION, Head
from models_tf.errors import InputError

SMALL: dict[str, Any] = {
    "model_type": "albert",
    "vocab_size": 50,
    "embedding_size": 8,
    "hidden_size": 12,
    "num_hidden_layers": 4,
    "num_attention_heads": 3,
    "intermediate_size": 16,
    "max_position_embeddings": 20,
}


@pytest.mark.parametrize(
    ("preset", "millions", "paper"),
    [("base", 11.68, 12), ("large", 17.68, 18), ("xlarge", 58.72, 60), ("xxlarge", 222.60, 235)],
)
def test_published_sizes_have_their_number_of_parameters(preset: str, millions: float, paper: int) -> None:
    """With the pooler; counted from the shapes, nothing is allocated. The paper's numbers are rounded up."""
    config = CONFIG.from_document(PRESETS[preset])
    total = 0
    for shape in config.shapes(Head(kind=NO_HEAD)).values():
        size = 1
        for part in shape:
            size *= part
        total += size
    hidden = config.hidden_size
    assert total == config.parameters() + hidden * (hidden + 1)
    assert round(total / 1e6, 2) == millions
    assert total < paper * 1e6


def test_the_first_preset_is_base() -> None:
    assert registry.get("albert").family().preset() is ALBERT_BASE


def test_defaults_are_those_of_transformers() -> None:
    transformers = pytest.importorskip("transformers")
    theirs = transformers.AlbertConfig().to_dict()
    assert CONFIG.to_document(CONFIG.from_document({}), {}).items() <= theirs.items()


@pytest.mark.parametrize(
    ("runs", "groups", "inner", "expected"),
    [
        (4, 1, 1, (0, 0, 0, 0)),
        (4, 2, 1, (0, 0, 1, 1)),
        (5, 2, 1, (0, 0, 0, 1, 1)),
        (5, 3, 1, (0, 0, 1, 1, 2)),
        (2, 1, 2, (0, 1, 0, 1)),
        (4, 2, 2, (0, 1, 0, 1, 2, 3, 2, 3)),
        (3, 3, 1, ()),
        (1, 1, 1, ()),
    ],
)
def test_layers_of_a_group_use_its_weights_in_turn(
    runs: int, groups: int, inner: int, expected: tuple[int, ...]
) -> None:
    assert shared_layers(runs, groups, inner) == expected
    document = {**SMALL, "num_hidden_layers": runs, "num_hidden_groups": groups, "inner_group_num": inner}
    config = CONFIG.from_document(document)
    assert (config.num_layers, config.shared_layers) == (runs * inner, expected)
    assert groups_of(config) == (groups, inner)
    assert CONFIG.to_document(config, {}).items() >= document.items()
    assert CONFIG.from_document(CONFIG.to_document(config, document)) == config


@pytest.mark.parametrize("runs", range(1, 25))
def test_every_number_of_groups_is_found_again(runs: int) -> None:
    for groups in range(1, runs + 1):
        for inner in (1, 2, 3):
            if inner == 1 or groups < runs:
                document = {**SMALL, "num_hidden_layers": runs, "num_hidden_groups": groups, "inner_group_num": inner}
                assert groups_of(CONFIG.from_document(document)) == (groups, inner)


def test_layers_that_are_no_groups_are_refused_in_one_line() -> None:
    config = dataclasses.replace(CONFIG.from_document(SMALL), shared_layers=(0, 1, 1, 1))
    with pytest.raises(InputError, match=r"share weights in groups of neighbours.* Received: shared layers 0, 1, 1, 1"):
        CONFIG.to_document(config, SMALL)


def test_own_weights_written_as_numbers_are_own_weights() -> None:
    config = dataclasses.replace(CONFIG.from_document(SMALL), shared_layers=(0, 1, 2, 3))
    document = CONFIG.to_document(config, SMALL)
    assert document["num_hidden_groups"] == 4
    assert CONFIG.from_document(document).shared_layers == ()


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"num_hidden_groups": 5}, "`num_hidden_groups` must be at most `num_hidden_layers`, 4"),
        ({"num_hidden_groups": 0}, "`num_hidden_groups` must be a whole number from 1"),
        ({"inner_group_num": "2"}, "`inner_group_num` must be a whole number from 1"),
        ({"inner_group_num": 100}, "`inner_group_num` must be at most 64 for 4 runs"),
        (
            {"inner_group_num": 2, "num_hidden_groups": 4},
            "`inner_group_num` must be 1 where each of 4 groups runs once",
        ),
        ({"embedding_size": 0}, "`embedding_size` must be a whole number from 1"),
        ({"hidden_size": 13}, "multiple of `num_attention_heads`"),
        ({"hidden_act": "mish"}, "`hidden_act` must be one of"),
        ({"classifier_dropout_prob": 2}, "`classifier_dropout_prob` must be a number"),
        ({"position_embedding_type": "relative_key"}, "relative positions are not supported"),
        ({"retention": [9, 9, 9]}, "`retention` must be 4 whole numbers"),
        ({"retention": [5, 6, 4, 1]}, "`retention` must not grow"),
        ({"retention": [5, 4, 4, 0]}, "`retention` must be 4 whole numbers from 1"),
    ],
)
def test_a_setting_that_is_not_built_is_one_clear_line(change: dict[str, Any], expected: str) -> None:
    with pytest.raises(InputError) as caught:
        CONFIG.from_document({**SMALL, **change}, "folder/config.json")
    assert expected in str(caught.value)
    assert str(caught.value).startswith("folder/config.json: ")
    assert "\n" not in str(caught.value)


def test_an_albert_can_drop_tokens(tmp_path: Path) -> None:
    document = {**SMALL, "retention": [8, 6, 4, 1], "retention_by": "first"}
    made = checkpoint.random_init("albert", document, head=CLASSIFICATION, labels=["a", "b"])
    assert (made.config.retention, made.config.retention_by) == ((8, 6, 4, 1), "first")
    checkpoint.save(tmp_path, made)
    assert json.loads((tmp_path / "config.json").read_text())["retention"] == [8, 6, 4, 1]
    assert checkpoint.load(tmp_path).config == made.config
    assert "retention" not in CONFIG.to_document(CONFIG.from_document(SMALL), document)


@pytest.mark.parametrize("head", [TOKEN_CLASSIFICATION, QUESTION_ANSWERING])
def test_a_head_on_every_token_is_refused_where_tokens_are_dropped(head: str) -> None:
    labels = ["a", "b"] if head == TOKEN_CLASSIFICATION else []
    with pytest.raises(InputError, match=rf"drops tokens: expected a classification or base head. Received: {head}"):
        checkpoint.random_init("albert", {**SMALL, "retention": [8, 6, 4, 1]}, head=head, labels=labels)


def test_another_kind_of_model_is_not_written_as_an_albert() -> None:
    config = dataclasses.replace(CONFIG.from_document(SMALL), norm_before_projection=False)
    with pytest.raises(ValueError, match=r"`norm_before_projection` of albert must be True\. Received: False"):
        CONFIG.to_document(config, {})
