"""What passes require and ensure is checked whenever they run."""

import importlib
import pkgutil

import numpy as np
import onnx
import pytest

from quantize.onnx import conditions as onnx_conditions
from quantize.onnx import passes as onnx_passes
from quantize.onnx.passes.compact import compact as compact_onnx
from quantize.onnx.passes.computed_bias import biases_are_constant
from quantize.onnx.passes.split_dense import split_dense as split_dense_onnx
from quantize.ranges import CalibrationRanges
from quantize.rewrite import rewrite
from quantize.tflite import conditions, passes
from quantize.tflite.graph import add_constant, add_tensor, new_operator, new_product, schema, set_scale
from quantize.tflite.passes.compact import compact
from quantize.tflite.passes.elide_requantize import no_idle_quantize
from quantize.tflite.passes.level_dense import level_dense
from quantize.tflite.passes.merge_signatures import merge_signatures
from quantize.tflite.passes.prepend_projection import prepend_projection
from quantize.tflite.passes.set_versions import versions_suffice

RANGES = CalibrationRanges(ranges={}, row_count=1)


def tflite_model():
    """y = x * constant."""
    model, graph, buffer = schema.ModelT(), schema.SubGraphT(), schema.BufferT()
    model.subgraphs, model.buffers, model.operatorCodes = [graph], [buffer], []
    graph.tensors = []
    first = schema.TensorT()
    first.shape, first.type, first.name = [1, 2], schema.TensorType.FLOAT32, "x"
    graph.tensors.append(first)
    result = add_tensor(graph, first, schema.TensorType.FLOAT32, "y")
    factors = add_constant(model, graph, np.ones(2, np.float32))
    graph.operators = [new_product(model, 0, factors, result)]
    graph.inputs, graph.outputs = [0], [result]
    return model


def onnx_model():
    """y = x * constant."""
    values = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1, 2]) for name in "xy"]
    node = onnx.helper.make_node("Mul", ["x", "c"], ["y"])
    constant = onnx.numpy_helper.from_array(np.ones(2, np.float32), "c")
    return onnx.helper.make_model(onnx.helper.make_graph([node], "g", values[:1], values[1:], [constant]))


def problems(condition, model):
    return list(condition(model))


@pytest.mark.parametrize("package", [passes, onnx_passes], ids=["tflite", "onnx"])
def test_each_module_of_passes_holds_a_pass_of_its_name(package):
    for module in pkgutil.iter_modules(package.__path__):
        assert callable(getattr(importlib.import_module(f"{package.__name__}.{module.name}"), module.name))


def test_a_model_that_lacks_what_a_pass_requires_is_refused_before_it_is_changed():
    seen = []

    @rewrite(requires=(lambda model: iter([f"{model} was not expected."]),))
    def double(model):
        seen.append(model)

    with pytest.raises(ValueError, match="Pass double: 3 was not expected"):
        double(3)
    assert seen == []


def test_a_pass_that_breaks_what_it_ensures_is_an_error():
    @rewrite(ensures=(lambda model: iter(["empty."] if not model else []),))
    def clear(model):
        model.clear()

    with pytest.raises(RuntimeError, match="Pass clear left a broken model: empty"):
        clear([1])


def test_a_sound_model_has_no_problems():
    for condition in (conditions.in_order, conditions.in_float, conditions.nothing_unused):
        assert problems(condition, tflite_model()) == []
    for condition in (onnx_conditions.in_order, onnx_conditions.nothing_unused, biases_are_constant):
        assert problems(condition, onnx_model()) == []


def test_a_tensor_that_is_read_before_it_is_made_is_found():
    model = tflite_model()
    graph = model.subgraphs[0]
    graph.operators.reverse()
    graph.operators[0].inputs[0] = add_tensor(graph, graph.tensors[0], schema.TensorType.FLOAT32, "z")
    assert "reads tensor 3 'z'" in problems(conditions.in_order, model)[0]
    with pytest.raises(RuntimeError, match="before it is made"):
        compact(model)

    model = onnx_model()
    model.graph.node[0].input[0] = "z"
    assert problems(onnx_conditions.in_order, model) == ["Mul reads 'z' before it is made."]
    with pytest.raises(ValueError, match="Pass split_dense: Mul reads 'z'"):
        split_dense_onnx(model, RANGES)


def test_an_output_that_nothing_makes_and_a_name_that_is_made_twice_are_found():
    model = tflite_model()
    model.subgraphs[0].operators = []
    assert problems(conditions.in_order, model) == ["output 'y' is not made."]
    model = onnx_model()
    model.graph.node.append(model.graph.node[0])
    assert problems(onnx_conditions.in_order, model) == ["'y' is made twice."]
    del model.graph.node[:]
    assert problems(onnx_conditions.in_order, model) == ["output 'y' is not made."]


def test_what_is_unused_is_found_and_compact_leaves_it_out():
    model = tflite_model()
    add_constant(model, model.subgraphs[0], np.zeros(3, np.float32))
    assert "1 tensors are unused." in problems(conditions.nothing_unused, model)
    compact(model)
    assert problems(conditions.nothing_unused, model) == []

    model = onnx_model()
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.zeros(3, np.float32), "d"))
    assert "such as 'd'" in problems(onnx_conditions.nothing_unused, model)[0]
    compact_onnx(model)
    assert problems(onnx_conditions.nothing_unused, model) == []


def test_passes_on_float_graphs_refuse_quantized_ones():
    model = tflite_model()
    set_scale(model.subgraphs[0].tensors[1], np.ones(1, np.float32), np.zeros(1, np.int64))
    with pytest.raises(ValueError, match=r"float graph was expected\. Received: MUL"):
        level_dense(model, RANGES)


def test_passes_on_one_signature_refuse_a_model_without():
    with pytest.raises(ValueError, match="one signature was expected"):
        prepend_projection(tflite_model(), "")
    with pytest.raises(ValueError, match="'a': a model with one signature was expected"):
        merge_signatures({"a": tflite_model()})


def test_a_quantize_that_does_nothing_and_a_version_without_int8_are_found():
    model = tflite_model()
    graph = model.subgraphs[0]
    for tensor in graph.tensors:
        tensor.type = schema.TensorType.INT8
        set_scale(tensor, np.ones(1, np.float32), np.zeros(1, np.int64))
    assert problems(versions_suffice, model) == ["MUL on int8 has version 1."]
    target = add_tensor(graph, graph.tensors[0], schema.TensorType.INT8)
    set_scale(graph.tensors[target], np.ones(1, np.float32), np.zeros(1, np.int64))
    graph.operators.append(new_operator(model, schema.BuiltinOperator.QUANTIZE, 2, [1], [target]))
    assert problems(no_idle_quantize, model) == ["a QUANTIZE of tensor 1 changes nothing."]


def test_a_computed_bias_is_found():
    model = onnx_model()
    model.graph.node[0].CopyFrom(onnx.helper.make_node("Gemm", ["x", "c", "x"], ["y"]))
    assert problems(biases_are_constant, model) == ["a Gemm adds 'x', which is computed."]
