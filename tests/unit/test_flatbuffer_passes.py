import copy
import re

import numpy as np
import pytest

from quantize.tflite.flatbuffer import BUFFER_ALIGNMENT, read_model, write_model
from quantize.tflite.graph import add_constant, builtin_code, op_name, schema, tensor_name
from quantize.tflite.passes.compact import compact, drop_unused
from quantize.tflite.passes.elide_input_cast import elide_input_cast
from quantize.tflite.passes.elide_requantize import elide_requantize
from quantize.tflite.passes.merge_signatures import merge_signatures
from quantize.tflite.passes.name_tensors import strip_names
from quantize.tflite.passes.prepend_projection import CUSTOM_OP, prepend_projection
from quantize.tflite.static import quantize_static
from quantize.tflite.weights import symmetric_int8
from support import tiny_files

VALUES = tiny_files.features(10, seed=7)


@pytest.fixture(scope="module")
def int8() -> bytes:
    return quantize_static(tiny_files.projection_files().float_tflite, tiny_files.projection_files().tflite_ranges)


@pytest.fixture(scope="module")
def raw_int8() -> bytes:
    """What the quantizer wrote, before any pass of ours."""
    from ai_edge_quantizer import quantizer, recipe

    ranges = tiny_files.projection_files().tflite_ranges
    cast = next(name for name in ranges.ranges if name.lower().endswith("cast"))
    values = {
        name: {"min": np.float32(low), "max": np.float32(high)}
        for name, (low, high) in ranges.override({cast: (-128.0, 127.0)}).ranges.items()
    }
    engine = quantizer.Quantizer(tiny_files.projection_files().float_tflite, recipe.static_wi8_ai8())
    return bytes(engine.quantize(values, enable_progress_report=False).quantized_model)


def same(left: bytes, right: bytes, resolver: str = "AUTO") -> bool:
    runs = [tiny_files.projection_tflite(content, VALUES, resolver=resolver, raw=True) for content in (left, right)]
    return runs[0].dtype == runs[1].dtype and np.array_equal(*runs)


def ops(content: bytes) -> list[str]:
    model = read_model(content)
    return [op_name(model, operator) for operator in model.subgraphs[0].operators]


@pytest.mark.parametrize("resolver", ["AUTO", "BUILTIN_REF"])
def test_elide_input_cast_changes_no_bit(raw_int8, resolver):
    model = read_model(raw_int8)
    elide_input_cast(model)
    after = write_model(model)
    assert ops(raw_int8)[:2] == ["CAST", "QUANTIZE"]
    assert not {"CAST", "QUANTIZE"} & set(ops(after))
    assert same(raw_int8, after, resolver)


def test_elide_input_cast_leaves_scale_one_and_zero_point_zero(raw_int8):
    model = read_model(raw_int8)
    elide_input_cast(model)
    quantization = model.subgraphs[0].tensors[model.subgraphs[0].inputs[0]].quantization
    assert list(quantization.scale) == [1.0]
    assert list(quantization.zeroPoint) == [0]


def test_elide_input_cast_refuses_another_scale(raw_int8):
    model = read_model(raw_int8)
    quantize = next(o for o in model.subgraphs[0].operators if op_name(model, o) == "QUANTIZE")
    model.subgraphs[0].tensors[quantize.outputs[0]].quantization.scale = np.array([0.5], np.float32)
    with pytest.raises(ValueError, match="scale 1 and zero point 0"):
        elide_input_cast(model)


def test_elide_input_cast_refuses_a_float_model():
    with pytest.raises(ValueError, match="right after its cast"):
        elide_input_cast(read_model(tiny_files.projection_files().float_tflite))


@pytest.mark.parametrize("resolver", ["AUTO", "BUILTIN_REF"])
def test_compact_changes_no_bit_and_saves_bytes(raw_int8, resolver):
    model = read_model(raw_int8)
    compact(model)
    after = write_model(model)
    assert ops(after) == ops(raw_int8)
    assert same(raw_int8, after, resolver)
    assert len(after) < 0.75 * len(raw_int8)


