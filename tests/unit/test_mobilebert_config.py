import json

import pytest

from models_tf.bert import config as bert
from models_tf.checkpoints.document import ACTIVATIONS, Document
from models_tf.encoder.config import EncoderConfig
from models_tf.encoder.heads import Head
from models_tf.errors import InputError
from models_tf.mobilebert import config as mobilebert
from models_tf.mobilebert.config import IB_BERT, OPT, PRESETS, TINY
from support.tiny_models import BERT, MOBILEBERT, MOBILEBERTS


def refused(values, reader=mobilebert.CONFIG.from_document):
    with pytest.raises(InputError) as caught:
        reader(values, "some/config.json")
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith("some/config.json: ")
    return message


def test_the_published_configs_have_the_counted_numbers_of_weights():
    assert mobilebert.CONFIG.from_document(OPT).parameters() == 24_581_888
    assert mobilebert.CONFIG.from_document(TINY).parameters() == 15_485_696
    assert round(mobilebert.CONFIG.from_document(IB_BERT).parameters() / 1e6, 1) == 294.2


def test_the_teacher_reads_the_layers_input_with_wide_kernels():
    config = mobilebert.CONFIG.from_document(IB_BERT)
    shapes = config.shapes(Head(kind="base"))
    assert shapes["layers.0.query.kernel"] == shapes["layers.0.key.kernel"] == (512, 1024)
    assert shapes["layers.0.bottleneck_input.kernel"] == (512, 1024)
    assert config.activation == "gelu_tanh"


def test_an_empty_document_is_the_default_of_transformers():
    config = mobilebert.CONFIG.from_document({})
    assert config == EncoderConfig(
        vocab_size=30522,
        hidden_size=512,
        num_layers=24,
        num_heads=4,
        intermediate_size=512,
        embedding_size=128,
        bottleneck_size=128,
        use_bottleneck=True,
        key_query_shared=True,
        num_ffn=4,
        activation="relu",
        norm="no_norm",
        outer_norm_epsilon=1e-5,
        trigram=True,
        pooler=True,
        attention_dropout=0.1,
    )


def test_the_defaults_are_those_of_the_installed_transformers():
    transformers = pytest.importorskip("transformers")
    assert mobilebert.CONFIG.from_document(
        transformers.MobileBertConfig().to_dict()
    ) == mobilebert.CONFIG.from_document({})
    assert bert.CONFIG.from_document(transformers.BertConfig().to_dict()) == bert.CONFIG.from_document({})


def test_norms_without_an_epsilon_of_their_own_have_that_of_torch():
    config = mobilebert.CONFIG.from_document({**IB_BERT, "layer_norm_eps": 1e-7})
    assert (config.norm_epsilon, config.outer_norm_epsilon) == (1e-7, 1e-5)
    config = bert.CONFIG.from_document({**BERT, "layer_norm_eps": 1e-7})
    assert (config.norm_epsilon, config.outer_norm_epsilon) == (1e-7, 1e-7)


def test_bottleneck_attention_wins_over_the_shared_bottleneck():
    config = mobilebert.CONFIG.from_document({**OPT, "use_bottleneck_attention": True})
    assert config.use_bottleneck_attention
    assert not config.key_query_shared


def test_without_bottlenecks_their_settings_do_not_matter():
    config = mobilebert.CONFIG.from_document({**OPT, "use_bottleneck": False, "use_bottleneck_attention": True})
    assert (config.bottleneck_size, config.key_query_shared, config.use_bottleneck_attention) == (512, False, False)


@pytest.mark.parametrize(("word", "meaning"), ACTIVATIONS.items())
def test_activations_keep_their_spelling(word, meaning):
    values = {**MOBILEBERT, "hidden_act": word}
    config = mobilebert.CONFIG.from_document(values)
    assert config.activation == meaning
    assert mobilebert.CONFIG.to_document(config, values)["hidden_act"] == word
    assert mobilebert.CONFIG.from_document(mobilebert.CONFIG.to_document(config, {})) == config


