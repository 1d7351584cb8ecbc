"""The TFLite op in tf.lite, ai-edge-litert and tflite-runtime against the golden file and the host."""

import dataclasses
import sys

import numpy as np
import pytest

from models_tf.errors import InputError
from models_tf.ops.projection import tflite_loader
from models_tf.ops.projection.config import ProjectionConfig
from models_tf.ops.projection.library import HostProjection, as_bytes
from models_tf.ops.projection.tflite_loader import RUNTIMES, Runtime, installed_version, interpreter
from models_tf.ops.projection.tflite_model import CONVERTER_OP_NAME, projection_model
from support.projection_golden import CASES, config_of, features_of, name_of, texts_of
from support.projection_strings import cases
from support.projection_tflite_job import Job, run_job, run_jobs

CONFIG = ProjectionConfig(feature_size=16)
TEXTS = (b"play some music", b"", b"Tomorrow\x00 at \xff seven", "日本語 İstanbul".encode())


@pytest.fixture(params=list(RUNTIMES))
def runtime(request):
    if installed_version(request.param) is None:
        pytest.skip(f"{RUNTIMES[request.param].distribution} is not installed")
    return request.param


def test_every_runtime_gives_the_golden_features(runtime):
    golden = [case for case in CASES if not case["config"].get("distortion")]
    assert len(golden) > 20
    for dtype in ("int8", "float32"):
        jobs = [
            Job(config=config_of(case), texts=tuple(as_bytes(text) for text in texts_of(case)), dtype=dtype)
            for case in golden
        ]
        for case, result in zip(golden, run_jobs(runtime, jobs), strict=True):
            assert not isinstance(result, str), f"{name_of(case)}: {result}"
            features, lengths = result
            assert features.dtype == dtype
            assert lengths.tolist() == case["lengths"], name_of(case)
            expected = np.array(features_of(case, dtype), dtype).reshape(features.shape)
            np.testing.assert_array_equal(features, expected, err_msg=name_of(case))


def test_every_runtime_equals_the_host_on_20000_generated_strings(runtime):
    # Distortion belongs to training and is refused here: those strings run without it.
    shares = [(dataclasses.replace(config, distortion=0.0), tuple(texts)) for _, config, texts in cases()]
    assert sum(len(texts) for _, texts in shares) == 20_000
    results = run_jobs(runtime, [Job(config=config, texts=texts) for config, texts in shares])
    for (config, texts), result in zip(shares, results, strict=True):
        assert not isinstance(result, str), result
        for received, expected in zip(result, HostProjection(config).project(texts), strict=True):
            np.testing.assert_array_equal(received, expected, err_msg=config.to_text())


def test_the_name_that_the_converter_writes_and_a_flexbuffer_around_the_config_are_understood(runtime):
    options = b"config\x00" + bytes([len(CONFIG.to_text())]) + CONFIG.to_text().encode() + b"\x00\x01\x02"
    (result,) = run_jobs(runtime, [Job(config=options, texts=TEXTS, op_name=CONVERTER_OP_NAME)])
    np.testing.assert_array_equal(result[0], HostProjection(CONFIG).project(TEXTS)[0])


def test_the_lengths_are_optional_and_a_padded_output_has_a_static_shape(runtime):
    config = ProjectionConfig(feature_size=16, pad_to=5)
    jobs = [Job(config=config, texts=TEXTS, lengths=False), Job(config=config, texts=())]
    (features,), (no_features, no_lengths) = run_jobs(runtime, jobs)
    np.testing.assert_array_equal(features, HostProjection(config).project(TEXTS)[0])
    assert no_features.shape == (0, 5, 16)
    assert no_lengths.shape == (0,)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (ProjectionConfig(distortion=0.5), "distortion"),
        (b"projection1:feature_size=7", "feature_size"),
        (b"projection1:nonsense=7", "nonsense"),
        (b"no config at all", "config"),
        (b"", "config"),
    ],
)
def test_a_config_that_cannot_run_is_an_error_and_not_an_abort(runtime, options, message):
    (result,) = run_jobs(runtime, [Job(config=options, texts=TEXTS)])
    assert isinstance(result, str)
    assert message in result


def test_an_output_of_many_gigabytes_is_an_error_and_not_an_abort(runtime):
    config = ProjectionConfig(feature_size=4096, pad_to=1 << 14)
    (result,) = run_jobs(runtime, [Job(config=config, texts=["a"] * 17, dtype="float32")])
    assert isinstance(result, str)
    assert "4 GB" in result