def test_compact_keeps_the_names_of_inputs_and_outputs_and_gives_the_others_short_ones(int8):
    model = read_model(int8)
    names = [tensor_name(tensor) for tensor in model.subgraphs[0].tensors]
    assert len(names) == len(set(names))
    assert {"features", "logits", "w1", "b1", "mm1"} <= set(names)
    assert all(re.fullmatch(r"features|logits|[a-z]{1,3}\d+", name) for name in names)
    strip_names(model)
    assert {tensor_name(tensor) for tensor in model.subgraphs[0].tensors} == {"features", "logits", ""}
    # The names of a small graph, and the tables of tensors that are alike, which names keep apart.
    assert 0 < len(int8) - len(write_model(model)) < 64 * len(names)


def test_compact_twice_is_compact_once(int8):
    model = read_model(int8)
    compact(model)
    assert write_model(model) == int8


def test_equal_buffers_are_stored_once(int8):
    contents = [bytes(buffer.data) for buffer in read_model(int8).buffers if buffer.data is not None]
    assert len(contents) == len(set(contents))


@pytest.mark.parametrize("kind", ["float", "int8"])
def test_buffers_are_aligned_as_the_schema_asks(int8, kind):
    content = int8 if kind == "int8" else tiny_files.projection_files().float_tflite
    root = schema.Model.GetRootAs(bytearray(content), 0)
    starts = []
    for position in range(root.BuffersLength()):
        table = root.Buffers(position)
        if table.DataLength():
            offset = table._tab.Offset(4)
            starts.append(table._tab.Vector(offset))
    assert starts
    assert all(start % BUFFER_ALIGNMENT == 0 for start in starts)


def test_writing_leaves_the_object_tree_as_it_was(int8):
    model = read_model(int8)
    first = write_model(model)
    assert write_model(model) == first == int8


def test_a_file_of_another_format_is_refused():
    with pytest.raises(ValueError, match="TFL3"):
        read_model(b"\x08\x07not a flatbuffer")


def test_text_in_is_features_in_with_one_operator_in_front(int8):
    model = read_model(int8)
    prepend_projection(model, "projection1:feature_size=32")
    compact(model)
    after = write_model(model)
    assert ops(after) == [CUSTOM_OP, *ops(int8)]
    # One tensor, one operator, one operator code and the text of the settings.
    assert len(after) - len(int8) < 400
    graph = read_model(after).subgraphs[0]
    text = graph.tensors[graph.inputs[0]]
    assert (tensor_name(text), text.type, list(text.shape)) == ("text", schema.TensorType.STRING, [1])
    assert bytes(graph.operators[0].customOptions) == b"projection1:feature_size=32"
    features = graph.tensors[graph.operators[0].outputs[0]]
    assert (list(features.quantization.scale), list(features.quantization.zeroPoint)) == ([1.0], [0])
    signature = read_model(after).signatureDefs[0]
    assert [(entry.name, entry.tensorIndex) for entry in signature.inputs] == [(b"text", graph.inputs[0])]
    before = [bytes(b.data) for b in read_model(int8).buffers if b.data is not None]
    assert [bytes(b.data) for b in read_model(after).buffers if b.data is not None] == before


def test_a_projection_cannot_be_put_in_front_twice(int8):
    model = read_model(int8)
    prepend_projection(model, "projection1:")
    with pytest.raises(ValueError, match="int8 input"):
        prepend_projection(model, "projection1:")


def test_merged_signatures_share_the_weights_and_agree(int8):
    batched = quantize_static(
        tiny_files.projection_files(batch=5).float_tflite, tiny_files.projection_files().tflite_ranges
    )
    merged = write_model(merge_signatures({"serving_default": read_model(int8), "batch_5": read_model(batched)}))
    weights = sum(len(b.data) for b in read_model(int8).buffers if b.data is not None)
    both = sum(len(b.data) for b in read_model(merged).buffers if b.data is not None)
    assert both - weights < 64  # two shapes of RESHAPE
    single = tiny_files.projection_tflite(merged, VALUES, signature="serving_default", raw=True)
    together = tiny_files.projection_tflite(merged, VALUES, signature="batch_5", raw=True)
    assert np.array_equal(single, tiny_files.projection_tflite(int8, VALUES, raw=True))
    assert np.array_equal(single, together)


def test_merging_leaves_the_given_models_alone(int8):
    model = read_model(int8)
    merge_signatures({"a": model, "b": copy.deepcopy(model)})
    assert write_model(model) == int8


