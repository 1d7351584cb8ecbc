"""Numbers of an inspection, for files that other tools wrote, compared with what the libraries' own readers say."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from exporters.anatomy.run import anatomy
from exporters.formats.base import get
from exporters.formats.model_file import MIN_WEIGHT_ELEMENTS
from support import foreign_files, foreign_onnx

pytestmark = pytest.mark.exhaustive  # makes a file with every tool
ONNX_TYPES = {"float": "float32", "double": "float64"}


def inspected(name: str, *, runtime: bool = False) -> Any:
    kind = "onnx" if name in foreign_files.ONNX_NAMES else "tflite"
    return anatomy(get(kind).open(foreign_files.made(name)), runtime=runtime)


def tensorflow_model(name: str) -> Any:
    """The file in TensorFlow's own schema."""
    from tensorflow.lite.python import schema_py_generated as schema

    return schema.ModelT.InitFromObj(schema.Model.GetRootAs(foreign_files.made(name), 0))


def interpreter(name: str) -> Any:
    import tensorflow as tf

    plain = tf.lite.experimental.OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    return tf.lite.Interpreter(model_content=foreign_files.made(name), experimental_op_resolver_type=plain)


def tflite_types() -> dict[int, str]:
    from tensorflow.lite.python import schema_py_generated as schema

    return {value: key.lower() for key, value in vars(schema.TensorType).items() if isinstance(value, int)}


def constants(model: Any) -> dict[int, tuple[Any, int]]:
    """By buffer: a tensor that has it, and how many bytes it has."""
    return {
        tensor.buffer: (tensor, size)
        for graph in model.subgraphs
        for tensor in graph.tensors
        # Some writers keep the data behind the tables.
        for stored in [model.buffers[tensor.buffer]]
        for size in [stored.size if stored.data is None else len(stored.data)]
        if size
    }


@pytest.mark.parametrize("name", [*foreign_files.TFLITE_NAMES, *foreign_files.ONNX_NAMES])
def test_the_bytes_of_every_file_add_up(name):
    found = inspected(name)
    of_kinds = sum(kind.size_bytes for kind in found.kinds)
    assert found.size_bytes == len(foreign_files.made(name))
    assert of_kinds + found.metadata_bytes + found.structure_bytes == found.size_bytes
    assert sum(found.layers.values()) == of_kinds
    assert sum(found.weights.values()) == sum(kind.weight_bytes for kind in found.kinds)
    assert 0 < found.structure_bytes <= found.size_bytes


@pytest.mark.parametrize("name", foreign_files.TFLITE_NAMES)
def test_operators_of_a_tflite_file_are_those_of_tensorflows_schema(name):
    from tensorflow.lite.python import schema_py_generated as schema

    names = {value: key for key, value in vars(schema.BuiltinOperator).items() if isinstance(value, int)}
    model = tensorflow_model(name)

    def called(operator: Any) -> str:
        code = model.operatorCodes[operator.opcodeIndex]
        number = max(code.builtinCode, code.deprecatedBuiltinCode)
        return code.customCode.decode() if names[number] == "CUSTOM" else names[number]

    expected = [dict(Counter(map(called, graph.operators))) for graph in model.subgraphs]
    assert [graph.operators for graph in inspected(name).graphs] == expected


@pytest.mark.parametrize("name", foreign_files.TFLITE_NAMES)
def test_bytes_by_type_of_a_tflite_file_are_those_of_tensorflows_schema(name):
    types, sizes = tflite_types(), Counter[str]()
    weights = Counter[str]()
    for tensor, size in constants(tensorflow_model(name)).values():
        sizes[types[tensor.type]] += size
        shape = tensor.shape if tensor.shape is not None else []
        large = len(shape) > 1 and int(np.prod(shape)) >= MIN_WEIGHT_ELEMENTS
        if large and types[tensor.type] not in ("int32", "int64", "bool"):
            weights[types[tensor.type]] += size
    found = inspected(name)
    assert {kind.dtype: kind.size_bytes for kind in found.kinds} == sizes
    assert found.weights == weights
    whole = sum(size for kind, size in weights.items() if "float" not in kind)
    if weights:
        assert found.quantized_share == pytest.approx(whole / weights.total())
    else:
        assert found.quantized_share is None


