"""Recipes on .tflite files: numbers against Keras, structure of the files, all runtimes."""

import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest

from quantize.tflite.static import quantize_static
from quantize.tflite.weights import to_float16, to_float32, to_int8_dynamic
from support import tiny_files

VALUES = tiny_files.features(40, seed=9)
# The same arithmetic in another order: float32 rounding of sums of some hundred terms.
FLOAT_ATOL = 1e-4


def made(recipe: str, kind: str) -> bytes:
    content = tiny_files.projection_files(kind).float_tflite
    if recipe == "int8":
        return quantize_static(content, tiny_files.projection_files(kind).tflite_ranges)
    return {"float32": to_float32, "fp16": to_float16, "int8-dynamic": to_int8_dynamic}[recipe](content)


def tolerance(recipe: str, kind: str) -> float:
    """Largest error allowed on a logit, as a share of the range of the logits.

    float16 has a step of 2**-11 of each weight: errors of 17 layers and 40 terms stay under 1/100 of the range. int8
    has a step of 1/255 of a tensor's range and rounds by half of it at each of about 8 stages in a row, 8/510 in the
    worst case; values beyond the calibrated range are clipped: 1/10 in all. A wrong scale gives 1 or more.
    """
    spread = np.ptp(tiny_files.logits(VALUES, kind))
    return float(
        {"float32": FLOAT_ATOL, "fp16": 0.01 * spread, "int8-dynamic": 0.1 * spread, "int8": 0.1 * spread}[recipe]
    )


@pytest.mark.parametrize("kind", tiny_files.KINDS)
@pytest.mark.parametrize("resolver", ["AUTO", "BUILTIN_REF"])
@pytest.mark.parametrize("recipe", ["float32", "fp16", "int8-dynamic", "int8"])
def test_logits_follow_keras(recipe, resolver, kind):
    found = tiny_files.projection_tflite(made(recipe, kind), VALUES, resolver=resolver)
    assert np.abs(found - tiny_files.logits(VALUES, kind)).max() <= tolerance(recipe, kind)


@pytest.mark.parametrize("recipe", ["fp16", "int8-dynamic", "int8"])
def test_quantization_is_not_the_identity(recipe):
    found = tiny_files.projection_tflite(made(recipe, "prado"), VALUES)
    assert np.abs(found - tiny_files.logits(VALUES)).max() > FLOAT_ATOL / 10


RUNTIME_JOB = """
import sys, numpy as np
from tflite_runtime.interpreter import Interpreter
runner = Interpreter(model_path=sys.argv[1], num_threads=1).get_signature_runner()
scale, zero = runner.get_output_details()["logits"]["quantization"]
rows = [runner(features=row[None])["logits"] for row in np.load(sys.argv[2])]
found = np.concatenate(rows)
np.save(sys.argv[3], (found.astype("f") - zero) * scale if found.dtype == np.int8 else found)
"""


@pytest.mark.skipif(find_spec("tflite_runtime") is None, reason="tflite-runtime is not installed")
@pytest.mark.parametrize("recipe", ["float32", "fp16", "int8-dynamic", "int8"])
def test_tflite_runtime_2_14_runs_the_file(recipe, tmp_path):
    (tmp_path / "model.tflite").write_bytes(made(recipe, "prado"))
    np.save(tmp_path / "in.npy", VALUES)
    # A process of its own: after TensorFlow the runtime cannot be imported.
    paths = [str(tmp_path / name) for name in ("model.tflite", "in.npy", "out.npy")]
    subprocess.run([sys.executable, "-c", RUNTIME_JOB, *paths], check=True, capture_output=True)
    found = np.load(tmp_path / "out.npy")
    assert np.abs(found - tiny_files.logits(VALUES)).max() <= tolerance(recipe, "prado")


def test_conversion_is_repeatable():
    again = tiny_files.projection_files.__wrapped__()
    assert again.float_tflite == tiny_files.projection_files().float_tflite


def test_a_clipped_range_shows_in_the_logits():
    """The ranges given are the ranges used: the tests above would not notice ranges that are ignored."""
    ranges = tiny_files.projection_files().tflite_ranges
    low, high = ranges.ranges["logits"]
    clipped = quantize_static(
        tiny_files.projection_files().float_tflite, ranges.override({"logits": (low / 4, high / 4)})
    )
    found = tiny_files.projection_tflite(clipped, VALUES)
    step = (high - low) / 4 / 255
    assert found.min() >= low / 4 - step
    assert found.max() <= high / 4 + step


def test_the_overhead_of_a_full_size_model_stays_below_15_kilobytes():
    """7 branches of 32 channels twice, 64 wide, 150 labels: the shape of the CLINC150 model."""
    import tf_keras as keras

    from exporters.formats.base import get
    from exporters.formats.graph import trace
    from exporters.formats.tflite.convert import to_tflite
    from models_tf.ops.projection.config import ProjectionConfig
    from models_tf.prado.config import PradoConfig
    from models_tf.prado.model import Prado
    from quantize.tflite.calibrate import calibrate

    keras.utils.set_random_seed(0)
    model = Prado(PradoConfig(num_labels=150, projection=ProjectionConfig(feature_size=32, presence_feature=True)))
    content = to_tflite(trace(model.features_to_logits, {"features": ((1, 12, 32), "int8")}))
    int8 = quantize_static(content, calibrate(content, tiny_files.feature_rows(tiny_files.features(4))))
    assert get("tflite").open(int8).overhead_bytes <= 15 * 1024


@pytest.mark.parametrize("recipe", ["float32", "fp16", "int8-dynamic", "int8"])
def test_a_batched_signature_gives_what_single_rows_give(recipe):
    from quantize.tflite.flatbuffer import read_model, write_model
    from quantize.tflite.passes.merge_signatures import merge_signatures

    batched = tiny_files.projection_files(batch=5).float_tflite
    if recipe == "int8":
        batched = quantize_static(batched, tiny_files.projection_files().tflite_ranges)
    else:
        batched = {"float32": to_float32, "fp16": to_float16, "int8-dynamic": to_int8_dynamic}[recipe](batched)
    merged = write_model(
        merge_signatures({"serving_default": read_model(made(recipe, "prado")), "batch_5": read_model(batched)})
    )
    single = tiny_files.projection_tflite(merged, VALUES, signature="serving_default")
    together = tiny_files.projection_tflite(merged, VALUES, signature="batch_5")
    # Integers agree exactly; floats up to the order of sums. A dynamic scale over all rows would be off by far more.
    assert np.abs(single - together).max() <= (0 if recipe == "int8" else FLOAT_ATOL)