def test_a_config_that_asks_for_gigabytes_is_refused(runtime):
    """F11: the op allocated 4 GB for one text."""
    (result,) = run_jobs(runtime, [Job(config=b"projection1:feature_size=4096;pad_to=1048576", texts=["a"])])
    assert isinstance(result, str)
    assert "at most 67108864 (the limit feature_bytes)" in result


def test_two_threads_equal_one(runtime):
    one, two = run_jobs(runtime, [Job(config=CONFIG, texts=TEXTS, num_threads=n) for n in (1, 2)])
    np.testing.assert_array_equal(one[0], two[0])


def test_another_custom_op_is_still_unresolved(runtime):
    (result,) = run_jobs(runtime, [Job(config=CONFIG, texts=TEXTS, op_name="SomebodyElses")])
    assert isinstance(result, str)
    assert "SomebodyElses" in result


def test_an_interpreter_can_be_resized_and_run_again():
    runner = interpreter(projection_model(CONFIG))
    host = HostProjection(CONFIG)
    index = runner.get_input_details()[0]["index"]
    for texts in (TEXTS, TEXTS[:1], TEXTS * 3):
        runner.resize_tensor_input(index, [len(texts)])
        runner.allocate_tensors()
        for batch in (texts, texts[::-1]):
            runner.set_tensor(index, np.array(batch, dtype=object))
            runner.invoke()
            received = runner.get_tensor(runner.get_output_details()[0]["index"])
            np.testing.assert_array_equal(received, host.project(batch)[0])


def forget_litert(monkeypatch, command=None):
    """As if the installed ai-edge-litert were one we have never seen."""
    entry = RUNTIMES["litert"]
    unknown = Runtime(distribution=entry.distribution, module=entry.module, known_versions=("1.999",))
    monkeypatch.setitem(RUNTIMES, "litert", unknown)
    if command is not None:
        monkeypatch.setattr(tflite_loader, "PROBE_COMMAND", command)
    tflite_loader._probe.cache_clear()


@pytest.fixture
def _fresh_probe():
    yield
    tflite_loader._probe.cache_clear()


@pytest.mark.usefixtures("_fresh_probe")
def test_an_unknown_version_that_passes_the_probe_is_used(monkeypatch):
    forget_litert(monkeypatch)
    features, _ = run_job("litert", Job(config=CONFIG, texts=TEXTS))
    np.testing.assert_array_equal(features, HostProjection(CONFIG).project(TEXTS)[0])
    assert tflite_loader._probe.cache_info().misses == 1


@pytest.mark.usefixtures("_fresh_probe")
@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import os; os.abort()", "crashed with signal 6"),
        ("import sys; sys.exit('the features are not those of the host')", "not those of the host"),
    ],
)
def test_an_unknown_version_that_fails_the_probe_is_refused_in_one_line_without_a_crash(monkeypatch, code, message):
    forget_litert(monkeypatch, (sys.executable, "-c", code))
    for _ in range(2):
        with pytest.raises(InputError, match=message) as caught:
            interpreter(projection_model(CONFIG))
        assert "\n" not in str(caught.value)
        assert "ai-edge-litert 1.999.*" in str(caught.value)
    assert tflite_loader._probe.cache_info().misses == 1  # asked once


@pytest.mark.usefixtures("_fresh_probe")
def test_a_probe_that_hangs_is_refused(monkeypatch):
    monkeypatch.setattr(tflite_loader, "PROBE_SECONDS", 0.2)
    forget_litert(monkeypatch, (sys.executable, "-c", "import time; time.sleep(60)"))
    with pytest.raises(InputError, match="without an answer"):
        interpreter(projection_model(CONFIG))


def test_an_unknown_or_missing_runtime_is_refused(monkeypatch):
    with pytest.raises(InputError, match="litert, tensorflow, tflite-runtime"):
        interpreter(b"", runtime="caffe")
    missing = Runtime(distribution="no-such-distribution", module="no_such", known_versions=())
    monkeypatch.setitem(RUNTIMES, "missing", missing)
    with pytest.raises(InputError, match="pip install no-such-distribution"):
        interpreter(b"", runtime="missing")


def test_tflite_runtime_beside_tensorflow_is_refused_instead_of_failing_later(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorflow", sys)
    if installed_version("tflite-runtime") is None:
        pytest.skip("tflite-runtime is not installed")
    with pytest.raises(InputError, match="a process of its own"):
        interpreter(projection_model(CONFIG), runtime="tflite-runtime")
