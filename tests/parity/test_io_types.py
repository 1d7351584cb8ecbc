"""`--io`: files that take features and answer in other types, in every recipe of both formats. Not a bit changes."""

import dataclasses
import functools
from collections import Counter

import numpy as np
import pytest

from exporters.anatomy.partitions import runtime_plan
from exporters.bytes_in.settings import BytesIn
from exporters.formats import artifacts, base
from exporters.formats.graph import BytesGraph, Graph
from exporters.formats.tensor_names import INPUTS, SIGNATURE
from models_tf.ops.projection.library import HostProjection
from models_tf.spec import TensorSpec
from quantize.recipe import RECIPES
from support import litert_js, tiny_files
from support.conversions import EVERYWHERE

CONFIG = dataclasses.replace(
    tiny_files.projection().config.projection, pad_to=tiny_files.TEXT_LENGTH, max_bytes=64, distortion=0.0
)
TEXTS = [b"", b"play some jazz, please", "Où est le CAFÉ 日本 🎵".encode(), b"many words " * 30]
BATCH = "batch_2"
PLACES = [("tflite", recipe) for recipe in (*EVERYWHERE, "int8-full")] + [("onnx", recipe) for recipe in EVERYWHERE]
WIDE = ("float32", "int32")


@functools.cache
def feed() -> dict:
    features = HostProjection(CONFIG).project(TEXTS)[0].copy()
    # Whole numbers of all sizes, not only those that a projection makes.
    features[1] = np.random.default_rng(0).integers(-128, 128, features[1].shape)
    return {"features": features, "text": TEXTS}


@functools.cache
def converted(target: str) -> artifacts.Converted:
    made = tiny_files.projection()
    graph = Graph(
        name="features",
        function=made.features_to_logits,
        inputs=(TensorSpec(name="features", shape=(CONFIG.pad_to, CONFIG.feature_size), dtype="int8"),),
        signatures={SIGNATURE: 1, BATCH: 2},
        projection=CONFIG.to_text(),
        bytes_in=BytesGraph(front=BytesIn(config=CONFIG)),
        any_length=made.any_length,
    )
    return artifacts.convert(graph, base.get(target))


@functools.cache
def made(target: str, recipe: str, io: str | None = None) -> dict:
    source = converted(target)
    source = dataclasses.replace(source, graph=dataclasses.replace(source.graph, io=io))
    rows = functools.partial(tiny_files.feature_rows, tiny_files.features(tiny_files.CALIBRATION_ROWS))
    return {one.graph: base.get(target).open(one.content) for one in source.quantize(RECIPES[recipe], rows)}


def run(target: str, file, graph: str, **options) -> np.ndarray:
    return base.get(target).runner(file, inputs=INPUTS[graph], rows=1, **options)(feed())["logits"]


@pytest.mark.slow
@pytest.mark.parametrize("io", WIDE)
@pytest.mark.parametrize(("target", "recipe"), PLACES)
def test_every_file_answers_the_same_to_the_last_bit(target, recipe, io):
    usual, files = made(target, recipe), made(target, recipe, io)
    assert [*usual] == [*files] == ["bytes", "features", "text"]
    for graph, file in files.items():
        np.testing.assert_array_equal(run(target, file, graph), run(target, usual[graph], graph), err_msg=graph)
        for signature in [*file.signatures][1:]:
            of_batch = [run(target, one, graph, signature=signature) for one in (file, usual[graph])]
            np.testing.assert_array_equal(*of_batch, err_msg=signature)


def kind(info) -> str:
    """ONNX has another name for it."""
    return "float32" if info.dtype == "float" else info.dtype


@pytest.mark.parametrize("io", WIDE)
@pytest.mark.parametrize(("target", "recipe"), PLACES)
def test_the_files_have_the_types_and_keep_names_shapes_and_recipe(target, recipe, io):
    usual, files = made(target, recipe), made(target, recipe, io)
    for graph, file in files.items():
        assert file.audit(RECIPES[recipe]) == []
        for name, signature in file.signatures.items():
            before = usual[graph].signatures[name]
            (given,), (answer,) = signature.inputs, signature.outputs
            wanted = io if graph == "features" else before.inputs[0].dtype
            assert (kind(given), given.scale, kind(answer), answer.scale) == (wanted, None, "float32", None)
            assert (given.name, given.shape) == (before.inputs[0].name, before.inputs[0].shape)
            assert (answer.name, answer.shape) == (before.outputs[0].name, before.outputs[0].shape)


