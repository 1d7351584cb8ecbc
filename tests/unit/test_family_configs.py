"""config.json of the families beside BERT, both ways; a wrong value is one line that names its key."""

import dataclasses
from typing import Any

import pytest

from models_tf import registry
from models_tf.checkpoints import encoder as checkpoint
from models_tf.errors import InputError
from support.byte_pairs import write_roberta
from support.tiny_models import DOCUMENTS, RELATIVES, VOCABULARY, tiny_encoder, write_checkpoint


def config_of(model: str, **changes: Any) -> Any:
    return registry.get(model).family().config.from_document({**DOCUMENTS[model], **changes})


@pytest.mark.parametrize("model", RELATIVES)
def test_a_config_is_written_as_it_was_read(model):
    table = registry.get(model).family().config
    config = config_of(model)
    written = table.to_document(config, DOCUMENTS[model])
    assert table.from_document(written) == config
    assert {key: written[key] for key in DOCUMENTS[model]} == DOCUMENTS[model]
    kept_heads = () if model in ("mpnet", "deberta-v2") else (1, 2)
    smaller = dataclasses.replace(config, kept_heads=kept_heads, kept_ffn=(10, 20))
    assert table.from_document(table.to_document(smaller, written)) == smaller


@pytest.mark.parametrize("model", RELATIVES)
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


def test_deberta_has_a_row_for_each_bucket_or_distance_of_both_sides():
    shapes = config_of("deberta-v2").shapes()
    assert shapes["relative_embedding"] == (8, 24)
    assert not {"position_embedding", "segment_embedding", "layers.0.position_key.kernel"} & set(shapes)
    own = config_of("deberta-v2", position_buckets=-1, share_att_key=False, norm_rel_ebd="none", pos_att_type=["c2p"])
    assert own.shapes()["relative_embedding"] == (32, 24)
    assert own.shapes()["layers.1.position_key.kernel"] == (24, 24)
    assert not {"relative_norm.gamma", "layers.1.position_query.kernel"} & set(own.shapes())


@pytest.mark.parametrize(
    "changes",
    [
        {"pos_att_type": ["c2p", "p2c"]},
        {"pos_att_type": "C2P"},
        {"max_relative_positions": 7, "position_buckets": 0},
        {"max_relative_positions": 16},
        {"embedding_size": 8, "pooler_hidden_act": "tanh", "type_vocab_size": 2, "position_biased_input": True},
        {"pooler_hidden_size": 24, "attention_head_size": 12, "conv_kernel_size": 0, "norm_rel_ebd": "none"},
    ],
)
def test_a_setting_of_deberta_is_written_as_it_was_read(changes):
    table = registry.get("deberta-v2").family().config
    config, document = config_of("deberta-v2", **changes), {**DOCUMENTS["deberta-v2"], **changes}
    written = table.to_document(config, document)
    assert table.from_document(written) == config
    assert {key: written[key] for key in document} == document


def test_settings_of_deberta_that_the_file_did_not_have_are_written():
    table = registry.get("deberta-v2").family().config
    changed = dataclasses.replace(config_of("deberta-v2"), position_attention=("c2p",), relative_span=9)
    written = table.to_document(changed, DOCUMENTS["deberta-v2"])
    assert (written["pos_att_type"], written["max_relative_positions"]) == (["c2p"], 9)


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
    ("deberta-v2", {"relative_attention": False}, "`relative_attention` must be true. Received: false: .* use BERT"),
    ("deberta-v2", {"relative_attention": None}, "`relative_attention`"),
    ("deberta-v2", {"pos_att_type": None}, "`pos_att_type` must be p2c, c2p or both"),
    ("deberta-v2", {"pos_att_type": ["p2p"]}, "`pos_att_type`"),
    ("deberta-v2", {"pos_att_type": "c2p|"}, "`pos_att_type`"),
    ("deberta-v2", {"pos_att_type": [["c2p"]]}, "`pos_att_type`"),
    ("deberta-v2", {"conv_kernel_size": 3}, "`conv_kernel_size` must be 0. Received: 3: .* give a v3 checkpoint"),
    ("deberta-v2", {"position_buckets": 1}, "`position_buckets` must be 2 to"),
    ("deberta-v2", {"position_buckets": 64}, "`position_buckets` must be 2 to 29, by `max_relative_positions`"),
    ("deberta-v2", {"position_buckets": True}, "`position_buckets`"),
    ("deberta-v2", {"max_relative_positions": "all"}, "`max_relative_positions`"),
    ("deberta-v2", {"norm_rel_ebd": "batch"}, "`norm_rel_ebd` must be one of none, layer_norm"),
    ("deberta-v2", {"share_att_key": 1}, "`share_att_key`"),
    ("deberta-v2", {"position_biased_input": "no"}, "`position_biased_input`"),
    ("deberta-v2", {"type_vocab_size": -1}, "`type_vocab_size`"),
    ("deberta-v2", {"embedding_size": 0}, "`embedding_size`"),
    ("deberta-v2", {"pooler_hidden_size": 8}, "`pooler_hidden_size` must be 24"),
    ("deberta-v2", {"attention_head_size": 8}, "`attention_head_size` must be 12"),
    ("deberta-v2", {"pooler_hidden_act": "softmax"}, "`pooler_hidden_act`"),
    ("deberta-v2", {"export_mobile_kept_heads": [1, 2]}, "`export_mobile_kept_heads` .*its heads cannot be pruned"),
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
        ("deberta-v2", "DebertaV2ForMultipleChoice"),
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