def test_operators_on_int8_carry_the_versions_that_know_int8(int8):
    model = read_model(int8)
    versions = {builtin_code(code): code.version for code in model.operatorCodes}
    assert versions[schema.BuiltinOperator.CONV_2D] == 3
    assert versions[schema.BuiltinOperator.FULLY_CONNECTED] == 4
    assert versions[schema.BuiltinOperator.BATCH_MATMUL] == 2
    assert versions[schema.BuiltinOperator.BATCH_MATMUL] == 2


@pytest.mark.parametrize("axis", [0, None])
def test_symmetric_weights_are_within_half_a_step(axis):
    values = np.random.default_rng(0).normal(0, [[1.0], [5.0], [0.0]], (3, 40)).astype(np.float32)
    quantized, scale = symmetric_int8(values, axis)
    assert scale.size == (3 if axis == 0 else 1)
    step = scale[:, None] if axis == 0 else scale
    assert np.all(np.abs(quantized * step - values) <= step * 0.5001)
    assert quantized.min() >= -127


def test_data_behind_the_flatbuffer_is_read(int8):
    """Writers of large files keep buffers outside; a reader that looks inside only sees a model without weights."""
    model = read_model(int8)
    position = max(
        range(len(model.buffers)), key=lambda i: 0 if model.buffers[i].data is None else len(model.buffers[i].data)
    )
    expected = bytes(model.buffers[position].data)
    buffer = model.buffers[position]
    buffer.data, buffer.offset, buffer.size = None, 1, len(expected)  # the place is not known before it is written
    start = len(write_model(model))
    buffer.offset = start
    content = write_model(model) + expected
    assert len(content) == start + len(expected)
    assert bytes(read_model(content).buffers[position].data) == expected
    with pytest.raises(ValueError, match="ends at byte"):
        read_model(content[:-1])


def test_a_quantize_that_changes_nothing_is_left_out():
    from ai_edge_quantizer import quantizer, recipe

    ranges = tiny_files.files().tflite_ranges
    values = {n: {"min": np.float32(low), "max": np.float32(high)} for n, (low, high) in ranges.ranges.items()}
    engine = quantizer.Quantizer(tiny_files.files().float_tflite, recipe.static_wi8_ai8())
    raw = bytes(engine.quantize(values, enable_progress_report=False).quantized_model)
    model = read_model(raw)
    elide_requantize(model)
    after = write_model(model)
    # Behind the three tables; the one behind the cast of the mask changes the type.
    assert (ops(raw).count("QUANTIZE"), ops(after).count("QUANTIZE")) == (4, 1)
    rows = tiny_files.inputs(5)
    before, now = (tiny_files.run_tflite(content, rows, raw=True)["logits"] for content in (raw, after))
    assert np.array_equal(before, now)


def test_an_int32_mask_is_cast_to_int8_without_a_detour_through_float():
    model = read_model(tiny_files.files().tflite("int8-full"))
    graph = model.subgraphs[0]
    (cast,) = [operator for operator in graph.operators if op_name(model, operator) == "CAST"]
    source, target = graph.tensors[cast.inputs[0]], graph.tensors[cast.outputs[0]]
    assert (source.type, target.type) == (schema.TensorType.INT32, schema.TensorType.INT8)
    assert (list(target.quantization.scale), list(target.quantization.zeroPoint)) == ([1.0], [0])
    assert model.operatorCodes[cast.opcodeIndex].version == 3


def test_what_passes_leave_behind_is_dropped_and_names_and_answers_stay(int8):
    before = read_model(int8)
    expected, size = [tensor_name(tensor) for tensor in before.subgraphs[0].tensors], len(write_model(before))
    model = read_model(int8)
    add_constant(model, model.subgraphs[0], np.ones((64, 64), np.float32), "left behind")
    assert len(write_model(model)) > size + 64 * 64 * 4
    drop_unused(model)
    assert [tensor_name(tensor) for tensor in model.subgraphs[0].tensors] == expected
    assert len(write_model(model)) < size + 256
    assert same(int8, write_model(model))


def test_objects_of_a_file_are_views_of_it(int8):
    model = read_model(int8)
    data = max((buffer.data for buffer in model.buffers if buffer.data is not None), key=len)
    assert np.shares_memory(data, np.frombuffer(int8, np.uint8))