@pytest.mark.parametrize(("word", "meaning"), ACTIVATIONS.items())
def test_activations_mean_what_they_do_in_torch(word, meaning):
    torch = pytest.importorskip("torch")
    activations = pytest.importorskip("transformers.activations")
    x = torch.linspace(-8, 8, 101, dtype=torch.float64)
    expected = {
        "relu": torch.relu,
        "relu6": lambda x: x.clamp(0, 6),
        "gelu": lambda x: 0.5 * x * (1 + torch.erf(x / 2**0.5)),
        "gelu_tanh": lambda x: torch.nn.functional.gelu(x, approximate="tanh"),
        "tanh": torch.tanh,
        "silu": lambda x: x * torch.sigmoid(x),
    }[meaning]
    # `gelu_fast` has sqrt(2/pi) with ten digits.
    torch.testing.assert_close(activations.ACT2FN[word](x), expected(x), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", MOBILEBERTS)
def test_a_config_is_written_as_a_document_that_gives_it_back(name):
    config = mobilebert.CONFIG.from_document({**MOBILEBERT, **MOBILEBERTS[name]})
    assert mobilebert.CONFIG.from_document(mobilebert.CONFIG.to_document(config, {"other": 1})) == config
    assert mobilebert.CONFIG.to_document(config, {"other": 1})["other"] == 1


@pytest.mark.parametrize("name", PRESETS)
def test_presets_are_json(name):
    assert json.loads(json.dumps(PRESETS[name])) == PRESETS[name]


def test_a_bert_config_is_written_as_a_document_that_gives_it_back():
    config = bert.CONFIG.from_document({**BERT, "hidden_act": "gelu_new"})
    assert bert.CONFIG.from_document(bert.CONFIG.to_document(config, {})) == config
    assert (
        config.parameters()
        == mobilebert.CONFIG.from_document(
            {
                **BERT,
                "use_bottleneck": False,
                "trigram_input": False,
                "num_feedforward_networks": 1,
                "embedding_size": 24,
            }
        ).parameters()
    )


def test_a_config_that_bert_does_not_have_is_not_written_as_one():
    with pytest.raises(ValueError, match="of bert must be"):
        bert.CONFIG.to_document(mobilebert.CONFIG.from_document(MOBILEBERT), {})


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("vocab_size", 0),
        ("vocab_size", "60"),
        ("vocab_size", 1 << 40),
        ("hidden_size", 24.0),
        ("hidden_size", None),
        ("hidden_size", True),
        ("num_hidden_layers", 0),
        ("num_hidden_layers", 10_000),
        ("num_attention_heads", -1),
        ("embedding_size", []),
        ("intra_bottleneck_size", 0),
        ("intermediate_size", 1 << 20),
        ("num_feedforward_networks", 0),
        ("max_position_embeddings", 0),
        ("type_vocab_size", 0),
        ("hidden_act", "swishy"),
        ("hidden_act", 3),
        ("hidden_act", "gelu_10"),
        ("normalization_type", "batch_norm"),
        ("layer_norm_eps", -1.0),
        ("layer_norm_eps", float("nan")),
        ("layer_norm_eps", "1e-12"),
        ("hidden_dropout_prob", 1.0),
        ("hidden_dropout_prob", None),
        ("attention_probs_dropout_prob", -0.1),
        ("classifier_dropout", "much"),
        ("initializer_range", float("inf")),
        ("trigram_input", 1),
        ("use_bottleneck", "true"),
        ("use_bottleneck_attention", None),
        ("key_query_shared_bottleneck", 0),
        ("classifier_activation", "tanh"),
        ("pad_token_id", 60),
        ("pad_token_id", -1),
        ("pruned_heads", {"0": [1]}),
        ("quantization_config", {"bits": 4}),
    ],
)
def test_a_wrong_value_is_refused_by_the_name_of_its_key(key, value):
    assert f"`{key}` must be" in refused({**MOBILEBERT, key: value})


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("position_embedding_type", "relative_key"),
        ("position_embedding_type", "alibi"),
        ("is_decoder", True),
        ("add_cross_attention", True),
        ("hidden_act", "quick_gelu"),
        ("pruned_heads", {"0": [1]}),
    ],
)
def test_a_bert_that_is_not_built_is_refused_by_the_name_of_its_key(key, value):
    assert f"`{key}` must be" in refused({**BERT, key: value}, bert.CONFIG.from_document)


