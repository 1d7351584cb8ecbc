"""Knowledge transfer: every term against numbers computed with numpy, the schedule of the layers, and AdamW."""

import numpy as np
import pytest
import tensorflow as tf
import tf_keras as keras

from models_tf.encoder.config import EncoderConfig
from models_tf.encoder.forward import Activations
from models_tf.training.adamw import BETA_1, BETA_2, EPSILON, AdamW
from models_tf.training.schedule import WarmupCosine
from models_tf.training.transfer import Transfer, attention_loss, feature_loss, mean_loss, teacher_layers, variance_loss
from models_tf.training.transfer_settings import TransferSettings

RANDOM = np.random.default_rng(7)
MASK = np.array([[1, 1, 1, 0], [1, 1, 0, 0]], np.int32)
REAL = MASK.astype(bool)
# Sums of at most a few hundred float32 numbers around 1: 1e-7 each, 1e-5 together.
TOLERANCE = {"rtol": 1e-5, "atol": 1e-6}


def config(*, layers: int = 2, hidden: int = 8, heads: int = 2) -> EncoderConfig:
    sizes = {"hidden_size": hidden, "bottleneck_size": hidden, "embedding_size": hidden}
    return EncoderConfig(vocab_size=11, num_layers=layers, num_heads=heads, intermediate_size=8, **sizes)


def hidden_states(width: int = 8) -> np.ndarray:
    return (RANDOM.standard_normal((2, 4, width)) * 3 + 1).astype(np.float32)


def scores(heads: int = 2) -> np.ndarray:
    """With the mask added, as the softmax gets them."""
    values = RANDOM.standard_normal((2, heads, 4, 4)).astype(np.float32) * 2
    return values + np.where(REAL, 0, -1e9).astype(np.float32)[:, None, None, :]


def softmax(x: np.ndarray) -> np.ndarray:
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def normalized(x: np.ndarray) -> np.ndarray:
    return (x - x.mean(-1, keepdims=True)) / x.std(-1, keepdims=True)


def numpy_terms(ours: np.ndarray, theirs: np.ndarray, a: np.ndarray, b: np.ndarray) -> dict[str, float]:
    """The four terms, token by token, padding left out."""
    entropy = -(softmax(b) * np.log(np.maximum(softmax(a), 1e-30))).sum(-1)  # [batch, head, query]
    return {
        "feature": float(((normalized(ours) - normalized(theirs)) ** 2).mean(-1)[REAL].mean()),
        "mean": float(((ours.mean(-1) - theirs.mean(-1)) ** 2)[REAL].mean()),
        "variance": float(np.abs(ours.var(-1) - theirs.var(-1))[REAL].mean()),
        "attention": float(np.mean([entropy[:, head][REAL].mean() for head in range(a.shape[1])])),
    }


def test_each_term_is_the_formula() -> None:
    ours, theirs, a, b = hidden_states(), hidden_states(), scores(), scores()
    wanted = numpy_terms(ours, theirs, a, b)
    np.testing.assert_allclose(feature_loss(ours, theirs, MASK), wanted["feature"], **TOLERANCE)
    np.testing.assert_allclose(mean_loss(ours, theirs, MASK), wanted["mean"], **TOLERANCE)
    np.testing.assert_allclose(variance_loss(ours, theirs, MASK), wanted["variance"], **TOLERANCE)
    np.testing.assert_allclose(attention_loss(a, b, MASK), wanted["attention"], **TOLERANCE)


def test_padding_changes_no_term() -> None:
    ours, theirs, a, b = hidden_states(), hidden_states(), scores(), scores()
    before = [loss(ours, theirs, MASK).numpy() for loss in (feature_loss, mean_loss, variance_loss)]
    before.append(attention_loss(a, b, MASK).numpy())
    ours[~REAL] += 5
    a[np.broadcast_to(~REAL[:, None, :, None], a.shape)] += RANDOM.standard_normal()
    after = [loss(ours, theirs, MASK).numpy() for loss in (feature_loss, mean_loss, variance_loss)]
    after.append(attention_loss(a, b, MASK).numpy())
    np.testing.assert_allclose(before, after, rtol=1e-6)


def test_attention_of_another_number_of_heads_is_averaged() -> None:
    a, b = scores(2), scores(3)
    ours, theirs = softmax(a).mean(1), softmax(b).mean(1)
    wanted = -(theirs * np.log(np.maximum(ours, 1e-12))).sum(-1)[REAL].mean()
    np.testing.assert_allclose(attention_loss(a, b, MASK), wanted, **TOLERANCE)


