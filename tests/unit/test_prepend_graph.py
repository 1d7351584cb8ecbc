"""A graph in front of a model, and what is put behind its logits: in both formats, on tiny models."""

import copy
import dataclasses
import functools

import numpy as np
import onnx
import pytest

from exporters.anatomy.run import anatomy
from exporters.bytes_in.settings import BytesIn
from exporters.formats.base import get
from exporters.formats.onnx.bytes_in import bytes_in_model as onnx_front
from exporters.formats.onnx.runner import OnnxRunner
from exporters.formats.tflite import runner as tflite_runner
from exporters.formats.tflite.bytes_in import bytes_in_model as tflite_front
from models_tf.ops.projection.library import HostProjection
from quantize.onnx.passes.label_outputs import label_outputs as onnx_label_outputs
from quantize.onnx.passes.prepend_graph import prepend_graph as onnx_prepend_graph
from quantize.tflite.flatbuffer import read_model, write_model
from quantize.tflite.graph import called_graphs, op_name, schema, tensor_name
from quantize.tflite.passes.compact import compact
from quantize.tflite.passes.float_outputs import float_outputs
from quantize.tflite.passes.label_outputs import label_outputs
from quantize.tflite.passes.prepend_graph import prepend_graph
from support import tiny_files

CONFIG = dataclasses.replace(
    tiny_files.projection().config.projection, pad_to=tiny_files.TEXT_LENGTH, max_bytes=64, distortion=0.0
)
TEXTS = [
    b"",
    b"play some jazz, please",
    "Où est le CAFÉ 日本 🎵".encode(),
    b"broken \xff\xfe utf8 \xe6\x97",
    b"a\x00b\x00\x00",
    b"many words " * 30,
]


@functools.cache
def front() -> BytesIn:
    return BytesIn(config=CONFIG)


@functools.cache
def features() -> np.ndarray:
    return HostProjection(CONFIG).project(TEXTS)[0]


def joined(recipe: str) -> object:
    model = read_model(tiny_files.projection_files().tflite(recipe))
    prepend_graph(model, tflite_front(front()))
    return model


def run(model: object) -> dict[str, np.ndarray]:
    runner = tflite_runner.TfliteRunner(write_model(model), name="x", inputs=("text",))
    return runner({"text": TEXTS})


def expected(recipe: str) -> np.ndarray:
    content = tiny_files.projection_files().tflite(recipe)
    return tflite_runner.TfliteRunner(content, name="x", inputs=("features",), padded=True)({"features": features()})[
        "logits"
    ]


@pytest.mark.parametrize("recipe", ["float32", "fp16", "int8-dynamic", "int8", "int8-full"])
def test_tflite_with_the_bytes_in_front_answers_what_the_features_do_to_the_last_bit(recipe):
    np.testing.assert_array_equal(run(joined(recipe))["logits"], expected(recipe))


def test_the_joined_tflite_model_has_one_signature_that_takes_text_and_keeps_the_scale_of_the_features():
    before, model = read_model(tiny_files.projection_files().tflite("int8")), joined("int8")
    graph, (signature,) = model.subgraphs[0], model.signatureDefs
    text = graph.tensors[graph.inputs[0]]
    assert (tensor_name(text), text.type, list(text.shape)) == ("text", schema.TensorType.UINT8, [1, 64])
    assert [(entry.name, entry.tensorIndex) for entry in signature.inputs] == [("text", graph.inputs[0])]
    own = graph.tensors[before.subgraphs[0].inputs[0]]
    assert (list(own.quantization.scale), list(own.quantization.zeroPoint)) == ([1.0], [0])
    names = [op_name(before, operator) for operator in before.subgraphs[0].operators]
    assert [op_name(model, operator) for operator in graph.operators][-len(names) :] == names
    assert called_graphs(model) == set(range(1, len(model.subgraphs)))


