"""The TensorFlow op and Keras layer against the golden file and the host."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
import tf_keras as keras

from models_tf.errors import InputError
from models_tf.ops.projection.config import ProjectionConfig
from models_tf.ops.projection.layer import SequenceProjection, load_op, sequence_projection
from models_tf.ops.projection.library import HostProjection, as_bytes
from models_tf.ops.projection.tflite_loader import interpreter
from support.projection_golden import CASES, config_of, features_of, name_of, texts_of
from support.projection_strings import cases

ROOT = Path(__file__).parents[2]
CONFIG = ProjectionConfig(feature_size=16)
TEXTS = [b"play some music", b"", b"Tomorrow\x00 at \xff seven", "日本語 İstanbul".encode()]


@pytest.mark.parametrize("case", CASES, ids=name_of)
@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_tf_gives_the_golden_features(case, dtype):
    texts = [as_bytes(text) for text in texts_of(case)]
    features, lengths = sequence_projection(texts, config_of(case), seed=case["seed"], dtype=tf.as_dtype(dtype))
    assert features.dtype == dtype
    assert lengths.numpy().tolist() == case["lengths"]
    expected = np.array(features_of(case, dtype), dtype).reshape(features.shape)
    np.testing.assert_array_equal(features.numpy(), expected)


def test_tf_equals_the_host_on_20000_generated_strings():
    compared = 0
    for seed, config, texts in cases():
        received = sequence_projection(texts, config, seed=seed)
        for ours, expected in zip(received, HostProjection(config).project(texts, seed), strict=True):
            np.testing.assert_array_equal(ours.numpy(), expected, err_msg=config.to_text())
        compared += len(texts)
    assert compared == 20_000


def test_two_threads_equal_one(monkeypatch):
    texts = [text for _, _, share in cases() for text in share]
    assert sum(map(len, texts)) > 7 * (32 << 10)  # enough text that seven threads start
    for config in (ProjectionConfig(feature_size=64, distortion=0.5), ProjectionConfig(feature_size=64, pad_to=6)):
        results = []
        for threads in ("1", "2", "7", "nonsense"):
            monkeypatch.setenv("EXPORT_MOBILE_THREADS", threads)
            features, lengths = sequence_projection(texts, config, seed=5)
            results.append((features.numpy(), lengths.numpy()))
        for features, lengths in results[1:]:
            np.testing.assert_array_equal(features, results[0][0])
            np.testing.assert_array_equal(lengths, results[0][1])


def test_the_same_seed_gives_the_same_typos_and_another_one_others():
    config = ProjectionConfig(feature_size=64, distortion=0.8)
    texts = ["play some music tomorrow"] * 8
    first, again, other = (sequence_projection(texts, config, seed=seed)[0].numpy() for seed in (3, 3, 4))
    np.testing.assert_array_equal(first, again)
    assert np.any(first != other)
    assert np.any(first[0] != first[1])  # rows of a batch differ too


@pytest.mark.parametrize("pad_to", [0, 9])
def test_the_op_runs_in_tf_data_with_static_shapes(pad_to):
    config = ProjectionConfig(feature_size=16, pad_to=pad_to)
    data = tf.data.Dataset.from_tensor_slices(TEXTS * 5).batch(4, drop_remainder=True)
    data = data.map(lambda text: sequence_projection(text, config), num_parallel_calls=2)
    features, lengths = data.element_spec
    assert features.shape.as_list() == [4, pad_to or None, 16]
    assert lengths.shape.as_list() == [4]
    for batch in data:
        np.testing.assert_array_equal(batch[0].numpy(), HostProjection(config).project(TEXTS)[0])


def test_unknown_input_shapes_give_a_rank_three_output():
    def trace(shape):
        # A new function each time: a trace for unknown shapes would be used again for the others.
        traced = tf.function(lambda text: load_op().export_mobile_sequence_projection(text, 0, config=CONFIG.to_text()))
        return traced.get_concrete_function(tf.TensorSpec(shape, tf.string)).structured_outputs

    features, lengths = trace(None)
    assert features.shape.as_list() == [None, None, None]
    assert lengths.shape.as_list() == [None]
    with pytest.raises(ValueError, match="must be rank 1"):
        trace([2, 3])


def test_the_keras_layer_is_rebuilt_from_its_config():
    config = ProjectionConfig(feature_size=16, pad_to=6, vocabulary="abcdeé;=%")
    layer = SequenceProjection(config, output_dtype="float32", return_lengths=True, name="projection")
    text = keras.Input([], dtype=tf.string)
    model = keras.Model(text, layer(text))
    assert model.output_shape == ((None, 6, 16), (None,))
    rebuilt = keras.Model.from_config(model.get_config())
    features, lengths = rebuilt(tf.constant(TEXTS))
    expected = HostProjection(config).project(TEXTS, dtype="float32")
    np.testing.assert_array_equal(features.numpy(), expected[0])
    np.testing.assert_array_equal(lengths.numpy(), expected[1])


@pytest.mark.slow
def test_a_saved_model_loads_in_a_fresh_process(tmp_path):
    text = keras.Input([], dtype=tf.string)
    model = keras.Model(text, SequenceProjection(CONFIG)(text))
    tf.saved_model.save(model, str(tmp_path / "saved"))
    np.save(tmp_path / "expected.npy", HostProjection(CONFIG).project(TEXTS)[0])
    code = (
        "import sys, numpy as np, tensorflow as tf\n"
        "from models_tf.ops.projection.layer import load_op\n"
        "load_op()\n"
        "served = tf.saved_model.load(sys.argv[1] + '/saved').signatures['serving_default']\n"
        f"(features,) = served(tf.constant({TEXTS!r})).values()\n"
        "np.testing.assert_array_equal(features.numpy(), np.load(sys.argv[1] + '/expected.npy'))\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("dtype", [tf.int8, tf.float32])
def test_what_the_tflite_converter_writes_runs_in_litert(dtype):
    config = ProjectionConfig(feature_size=16, pad_to=6, vocabulary="abcdeimoprsty é;=%")

    holder = tf.Module()
    holder.project = tf.function(
        lambda text: {"features": sequence_projection(text, config, dtype=dtype)[0]},
        input_signature=[tf.TensorSpec([1], tf.string, name="text")],
    )
    converter = tf.lite.TFLiteConverter.from_concrete_functions([holder.project.get_concrete_function()], holder)
    converter.allow_custom_ops = True
    runner = interpreter(converter.convert()).get_signature_runner()
    for text in (b"play some music", b"", "é".encode()):
        (features,) = runner(text=np.array([text])).values()
        np.testing.assert_array_equal(features, HostProjection(config).project([text], dtype=dtype.name)[0])


@pytest.mark.parametrize("text", ["projection1:feature_size=7", "projection1:nonsense=7", "", "projection1:hash=md5"])
def test_a_bad_config_is_an_error_and_not_an_abort(text):
    with pytest.raises(tf.errors.InvalidArgumentError):
        load_op().export_mobile_sequence_projection(TEXTS, 0, config=text)


def test_a_config_that_asks_for_gigabytes_is_refused():
    """F11: the op allocated 4 GB for one text."""
    config = "projection1:feature_size=4096;pad_to=1048576"
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"at most 67108864 \(the limit feature_bytes\)"):
        load_op().export_mobile_sequence_projection(["a"], 0, config=config)


def test_wrong_ranks_types_and_sizes_are_errors_and_not_aborts():
    op = load_op().export_mobile_sequence_projection
    with pytest.raises(tf.errors.InvalidArgumentError, match="must be a vector"):
        op([["a"]], 0, config=CONFIG.to_text())
    with pytest.raises(tf.errors.InvalidArgumentError, match="`seed` a scalar"):
        op(["a"], [0], config=CONFIG.to_text())
    with pytest.raises(tf.errors.InvalidArgumentError, match="4 GB"):
        op(["a"] * 17, 0, config=ProjectionConfig(feature_size=4096, pad_to=1 << 14).to_text(), dtype=tf.float32)
    with pytest.raises(InputError, match="int8, float32"):
        sequence_projection(["a"], CONFIG, dtype=tf.int16)


def test_a_megabyte_in_one_token_and_an_empty_batch_have_defined_results():
    features, lengths = sequence_projection([b"x" * (1 << 20), b"\xff" * (1 << 20)], CONFIG)
    assert features.shape.as_list() == [2, 1, 16]
    assert lengths.numpy().tolist() == [1, 1]
    features, lengths = sequence_projection(tf.constant([], tf.string), CONFIG)
    assert features.shape.as_list() == [0, 0, 16]
    assert lengths.shape.as_list() == [0]


def test_importing_the_config_the_host_and_the_loaders_imports_no_tensorflow():
    code = (
        "import sys\n"
        "import models_tf.ops.projection.tflite_loader, models_tf.ops.projection.ort_loader\n"
        "import models_tf.ops.projection.library, models_tf.ops.projection\n"
        "sys.exit(any(name in sys.modules for name in ('tensorflow', 'tflite_runtime', 'onnxruntime')))\n"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0