@pytest.mark.parametrize("name", [n for n in foreign_files.TFLITE_NAMES if n not in ("tflite_flex", "tflite_custom")])
def test_signatures_of_a_tflite_file_are_those_of_its_interpreter(name):
    reader, found = interpreter(name), inspected(name)
    listed = reader.get_signature_list()
    assert list(found.signatures) == list(listed or ["main"])
    for key, signature in found.signatures.items():
        owner = reader.get_signature_runner(key) if listed else reader
        for side, infos in (
            (owner.get_input_details(), signature.inputs),
            (owner.get_output_details(), signature.outputs),
        ):
            details = side if listed else {each["name"]: each for each in side}
            assert sorted(info.name for info in infos) == sorted(details)
            for info in infos:
                expected = details[info.name]
                assert info.shape == tuple(expected["shape_signature"])
                assert info.dtype == np.dtype(expected["dtype"]).name
                scale, zero_point = expected["quantization"]
                assert (info.scale or 0.0, info.zero_point) == (pytest.approx(scale), zero_point)


@pytest.mark.parametrize("name", foreign_files.TFLITE_NAMES)
def test_zero_points_of_tflite_weights_are_those_of_tensorflows_schema(name):
    groups = Counter[tuple[str, str, bool]]()
    types = tflite_types()
    for tensor, _ in constants(tensorflow_model(name)).values():
        shape = tensor.shape if tensor.shape is not None else []
        quantization = tensor.quantization
        if types[tensor.type] not in ("int8", "int4") or len(shape) < 2 or np.prod(shape) < MIN_WEIGHT_ELEMENTS:
            continue
        if quantization.scale is None or not len(quantization.scale):
            continue
        spread = "per tensor" if len(quantization.scale) == 1 else "per channel"
        groups[types[tensor.type], spread, not np.any(quantization.zeroPoint)] += 1
    found = inspected(name).quantized
    assert {(each.dtype, each.granularity, each.symmetric): each.count for each in found} == groups


def test_the_interpreter_counts_the_same_operators_as_we_do():
    reader = interpreter("tflite_words_int8")
    assert Counter(node["op_name"] for node in reader._get_ops_details()) == dict(
        inspected("tflite_words_int8").graphs[0].operators
    )


@pytest.mark.parametrize(
    ("name", "scheme"),
    [
        ("tflite_float", "float32 weights, not quantized"),
        ("tflite_dynamic", "int8 weights, activations quantized while running (dynamic)"),
        ("tflite_fp16", "float16 weights, not quantized"),
        ("tflite_int8", "int8 weights, int8 activations (static)"),
        ("tflite_int16x8", "int8 weights, int16 activations (static)"),
        ("aeq_dynamic_wi4", "int4 weights, activations quantized while running (dynamic)"),
        ("aeq_weight_only_wi8", "int8 weights, float activations (weights only)"),
        ("aeq_weight_only_wi4", "int4 weights, float activations (weights only)"),
        ("aeq_static_wi8_ai8", "int8 weights, int8 activations (static)"),
        ("aeq_static_wi8_ai16", "int8 weights, int16 activations (static)"),
        ("torch_script", "float32 weights, not quantized"),
        ("ort_dynamic", "int8 and uint8 weights, activations quantized while running (dynamic)"),
        ("ort_static_qdq", "int8 weights, int8 activations (static)"),
        ("ort_static_uint8", "uint8 weights, uint8 activations (static)"),
        ("ort_static_int16", "int16 and int8 weights, int16 activations (static)"),
        ("ort_int4", "int4 weights, float activations (weights only)"),
        ("ort_int4_asymmetric", "uint4 weights, float activations (weights only)"),
        ("ort_int4_qdq", "int4 weights, float activations (weights only)"),
        ("ort_fp16", "float16 weights, not quantized"),
    ],
)
def test_the_scheme_of_each_tool_is_named(name, scheme):
    assert inspected(name).scheme == scheme


