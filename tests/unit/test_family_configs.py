"""config.json of DistilBERT, ELECTRA, RoBERTa and MPNet, both ways; a wrong value is one line that names its key."""

import dataclasses
from typing import Any

import pytest

from models_tf import registry
from models_tf.checkpoints import encoder as checkpoint
from models_tf.errors import InputError
from support.byte_pairs import write_roberta
from support.tiny_models import DOCUMENTS, VOCABULARY, tiny_encoder, write_checkpoint

FAMILIES = ("distilbert", "electra", "roberta", "xlm-roberta", "mpnet")


def config_of(model: str, **changes: Any) -> Any:
    return registry.get(model).family().config.from_document({**DOCUMENTS[model], **changes})


@pytest.mark.parametrize("model", FAMILIES)
def test_a_config_is_written_as_it_was_read(model):
    table = registry.get(model).family().config
    config = config_of(model)
    written = table.to_document(config, DOCUMENTS[model])
    assert table.from_document(written) == config
    assert {key: written[key] for key in DOCUMENTS[model]} == DOCUMENTS[model]
    kept_heads = () if model == "mpnet" else (1, 2)
    smaller = dataclasses.replace(config, kept_heads=kept_heads, kept_ffn=(10, 20))
    assert table.from_document(table.to_document(smaller, written)) == smaller


@pytest.mark.parametrize("model", FAMILIES)
def test_every_preset_is_a_model(model):
    family = registry.get(model).family()
    for preset in family.presets.values():
        assert family.config.from_document(preset).num_layers in (6, 12, 24)


def test_positions_begin_behind_the_one_of_padding():
    assert config_of("roberta", max_position_embeddings=514, pad_token_id=1).max_positions == 512
    assert config_of("roberta", max_position_embeddings=20, pad_token_id=4).max_positions == 15
    assert config_of("roberta").max_positions == DOCUMENTS["roberta"]["max_position_embeddings"] - 1
    assert config_of("mpnet", max_position_embeddings=514, pad_token_id=4).max_positions == 512


def test_mpnet_has_a_column_of_32_distances_for_each_head_and_no_segments():
    shapes = config_of("mpnet").shapes()
    assert shapes["relative_attention_bias"] == (32, 2)
    assert "segment_embedding" not in shapes


def test_narrow_words_of_electra_are_projected_behind_their_norm_and_wide_ones_are_not_projected():
    assert config_of("electra", embedding_size=12).norm_before_projection
    assert not config_of("electra", embedding_size=24).projects_embedding


WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("distilbert", {"dim": 0}, "`dim` must be a whole number"),
    ("distilbert", {"dim": "768"}, "`dim`"),
    ("distilbert", {"n_heads": 5}, "multiple of `n_heads`"),
    ("distilbert", {"n_layers": 10**9}, "`n_layers`"),
    ("distilbert", {"activation": "mish"}, "`activation` must be one of relu"),
    ("distilbert", {"dropout": 1.5}, "`dropout`"),
    ("distilbert", {"sinusoidal_pos_embds": "yes"}, "`sinusoidal_pos_embds` must be false or true"),
    ("distilbert", {"pad_token_id": 60}, "`pad_token_id`"),
    ("distilbert", {"pruned_heads": {"0": [1]}}, "`pruned_heads`"),
    ("electra", {"embedding_size": -1}, "`embedding_size`"),
    ("electra", {"hidden_act": None}, "`hidden_act`"),
    ("electra", {"type_vocab_size": 0}, "`type_vocab_size`"),
    ("electra", {"position_embedding_type": "relative_key"}, "`position_embedding_type`"),
    ("electra", {"is_decoder": True}, "`is_decoder`"),
    ("roberta", {"pad_token_id": None}, "`pad_token_id` must be a whole number, since positions begin behind it"),
    ("roberta", {"pad_token_id": 16}, "`max_position_embeddings` must be above 17"),
    ("roberta", {"max_position_embeddings": 1}, "`max_position_embeddings`"),
    ("roberta", {"type_vocab_size": True}, "`type_vocab_size`"),
    ("xlm-roberta", {"vocab_size": 2**40}, "`vocab_size`"),
    ("mpnet", {"relative_attention_num_buckets": 16}, "`relative_attention_num_buckets` must be 32"),
    ("mpnet", {"relative_attention_num_buckets": "32"}, "`relative_attention_num_buckets`"),
    ("mpnet", {"relative_attention_num_buckets": None}, "`relative_attention_num_buckets`"),
    ("mpnet", {"max_position_embeddings": 2}, "`max_position_embeddings` must be above 2"),
    ("mpnet", {"pad_token_id": 60}, "`pad_token_id`"),
    ("mpnet", {"pad_token_id": True}, "`pad_token_id`"),
    ("mpnet", {"num_attention_heads": 5}, "multiple of `num_attention_heads`"),
    ("mpnet", {"hidden_act": 3}, "`hidden_act`"),
    ("mpnet", {"export_mobile_kept_heads": [1, 2]}, "`export_mobile_kept_heads` .*its heads cannot be pruned"),
    ("mpnet", {"is_decoder": True}, "`is_decoder`"),
    ("xlm-roberta", {"layer_norm_eps": "1e-5"}, "`layer_norm_eps`"),
]


@pytest.mark.parametrize(("model", "changes", "words"), WRONG, ids=lambda value: str(value)[:40])
def test_a_wrong_value_is_one_line_that_names_its_key(model, changes, words):
    with pytest.raises(InputError, match=words) as caught:
        config_of(model, **changes)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("model", "architecture"),
    [
        ("distilbert", "DistilBertForMultipleChoice"),
        ("electra", "ElectraForMultipleChoice"),
        ("roberta", "RobertaForCausalLM"),
        ("mpnet", "MPNetForMultipleChoice"),
        ("bert", "BertForMultipleChoice"),
    ],
)
def test_a_class_without_a_head_of_ours_is_refused_with_the_list(tmp_path, model, architecture):
    folder = write_checkpoint(tmp_path / "model", model)
    path = folder / "config.json"
    known = registry.get(model).family().architecture("classification")
    path.write_text(path.read_text().replace(known, architecture))
    with pytest.raises(InputError, match=rf"expected one of .*{known}.* Received: {architecture}\."):
        checkpoint.load(folder)


def test_a_tokenizer_of_another_family_is_refused(tmp_path):
    """Byte pairs of 300 tokens beside a table of 60 words."""
    from models_tf.tokenizers.tokenizer import Tokenizer

    write_roberta(tmp_path / "roberta")
    made = tiny_encoder("electra")
    pairs = checkpoint.load(tmp_path / "roberta").tokenizer_files
    for files, rows in ((pairs, made.config.vocab_size), ({"vocab.txt": VOCABULARY}, 1000)):
        with pytest.raises(InputError, match="as many tokens as the word embedding has rows"):
            Tokenizer.from_files(files).check_embedding(rows)