def activations(width: int, layers: int, heads: int) -> Activations:
    bias = tf.constant(np.where(REAL, 0, -1e9).astype(np.float32)[:, None, None, :])
    raw = [tf.constant(RANDOM.standard_normal((2, heads, 4, 4)).astype(np.float32)) for _ in range(layers)]
    states = [tf.constant(hidden_states(width)) for _ in range(layers + 1)]
    return Activations(hidden_states=states, scores=raw, mask_bias=bias)


def test_the_loss_is_the_weighted_sum_over_gated_layers_divided_by_all() -> None:
    student, teacher = activations(8, 2, 2), activations(8, 2, 2)
    weights = TransferSettings()
    for kind, step, layers in (("joint", 0, (0, 1)), ("progressive", 0, (0,)), ("progressive", 5, (1,))):
        wanted = 0.0
        for layer in layers:
            terms = numpy_terms(
                student.hidden_states[layer + 1].numpy(),
                teacher.hidden_states[layer + 1].numpy(),
                (student.scores[layer] + student.mask_bias).numpy(),
                (teacher.scores[layer] + teacher.mask_bias).numpy(),
            )
            wanted += 100 * terms["feature"] + terms["attention"] + 5000 * terms["mean"] + 5 * terms["variance"]
        transfer = Transfer(config(), config(), kind=kind, settings=weights, steps=10, seed=0)
        found = transfer.loss(student, teacher, tf.constant(MASK), tf.constant(step, tf.int64))
        np.testing.assert_allclose(found, wanted / 2, rtol=1e-5)


def test_a_narrower_teacher_is_met_through_a_map_of_training_only() -> None:
    student, teacher = activations(8, 4, 2), activations(6, 2, 3)
    transfer = Transfer(
        config(layers=4), config(hidden=6, heads=3), kind="joint", settings=TransferSettings(), steps=4, seed=0
    )
    assert sorted(transfer.maps) == [f"layers.{layer}.transfer.kernel" for layer in range(4)]
    mapped = student.hidden_states[3].numpy() @ transfer.maps["layers.2.transfer.kernel"].numpy()
    only = TransferSettings(feature=1.0, attention=0.0, mean=0.0, variance=0.0)
    first = Transfer(config(layers=4), config(hidden=6, heads=3), kind="progressive", settings=only, steps=4, seed=0)
    wanted = ((normalized(mapped) - normalized(teacher.hidden_states[2].numpy())) ** 2).mean(-1)[REAL].mean() / 4
    found = first.loss(student, teacher, tf.constant(MASK), tf.constant(2, tf.int64))
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


@pytest.mark.parametrize(
    ("student", "teacher", "wanted"), [(3, 3, [1, 2, 3]), (4, 2, [1, 1, 2, 2]), (3, 6, [2, 4, 6]), (2, 1, [1, 1])]
)
def test_student_layers_learn_from_evenly_spread_teacher_layers(student: int, teacher: int, wanted: list[int]) -> None:
    assert teacher_layers(student, teacher) == wanted


def test_gates_and_rates_at_the_ends_of_each_phase() -> None:
    transfer = Transfer(
        config(layers=3), config(layers=3), kind="progressive", settings=TransferSettings(), steps=30, seed=0
    )
    for step, gates, rates in (
        (0, [1, 0, 0], [1, 0, 0]),
        (9, [1, 0, 0], [1, 0, 0]),
        (10, [0, 1, 0], [0.1, 1, 0]),
        (19, [0, 1, 0], [0.1, 1, 0]),
        (20, [0, 0, 1], [0.1, 0.1, 1]),
        (29, [0, 0, 1], [0.1, 0.1, 1]),
    ):
        now = tf.constant(step, tf.int64)
        np.testing.assert_array_equal(transfer.gates(now), gates)
        np.testing.assert_allclose(transfer.rates(now), rates)
    joint = Transfer(config(layers=3), config(layers=3), kind="joint", settings=TransferSettings(), steps=30, seed=0)
    np.testing.assert_array_equal(joint.gates(tf.constant(29)), [1, 1, 1])
    np.testing.assert_array_equal(joint.rates(tf.constant(0)), [1, 1, 1])