@pytest.mark.parametrize("io", WIDE)
@pytest.mark.parametrize("recipe", [*EVERYWHERE, "int8-full"])
def test_only_border_operators_are_added_and_xnnpack_takes_as_many_pieces(recipe, io):
    usual, file = made("tflite", recipe)["features"], made("tflite", recipe, io)["features"]
    added, gone = Counter(file.ops) - Counter(usual.ops), Counter(usual.ops) - Counter(file.ops)
    if RECIPES[recipe].needs_calibration:
        assert added == {"QUANTIZE" if io == "float32" else "CAST": 1, "DEQUANTIZE": 1}
        assert not gone
    else:
        assert not added
        assert gone == ({"CAST": 1} if io == "float32" else {})
    before, after = (runtime_plan(one) for one in (usual, file))
    assert after.partitions <= before.partitions
    # One operator each in two signatures, a tensor beside it, and their entries.
    assert file.size_bytes - usual.size_bytes <= 1024


@pytest.mark.parametrize("recipe", ["int8", "int8-full"])
def test_int8_answers_are_those_of_the_usual_files_and_bytes_in_files_have_them_too(recipe):
    usual, files = made("tflite", recipe), made("tflite", recipe, "int8")
    for graph, file in files.items():
        (answer,) = file.signatures[SIGNATURE].outputs
        assert answer.dtype == "int8"
        assert answer.scale is not None
        assert file.audit(RECIPES[recipe]) == []
        np.testing.assert_array_equal(run("tflite", file, graph), run("tflite", usual[graph], graph))
    assert files["features"].content == usual["features"].content


def test_files_that_have_the_types_already_are_the_same_bytes():
    """Ids are int32 whatever the type, and answers of these recipes are float32."""
    files = tiny_files.files("mobilebert")
    for recipe in ("float32", "int4", "int8-dynamic"):
        (made_here,) = quantized_tokens(recipe, "float32")
        assert made_here.content == files.tflite(recipe)


@functools.cache
def token_source() -> artifacts.Converted:
    network = tiny_files.graph("mobilebert")
    graph = Graph(name="model", function=network, inputs=network.inputs, any_length=network.any_length)
    return artifacts.convert(graph, base.get("tflite"))


def quantized_tokens(recipe: str, io: str | None) -> list:
    source = token_source()
    source = dataclasses.replace(source, graph=dataclasses.replace(source.graph, io=io))
    return source.quantize(RECIPES[recipe], tiny_files.calibration)


@pytest.mark.parametrize("recipe", ["int8", "int8-full"])
def test_answers_of_a_token_model_become_float_and_no_bit_changes(recipe):
    rows, names = tiny_files.inputs(8), ("ids", "mask", "segments")
    (usual,), (wide,) = quantized_tokens(recipe, None), quantized_tokens(recipe, "float32")
    files = [base.get("tflite").open(one.content) for one in (usual, wide)]
    answers = [base.get("tflite").runner(file, inputs=names)(rows)["logits"] for file in files]
    np.testing.assert_array_equal(*answers)
    (before,), (after,) = (file.signatures[SIGNATURE].outputs for file in files)
    assert (before.dtype, after.dtype) == ("int8", "float32")
    assert {info.dtype for info in files[1].signatures[SIGNATURE].inputs} == {"int32"}
    assert files[1].any_length
    assert files[1].audit(RECIPES[recipe]) == []


@pytest.mark.exhaustive
@pytest.mark.skipif(bool(litert_js.missing()), reason=f"needs {litert_js.missing()}")
class TestLiteRtJs:
    """It takes float32, int32 and uint8 at the border, and no int8. A recipe that has another form is no use there."""

    @pytest.mark.parametrize(
        ("recipe", "io"), [*((recipe, "float32") for recipe in (*EVERYWHERE, "int8-full")), ("int8", "int32")]
    )
    def test_it_loads_features_in_files_of_every_recipe(self, recipe, io, tmp_path):
        file = made("tflite", recipe, io)["features"]
        rows = feed()["features"].astype(io)
        found = litert_js.answers(file.content, {"features": rows}, tmp_path).reshape(len(rows), -1)
        expected = run("tflite", file, "features", padded=True)
        # Kernels of another processor may round a value on the edge of two steps of int8 otherwise.
        assert np.abs(found - expected).max() <= 0.02 * np.ptp(expected)

    @pytest.mark.parametrize("recipe", ["float32", "fp16", "int4", "int8-dynamic", "int8", "int8-full"])
    def test_it_loads_token_models_of_every_recipe(self, recipe, tmp_path):
        (wide,) = quantized_tokens(recipe, "float32")
        rows = tiny_files.inputs(4)
        found = litert_js.answers(wide.content, rows, tmp_path).reshape(4, -1)
        runner = base.get("tflite").runner(base.get("tflite").open(wide.content), inputs=tuple(rows), padded=True)
        expected = runner(rows)["logits"]
        assert np.abs(found - expected).max() <= 0.02 * np.ptp(expected)

    def test_it_refuses_the_usual_form_of_int8(self, tmp_path):
        with pytest.raises(litert_js.RefusedError, match="INT8"):
            litert_js.answers(made("tflite", "int8")["features"].content, {"features": feed()["features"]}, tmp_path)