def test_a_compact_joined_model_without_names_has_those_of_its_ends_alone():
    model = joined("int8")
    compact(model, names=False)
    graph = model.subgraphs[0]
    assert {tensor_name(tensor) for part in model.subgraphs for tensor in part.tensors} == {"", "text", "logits"}
    assert tensor_name(graph.tensors[graph.inputs[0]]) == "text"
    np.testing.assert_array_equal(run(model)["logits"], expected("int8"))


def test_the_given_front_stays_as_it_is():
    one = tflite_front(front())
    before = write_model(one)
    prepend_graph(read_model(tiny_files.projection_files().tflite("int8")), one)
    assert write_model(one) == before


def test_a_front_of_another_shape_and_one_that_calls_a_missing_graph_are_refused():
    other = BytesIn(config=dataclasses.replace(CONFIG, pad_to=3))
    model = read_model(tiny_files.projection_files().tflite("int8"))
    with pytest.raises(ValueError, match=rf"must make int8 \[1, {tiny_files.TEXT_LENGTH}, .*Received: .*\[1, 3, "):
        prepend_graph(model, tflite_front(other))
    broken = copy.deepcopy(tflite_front(front()))
    del broken.subgraphs[1:]
    with pytest.raises(ValueError, match=r"an operator calls graph \d+ of 1\."):
        prepend_graph(model, broken)


def test_a_front_cannot_be_put_in_front_twice():
    with pytest.raises(ValueError, match="one signature was expected"):
        prepend_graph(joined("int8"), tflite_front(front()))


def test_float_outputs_are_the_int8_ones_times_their_scale_and_float_files_stay():
    model = joined("int8")
    float_outputs(model)
    graph = model.subgraphs[0]
    assert op_name(model, graph.operators[-1]) == "DEQUANTIZE"
    details = [(tensor_name(graph.tensors[i]), graph.tensors[i].type) for i in graph.outputs]
    assert details == [("logits", schema.TensorType.FLOAT32)]
    np.testing.assert_array_equal(run(model)["logits"], expected("int8"))
    plain = joined("float32")
    before = write_model(plain)
    float_outputs(plain)
    assert write_model(plain) == before


def softmax(logits: np.ndarray) -> np.ndarray:
    shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
    return shifted / shifted.sum(axis=1, keepdims=True)


def sigmoid(logits: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-logits))


@pytest.mark.parametrize(("multi_label", "activation"), [(False, softmax), (True, sigmoid)])
@pytest.mark.parametrize("target", ["tflite", "onnx"])
def test_labels_are_probabilities_and_the_place_of_the_best(target, multi_label, activation):
    if target == "tflite":
        model = joined("int8")
        float_outputs(model)
        label_outputs(model, multi_label=multi_label)
        outputs, content = run(model), write_model(model)
    else:
        model = onnx_prepend_graph(tiny_files.projection_files().onnx("int8"), onnx_front(front()))
        content = onnx_label_outputs(model, multi_label=multi_label).SerializeToString()
        outputs = OnnxRunner(content, name="x", inputs=("text",))({"text": TEXTS})
    (signature,) = get(target).open(content).signatures.values()
    shown = [(info.name, info.dtype.replace("float32", "float"), len(info.shape)) for info in signature.outputs]
    assert shown == [("logits", "float", 2), ("probabilities", "float", 2), ("label", "int32", 1)]
    np.testing.assert_allclose(outputs["probabilities"], activation(outputs["logits"].astype(np.float64)), atol=1e-6)
    assert outputs["label"].tolist() == outputs["logits"].argmax(axis=1).tolist()


def test_labels_need_one_float_output():
    with pytest.raises(ValueError, match="one float output"):
        label_outputs(joined("int8"), multi_label=False)


@pytest.mark.parametrize("recipe", ["float32", "fp16", "int8-dynamic", "int8"])
def test_onnx_with_the_bytes_in_front_answers_what_the_features_do_to_the_last_bit(recipe):
    model = tiny_files.projection_files().onnx(recipe)
    wanted = OnnxRunner(model.SerializeToString(), name="x", inputs=("features",), rows=1, padded=True)
    content = onnx_prepend_graph(model, onnx_front(front())).SerializeToString()
    found = OnnxRunner(content, name="x", inputs=("text",))({"text": TEXTS})
    np.testing.assert_array_equal(found["logits"], wanted({"features": features()})["logits"])


