"""PRADO and SGNN: masking, norms, shapes, sizes."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf
import tf_keras as keras

from models_tf import limits
from models_tf.layers.dropout import Draws
from models_tf.layers.masked_conv import MaskedConv
from models_tf.ops.projection.config import ProjectionConfig
from models_tf.ops.projection.library import HostProjection
from models_tf.prado.config import BRANCHES, PradoConfig
from models_tf.prado.model import Prado
from models_tf.sgnn.config import SgnnConfig
from models_tf.sgnn.model import Sgnn
from models_tf.training.features import project

PROJECTION = ProjectionConfig(feature_size=32, presence_feature=True)


def randomise(model: tf.Module, seed: int = 0) -> tf.Module:
    """Norms and biases away from 1 and 0: defaults hide bugs."""
    generator = np.random.default_rng(seed)
    for weight in model.weights:
        noise = generator.normal(0, 0.3, weight.shape)
        weight.assign(np.abs(1 + noise) if "variance" in weight.name else weight.numpy() + noise)
    return model


def features(lengths: list[int], rows: int, size: int = 32, seed: int = 1) -> np.ndarray:
    x = np.random.default_rng(seed).integers(-1, 2, (len(lengths), rows, size)).astype(np.int8)
    x[:, :, 0] = 1
    for row, length in enumerate(lengths):
        x[row, length:] = 0
    return x


def make(kind: str, **options: object) -> tf.Module:
    keras.utils.set_random_seed(0)
    if kind == "sgnn":
        return randomise(Sgnn(SgnnConfig(num_labels=5, projection=PROJECTION, hidden_size=8, **options)))
    channels = dict.fromkeys(BRANCHES, 3)
    return randomise(Prado(PradoConfig(num_labels=5, projection=PROJECTION, embedding_size=8, **channels, **options)))


@pytest.mark.parametrize("kind", ["prado", "sgnn"])
def test_a_padded_row_gives_the_same_logits_as_alone(kind: str) -> None:
    model = make(kind)
    x = features([1, 3, 9, 20], 64)
    together = model.features_to_logits(x).numpy()
    for row, length in enumerate([1, 3, 9, 20]):
        alone = model.features_to_logits(x[row : row + 1, :length]).numpy()[0]
        # A padded row weighs exp(-16) against exp(logit): 63 rows and a lowest logit of -4 make 4e-4.
        np.testing.assert_allclose(together[row], alone, atol=4e-4)


def test_without_its_mask_padding_would_change_the_logits() -> None:
    """The test above can fail: a mark in the padding is enough."""
    model = make("prado")
    x = features([3], 8)
    marked = x.copy()
    marked[:, 5, 0] = 1
    assert np.abs(model.features_to_logits(x) - model.features_to_logits(marked)).max() > 1e-2


def test_inference_equals_an_independent_numpy_version() -> None:
    model = make("prado")
    x = features([7], 7)[0].astype(np.float64)
    weights = {w.name.removesuffix(":0").removeprefix("prado/"): w.numpy().astype(np.float64) for w in model.weights}
    config = model.config

    def conv(name: str, inputs: np.ndarray, width: int, distance: int) -> np.ndarray:
        kernel = weights[f"{name}/kernel"][0]
        left = (width - 1) * distance // 2
        padded = np.zeros((len(inputs) + (width - 1) * distance, inputs.shape[1]))
        padded[left : left + len(inputs)] = inputs
        y = sum(padded[tap * distance : tap * distance + len(inputs)] @ kernel[tap] for tap in range(width))
        y = (y - weights[f"{name}/moving_mean"]) / np.sqrt(weights[f"{name}/moving_variance"] + config.norm_epsilon)
        return y * weights[f"{name}/gamma"] + weights.get(f"{name}/beta", 0.0)

    value_input = np.maximum(conv("value_bottleneck", x, 1, 1), 0)
    attention_input = np.maximum(conv("attention_bottleneck", x, 1, 1), 0)
    pooled = []
    for name, (width, distance) in BRANCHES.items():
        logits = np.exp(conv(f"{name}_attention", attention_input, width, distance))
        attention = logits / logits.sum(axis=0)
        pooled.append((attention * conv(f"{name}_value", value_input, width, distance)).sum(axis=0))
    expected = np.concatenate(pooled) @ weights["classifier/kernel"] + weights["classifier/bias"]
    actual = model.features_to_logits(features([7], 7)).numpy()[0]
    np.testing.assert_allclose(actual, expected, atol=1e-5 * np.abs(expected).max() + 1e-5)


def test_training_norm_uses_mean_and_variance_of_real_tokens_only() -> None:
    layer = MaskedConv(3, momentum=0.9, epsilon=1e-3, name="layer")
    x = tf.constant(np.random.default_rng(0).normal(2, 3, (4, 1, 6, 5)), tf.float32)
    mask = tf.constant(np.arange(6) < np.array([[6], [2], [1], [4]]), tf.float32)[:, None, :, None]
    y = layer(x * mask, mask, training=True).numpy()[mask.numpy()[..., 0] > 0]
    np.testing.assert_allclose(y.mean(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(y.std(axis=0), 1, atol=1e-3)


def test_moving_averages_follow_slowly_and_reach_the_true_moments() -> None:
    layer = MaskedConv(2, momentum=0.9, epsilon=1e-3, name="layer")
    x = tf.constant(np.random.default_rng(0).normal(2, 3, (8, 1, 6, 5)), tf.float32)
    mask = tf.ones((8, 1, 6, 1))
    layer(x, mask, training=True)
    raw = tf.nn.conv2d(x, layer.kernel, 1, "SAME").numpy().reshape(-1, 2)
    np.testing.assert_allclose(layer.moving_mean.numpy(), 0.1 * raw.mean(axis=0), rtol=1e-4)
    for _ in range(200):
        layer(x, mask, training=True)
    np.testing.assert_allclose(layer.moving_mean.numpy(), raw.mean(axis=0), rtol=1e-3)
    np.testing.assert_allclose(layer.moving_variance.numpy(), raw.var(axis=0), rtol=1e-3)
    np.testing.assert_allclose(layer(x, mask, training=True), layer(x, mask), atol=1e-3)


def test_skip_grams_store_only_their_live_taps() -> None:
    shapes = {w.name: tuple(w.shape) for w in make("prado").weights}
    assert shapes["prado/skip1bigram_value/kernel:0"] == (1, 2, 8, 3)
    assert shapes["prado/skip2bigram_attention/kernel:0"] == (1, 2, 8, 3)


def test_a_branch_without_channels_does_not_exist() -> None:
    config = PradoConfig(num_labels=2, projection=PROJECTION, fivegram=0, skip2bigram=0)
    assert not [w.name for w in Prado(config).weights if "fivegram" in w.name or "skip2" in w.name]


def test_training_mode_drops_tokens_and_inference_does_not() -> None:
    model = make("prado", token_dropout=0.5)
    x = features([8] * 4, 8)
    inference = [model.features_to_logits(x).numpy() for _ in range(2)]
    np.testing.assert_array_equal(*inference)
    training = [model(x, draws=Draws(tf.constant([3, seed], tf.int32))).numpy() for seed in (1, 2, 1)]
    assert np.abs(training[0] - training[1]).max() > 1e-3
    np.testing.assert_allclose(training[0], training[2], atol=1e-6)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"num_labels": 1}, "num_labels"),
        ({"max_seq_len": 0}, "max_seq_len"),
        ({"embedding_size": 0}, "embedding_size"),
        ({"dropout": 1.0}, "dropout"),
        (dict.fromkeys(BRANCHES, 0), "branch"),
        ({"attention_offset": 0.0}, "attention_offset"),
        ({"attention_offset": float("nan")}, "attention_offset"),
        ({"attention_offset": float("inf")}, "attention_offset"),
        ({"norm_epsilon": 0.0}, "norm_epsilon"),
        ({"norm_epsilon": float("nan")}, "norm_epsilon"),
        ({"norm_momentum": float("nan")}, "norm_momentum"),
        ({"network_l2": -1.0}, "network_l2"),
        ({"embedding_l2": float("inf")}, "embedding_l2"),
        ({"dropout": float("nan")}, "dropout"),
        ({"embedding_size": 10**12}, "embedding_size"),
        ({"trigram": 10**12}, "trigram"),
        ({"embedding_size": 65_536, "trigram": 65_536}, "parameters"),
        ({"num_labels": 10**9}, "num_labels"),
        ({"max_seq_len": limits.value("tokens") + 1}, "max_seq_len"),
        ({"projection": ProjectionConfig()}, "presence_feature"),
        ({"projection": dataclasses.replace(PROJECTION, max_tokens=5)}, "projection.max_tokens"),
        ({"projection": dataclasses.replace(PROJECTION, pad_to=5)}, "projection.pad_to"),
        ({"projection": dataclasses.replace(PROJECTION, max_bytes=128)}, "projection.max_bytes"),
        ({"projection": dataclasses.replace(PROJECTION, distortion=0.5)}, "projection.distortion"),
        ({"projection": dataclasses.replace(PROJECTION, vocabulary="\ud800")}, "surrogates"),
        ({"projection": dataclasses.replace(PROJECTION, add_bos=True, add_eos=True), "max_seq_len": 2}, "max_seq_len"),
    ],
)
def test_impossible_config_is_refused(change: dict[str, object], expected: str) -> None:
    with pytest.raises(ValueError, match=expected):
        PradoConfig(**{"num_labels": 2, **change})


@pytest.mark.parametrize(
    "change", [{"hidden_size": 10**12}, {"hidden_layers": 10**6}, {"hidden_layers": 0}, {"last_hidden_size": -1}]
)
def test_impossible_sgnn_config_is_refused(change: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="hidden_"):
        SgnnConfig(**{"num_labels": 2, **change})


def test_an_unknown_activation_is_refused() -> None:
    with pytest.raises(ValueError, match=r"`activation` must be one of relu, none. Received: 'tanh'."):
        SgnnConfig(num_labels=2, activation="tanh")


@pytest.mark.parametrize("activation", ["relu", "none"])
def test_an_sgnn_of_the_published_shape_is_what_numpy_computes(activation: str) -> None:
    """A sum of features, a wide and a narrow layer, logits; the last hidden layer has its own size."""
    sizes = {"hidden_layers": 2, "last_hidden_size": 3, "activation": activation}
    model = make("sgnn", **sizes)
    assert model.config.hidden_sizes == (8, 3)
    assert model.config.parameters == sum(int(tf.size(w)) for w in model.weights if "kernel" in w.name)
    features = np.random.default_rng(0).integers(-3, 4, (2, 6, PROJECTION.feature_size)).astype(np.int8)
    values = features.sum(axis=1, dtype=np.float64)
    for layer in (model.first, *model.hidden):
        values = values @ layer.kernel.numpy() + layer.bias.numpy()
        values = np.maximum(values, 0) if activation == "relu" else values
    values = values @ model.classifier.kernel.numpy() + model.classifier.bias.numpy()
    np.testing.assert_allclose(model(features), values, rtol=1e-5, atol=1e-4 * np.abs(values).max())


@pytest.mark.parametrize("kind", ["prado", "sgnn"])
def test_the_config_counts_the_weights_of_its_kernels(kind: str) -> None:
    model = make(kind)
    assert model.config.parameters == sum(int(tf.size(w)) for w in model.weights if "kernel" in w.name)


def test_a_batch_without_tokens_leaves_the_moving_averages_alone() -> None:
    layer = MaskedConv(3, momentum=0.9, epsilon=1e-3, name="layer")
    y = layer(tf.zeros((2, 1, 1, 5)), tf.zeros((2, 1, 1, 1)), training=True)
    assert np.isfinite(y).all()
    np.testing.assert_array_equal(layer.moving_variance, np.ones(3))


@pytest.mark.parametrize("tags", [{}, {"add_bos": True}, {"add_bos": True, "add_eos": True}])
@pytest.mark.parametrize("text", ["a b c d e f g", "a", ""])
def test_training_reads_the_words_that_the_exported_graph_reads(text: str, tags: dict[str, bool]) -> None:
    projection = dataclasses.replace(PROJECTION, **tags)
    config = SgnnConfig(num_labels=2, projection=projection, max_seq_len=5)
    trained = project(tf.constant([text.encode()]), config).numpy()
    exported = HostProjection(dataclasses.replace(projection, pad_to=5)).project([text])[0]
    rows = trained.shape[1]
    assert 1 <= rows <= 5
    np.testing.assert_array_equal(trained, exported[:, :rows])
    assert not exported[:, rows:].any()


def test_a_convolution_with_gaps_learns_as_it_answers_on_every_processor() -> None:
    """TensorFlow has no gradient of a dilated convolution where oneDNN is off."""
    keras.utils.set_random_seed(0)
    layer = MaskedConv(3, width=2, distance=3, momentum=0.9, epsilon=1e-3, name="gaps")
    x, mask = tf.random.normal((2, 1, 7, 4)), tf.ones((2, 1, 7, 1))
    layer(x, mask)
    with tf.GradientTape() as tape:
        tape.watch(x)
        learned = layer._convolve_to_learn(x, layer.kernel)
        total = tf.reduce_sum(learned**2)
    assert all(tf.reduce_any(slope != 0) for slope in tape.gradient(total, [x, layer.kernel]))
    np.testing.assert_allclose(learned, layer._convolve(x, layer.kernel), atol=1e-6)