def test_adamw_is_the_formula_and_decays_neither_norms_nor_biases() -> None:
    start = {"a.kernel": RANDOM.standard_normal((3, 2)), "a.bias": RANDOM.standard_normal(2), "table": np.ones((4, 2))}
    weights = {name: tf.Variable(value.astype(np.float32)) for name, value in start.items()}
    adam = AdamW(weights, 0.1, weight_decay=0.01, clip_norm=1.0)
    expected = {name: value.astype(np.float64) for name, value in start.items()}
    moments = {name: [np.zeros_like(value), np.zeros_like(value)] for name, value in expected.items()}
    for count in (1, 2, 3):
        dense = {name: RANDOM.standard_normal(value.shape).astype(np.float32) for name, value in start.items()}
        dense["table"][2:] = 0
        # The same row twice: its gradients add up before the norm is taken.
        half = dense["table"][:2] / 2
        rows = tf.IndexedSlices(tf.constant(np.concatenate([half, half])), tf.constant([0, 1, 0, 1]), (4, 2))
        given = [dense["a.kernel"], dense["a.bias"], rows]
        adam.apply_gradients(zip(map(_tensor, given), weights.values(), strict=True))
        norm = np.sqrt(sum(float((value.astype(np.float64) ** 2).sum()) for value in dense.values()))
        for name, value in dense.items():
            gradient = value / max(norm, 1.0)
            m, v = moments[name]
            m[:] = BETA_1 * m + (1 - BETA_1) * gradient
            v[:] = BETA_2 * v + (1 - BETA_2) * gradient**2
            if name != "a.bias":
                expected[name] -= 0.1 * 0.01 * expected[name]
            # The fused kernel adds epsilon to the root before the second moment's correction.
            rate = 0.1 * np.sqrt(1 - BETA_2**count) / (1 - BETA_1**count)
            expected[name] -= rate * m / (np.sqrt(v) + EPSILON)
    for name, variable in weights.items():
        np.testing.assert_allclose(variable, expected[name], rtol=1e-4, atol=1e-5)


def test_adamw_is_that_of_keras_but_for_rounding() -> None:
    """Where Keras can do all that is needed: dense gradients, one pace, one epsilon."""
    start = {"a.kernel": RANDOM.standard_normal((64, 32)), "a.bias": RANDOM.standard_normal(32)}
    ours, theirs = ({name: tf.Variable(value.astype(np.float32)) for name, value in start.items()} for _ in range(2))
    schedule = WarmupCosine(1e-2, 0.1, 100)
    adam = AdamW(ours, schedule, weight_decay=0.01, clip_norm=1.0)
    plain = keras.optimizers.AdamW(schedule, weight_decay=0.01, epsilon=EPSILON, global_clipnorm=1.0)
    plain.exclude_from_weight_decay(var_list=[theirs["a.bias"]])
    for _ in range(100):
        gradients = [tf.constant(RANDOM.standard_normal(value.shape), tf.float32) for value in start.values()]
        adam.apply_gradients(zip(gradients, ours.values(), strict=True))
        plain.apply_gradients(zip(gradients, theirs.values(), strict=True))
    for name, value in start.items():
        moved = np.abs(ours[name].numpy() - value).max()
        # A step rounds to float32 once: 100 steps of weights near 1 add up to at most 100 * 2**-24 = 6e-6.
        assert np.abs(ours[name].numpy() - theirs[name].numpy()).max() < 6e-6 < 1e-3 * moved, name


def _tensor(value: object) -> object:
    return value if isinstance(value, tf.IndexedSlices) else tf.constant(value)


def test_a_weight_whose_turn_comes_late_takes_a_first_step_of_the_learning_rate() -> None:
    """Its moments are zero until then; the correction counts from its turn, not from the first step."""
    weights = {"layers.0.x.bias": tf.Variable([1.0]), "layers.1.x.bias": tf.Variable([1.0])}
    transfer = Transfer(config(), config(), kind="progressive", settings=TransferSettings(), steps=8, seed=0)
    adam = AdamW(
        weights,
        0.01,
        weight_decay=0.0,
        clip_norm=0.0,
        paces=lambda step: transfer.paces(list(weights), step),
    )
    first, second = weights.values()
    for step in range(5):
        gradients = [tf.constant([1.0]), tf.constant([float(step >= 4)])]
        adam.apply_gradients(zip(gradients, (first, second), strict=True))
    np.testing.assert_allclose(second, [0.99], atol=1e-4)
    np.testing.assert_allclose(first, [1 - 4 * 0.01 - 0.001], atol=1e-4)