@pytest.mark.parametrize("name", foreign_files.ONNX_NAMES)
def test_operators_opsets_and_interface_of_an_onnx_file_are_those_of_the_library(name):
    model, found = onnx.load_from_string(foreign_files.made(name)), inspected(name)
    expected = Counter(
        node.op_type if node.domain in ("", "ai.onnx") else f"{node.domain}.{node.op_type}" for node in model.graph.node
    )
    assert found.graphs[0].operators == expected
    assert found.facts["ir_version"] == model.ir_version
    assert found.facts["opsets"] == {entry.domain or "ai.onnx": entry.version for entry in model.opset_import}
    (signature,) = found.signatures.values()
    for infos, values in ((signature.inputs, model.graph.input), (signature.outputs, model.graph.output)):
        assert [info.name for info in infos] == [value.name for value in values]
        for info, value in zip(infos, values, strict=True):
            kind = value.type.tensor_type
            dtype = onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type).name
            assert (info.dtype, info.shape) == (dtype, tuple(d.dim_param or d.dim_value for d in kind.shape.dim))


@pytest.mark.parametrize("name", foreign_files.ONNX_NAMES)
def test_bytes_by_type_of_an_onnx_file_are_those_of_the_library(name):
    sizes = Counter[str]()
    four_bits = set[str]()

    def walk(graph: Any) -> None:
        for node in graph.node:
            if node.op_type == "MatMulNBits":
                four_bits.add(node.input[1])
        tensors = [(item.name, item) for item in graph.initializer]
        for node in graph.node:
            for attribute in node.attribute:
                if attribute.type == onnx.AttributeProto.GRAPH:
                    walk(attribute.g)
                elif node.op_type == "Constant" and attribute.type == onnx.AttributeProto.TENSOR:
                    tensors.append((node.output[0], attribute.t))
        for key, item in tensors:
            dtype = onnx.TensorProto.DataType.Name(item.data_type).lower()
            bits = 4 if dtype in ("int4", "uint4") else onnx.numpy_helper.to_array(item).itemsize * 8
            size = (int(np.prod(item.dims)) * bits + 7) // 8
            if not item.raw_data:  # as numbers of variable length
                bare = onnx.TensorProto.FromString(item.SerializeToString())
                for field in ("float_data", "int32_data", "int64_data", "double_data", "uint64_data", "string_data"):
                    bare.ClearField(field)
                size = len(item.SerializeToString()) - len(bare.SerializeToString())
            if key in four_bits:
                dtype = "uint4" if name == "ort_int4_asymmetric" else "int4"
            sizes[ONNX_TYPES.get(dtype, dtype)] += size

    walk(onnx.load_from_string(foreign_files.made(name)).graph)
    assert {kind.dtype: kind.size_bytes for kind in inspected(name).kinds} == {k: v for k, v in sizes.items() if v}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        # The table has one scale and unsigned numbers whatever is asked for.
        ("ort_dynamic", {("int8", "per tensor"), ("uint8", "per tensor")}),
        ("ort_dynamic_channels", {("int8", "per channel"), ("uint8", "per tensor")}),
        ("ort_static_qdq", {("int8", "per channel"), ("int8", "per tensor")}),
        ("ort_static_qoperator", {("int8", "per tensor")}),
        ("ort_int4", {("int4", "per block")}),
        ("ort_int4_asymmetric", {("uint4", "per block")}),
        ("ort_int4_qdq", {("int4", "per block")}),
    ],
)
def test_how_onnx_weights_are_quantized(name, expected):
    assert {(each.dtype, each.granularity) for each in inspected(name).quantized} == expected