def test_a_width_that_the_heads_do_not_divide_is_refused():
    assert "multiple of `num_attention_heads`" in refused({**MOBILEBERT, "num_attention_heads": 3})


def test_sizes_that_would_fill_the_memory_are_refused():
    huge = {**MOBILEBERT, "vocab_size": 1 << 21, "embedding_size": 1 << 12}
    assert "weights (the limit parameters). Received" in refused(huge)


def test_no_padding_token_means_zero():
    assert mobilebert.CONFIG.from_document({**MOBILEBERT, "pad_token_id": None}).pad_id == 0


def test_labels_come_in_the_order_of_their_numbers():
    table = {"2": "c", "0": "a", "1": "b"}
    assert Document(values={"id2label": table}).labels() == ["a", "b", "c"]
    assert Document(values={"id2label": {str(n): f"x{n}" for n in range(12)}}).labels()[10] == "x10"


def test_without_labels_there_are_as_many_as_num_labels_says():
    assert Document(values={}).labels() == ["LABEL_0", "LABEL_1"]
    assert Document(values={"num_labels": 3}).labels() == ["LABEL_0", "LABEL_1", "LABEL_2"]


def test_left_over_default_numbers_do_no_harm():
    values = {"id2label": {"0": "a", "1": "b"}, "label2id": {"LABEL_0": 0, "LABEL_1": 1}}
    assert Document(values=values).labels() == ["a", "b"]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"id2label": {"0": "a", "2": "b"}}, "numbered from 0 to 1"),
        ({"id2label": {"1": "a", "2": "b"}}, "numbered from 0 to 1"),
        ({"id2label": {"0": "a", "x": "b"}}, "numbered from 0 to 1"),
        ({"id2label": {"0": "a", "00": "b"}}, "numbered from 0 to 1"),
        ({"id2label": {"0": "a", "-1": "b"}}, "numbered from 0 to 1"),
        ({"id2label": {"0": "a", "1": "a"}}, "a twice"),
        ({"id2label": {"0": "a", "1": 5}}, "printable text"),
        ({"id2label": {"0": "a", "1": "b\nc"}}, "printable text"),
        ({"id2label": {"0": "a", "1": ""}}, "printable text"),
        ({"id2label": ["a", "b"]}, "an object"),
        ({"id2label": {}}, "an object"),
        ({"id2label": {"0": "a", "1": "b"}, "num_labels": 3}, "`num_labels` must be 2"),
        ({"id2label": {"0": "a", "1": "b"}, "label2id": {"a": 1, "b": 0}}, "`label2id` must be the inverse"),
        ({"num_labels": 0}, "`num_labels`"),
        ({"num_labels": "two"}, "`num_labels`"),
    ],
)
def test_labels_that_contradict_each_other_are_refused(values, words):
    with pytest.raises(InputError, match=words):
        Document(values=values).labels()


@pytest.mark.parametrize(
    ("name", "count"), [("regression", 2), ("single_label_classification", 1), ("other", 2), (3, 2)]
)
def test_a_problem_type_that_does_not_fit_is_refused(name, count):
    with pytest.raises(InputError, match="problem_type"):
        Document(values={"problem_type": name}).problem_type(count)


@pytest.mark.parametrize(
    ("name", "count"),
    [("regression", 1), ("single_label_classification", 2), ("multi_label_classification", 1), (None, 1)],
)
def test_a_problem_type_that_fits_is_taken(name, count):
    assert Document(values={"problem_type": name}).problem_type(count) == name