def renamed(model: onnx.ModelProto, prefix: str) -> onnx.ModelProto:
    """The model with the names of the front: all of them collide."""
    result = onnx.ModelProto()
    result.CopyFrom(model)
    outer = {value.name for value in (*result.graph.input, *result.graph.output)}
    numbers: dict[str, str] = {}

    def name(old: str) -> str:
        return old if not old or old in outer else numbers.setdefault(old, f"{prefix}{len(numbers) + 1}")

    for item in result.graph.initializer:
        item.name = name(item.name)
    for node in result.graph.node:
        node.input[:] = map(name, node.input)
        node.output[:] = map(name, node.output)
    return result


def test_names_of_the_front_that_the_model_has_as_well_get_a_prefix():
    model = renamed(tiny_files.projection_files().onnx("int8"), "b")
    made = onnx_front(front())
    assert {item.name for item in model.graph.initializer} & {item.name for item in made.graph.initializer}
    both = onnx_prepend_graph(model, made)
    onnx.checker.check_model(both, full_check=True)
    wanted = OnnxRunner(model.SerializeToString(), name="x", inputs=("features",), rows=1, padded=True)
    found = OnnxRunner(both.SerializeToString(), name="x", inputs=("text",))({"text": TEXTS})
    np.testing.assert_array_equal(found["logits"], wanted({"features": features()})["logits"])


def test_the_joined_onnx_model_is_of_opset_21_and_answers_one_row():
    both = onnx_prepend_graph(tiny_files.projection_files().onnx("int8"), onnx_front(front()))
    assert {entry.domain: entry.version for entry in both.opset_import} == {"": 21}
    (given,), (answer,) = both.graph.input, both.graph.output
    assert (given.name, given.type.tensor_type.elem_type) == ("text", onnx.TensorProto.UINT8)
    assert answer.type.tensor_type.shape.dim[0].dim_value == 1
    assert "max_length" not in [item.key for item in both.metadata_props]


def test_an_onnx_front_of_another_opset_or_shape_is_refused():
    model, other = tiny_files.projection_files().onnx("int8"), onnx_front(front())
    other.opset_import[0].version = 20
    with pytest.raises(ValueError, match=r"opset of the model.*Received: \{'': 20\}"):
        onnx_prepend_graph(model, other)
    narrow = BytesIn(config=dataclasses.replace(CONFIG, feature_size=CONFIG.feature_size // 2))
    with pytest.raises(ValueError, match="must make int8 features"):
        onnx_prepend_graph(model, onnx_front(narrow))


def test_a_file_that_takes_bytes_runs_in_a_runtime_that_does_not_know_the_projection_op(monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("the op was loaded")

    monkeypatch.setattr(tflite_runner.tflite_loader, "interpreter", refuse)
    run(joined("int8"))


@pytest.mark.parametrize("target", ["tflite", "onnx"])
def test_an_inspection_shows_what_reads_the_bytes_as_one_layer_that_holds_no_weights(target):
    if target == "tflite":
        content = write_model(joined("int8"))
    else:
        content = onnx_prepend_graph(
            tiny_files.projection_files().onnx("int8"), onnx_front(front())
        ).SerializeToString()
    plain = {"tflite": tiny_files.projection_files().tflite, "onnx": tiny_files.projection_files().onnx}[target]("int8")
    before = get(target).open(plain if target == "tflite" else plain.SerializeToString())
    after = get(target).open(content)
    assert (after.parameters, after.zero_share()) == (before.parameters, before.zero_share())
    found, own = anatomy(after, runtime=False), anatomy(before, runtime=False)
    assert found.layers["from bytes to features"] > 1000
    assert found.weights == own.weights
    assert found.quantized == own.quantized