def test_zero_points_of_onnx_weights_are_those_of_the_file():
    model = onnx.load_from_string(foreign_files.made("ort_static_uint8"))
    stored = {item.name: onnx.numpy_helper.to_array(item) for item in model.graph.initializer}
    points = [
        int(stored[node.input[2]].flat[0])
        for node in model.graph.node
        if node.op_type == "DequantizeLinear"
        and node.input[0] in stored
        and stored[node.input[0]].ndim > 1
        and stored[node.input[0]].size >= MIN_WEIGHT_ELEMENTS
    ]
    found = inspected("ort_static_uint8").quantized
    assert sum(each.count for each in found) == len(points)
    assert min(each.lowest_zero_point for each in found) == min(points)
    assert max(each.highest_zero_point for each in found) == max(points)
    assert sum(each.count for each in found if each.symmetric) == sum(point == 128 for point in points)
    assert inspected("ort_int4").quantized[0].symmetric
    assert not inspected("ort_int4_asymmetric").quantized[0].symmetric


def test_names_of_pytorch_give_layers_by_number():
    assert {"layer 0", "layer 1", "table", "logits"} <= set(inspected("torch_script").layers)
    sizes = inspected("torch_dynamo").layers
    assert {"layer 0", "layer 1", "table", "logits"} <= set(sizes)
    assert sizes["table"] == 4 * foreign_onnx.WORDS * foreign_onnx.WIDTH
    block = 4 * (3 * (32 + 1) * 32 + 2 * 32 + (32 + 1) * 64 + (64 + 1) * 32)
    assert sizes["layer 1"] == block


def test_names_of_keras_give_layers_by_name():
    sizes = inspected("tflite_float").layers
    assert {"first", "depthwise", "second", "hidden", "logits"} <= set(sizes)
    assert sizes["hidden"] == 4 * (12 * 12 * 32 + 1) * 64


def test_weights_left_in_float_are_named_with_their_reader():
    # Its dynamic recipe quantizes products only: the embedding stays as it was.
    (row,) = [each for each in inspected("aeq_words_dynamic_wi8").float_weights if each.operator == "GATHER"]
    assert (row.count, row.size_bytes, row.reason) == (1, 4 * foreign_onnx.WORDS * foreign_onnx.WIDTH, "")
    assert inspected("tflite_float").float_weights == ()


def test_weights_in_a_file_beside_the_model_are_read(tmp_path):
    path = foreign_onnx.torch_dynamo_beside(tmp_path)
    (beside,) = (each for each in tmp_path.iterdir() if each != path)
    found = anatomy(get("onnx").open(path))
    assert found.size_bytes == path.stat().st_size + beside.stat().st_size
    assert found.weights == inspected("torch_dynamo").weights
    assert found.plan is not None
    assert found.plan.problem == ""
    beside.unlink()
    with pytest.raises(Exception, match="weights in another file that cannot be read") as caught:
        get("onnx").open(path)
    assert "\n" not in str(caught.value)


def test_weights_outside_of_the_folder_are_refused(tmp_path):
    secret = tmp_path / "secret"
    secret.write_bytes(bytes(64))
    folder = tmp_path / "model"
    folder.mkdir()
    for location in ("../secret", str(secret), "link"):
        model = onnx.load_from_string(foreign_files.made("onnx_if"))
        item = model.graph.initializer.add(name="w", data_type=onnx.TensorProto.FLOAT, dims=[16])
        item.data_location = onnx.TensorProto.EXTERNAL
        item.external_data.add(key="location", value=location)
        (folder / "model.onnx").write_bytes(model.SerializeToString())
        if location == "link":
            (folder / "link").symlink_to(secret)
        with pytest.raises(Exception, match="weights in another file that cannot be read"):
            get("onnx").open(Path(folder / "model.onnx"))
