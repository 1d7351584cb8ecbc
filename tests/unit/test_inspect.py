"""`export-mobile inspect`: what it prints, its bad input, and the parts that it is made of."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest

import exporters
from exporters import InspectRequest, inspect
from exporters.anatomy import layers, partitions, summary
from exporters.anatomy.parts import Constant, digest_of
from exporters.anatomy.run import anatomy
from exporters.commands import main as cli
from exporters.formats.base import get
from exporters.formats.tflite.delegation import delegated
from models_tf.errors import InputError
from quantize.tflite.flatbuffer import read_model, write_model
from quantize.tflite.graph import schema
from support import tiny_files

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Small files of ours."""
    made = tmp_path_factory.mktemp("files")
    files = tiny_files.projection_files()
    for recipe in ("float32", "fp16", "int8-dynamic", "int8"):
        (made / f"{recipe}.tflite").write_bytes(files.tflite(recipe))
        (made / f"{recipe}.onnx").write_bytes(files.onnx(recipe).SerializeToString())
    return made


@pytest.mark.parametrize("recipe", ["float32", "fp16", "int8-dynamic", "int8"])
@pytest.mark.parametrize("kind", ["tflite", "onnx"])
def test_our_own_recipes_are_recognized(folder, kind, recipe):
    found = inspect(InspectRequest(file=folder / f"{recipe}.{kind}", runtime=False))
    word = {
        "float32": "float32 weights, not quantized",
        "fp16": "float16 weights, not quantized",
        "int8-dynamic": "(dynamic)",
        "int8": f"int8 weights, {'int8' if kind == 'tflite' else 'uint8'} activations (static)",
    }[recipe]
    assert word in found.scheme
    constants = sum(each.size_bytes for each in found.kinds)
    assert constants + found.metadata_bytes + found.structure_bytes == found.size_bytes
    if recipe == "int8":
        assert found.quantized_share == 1.0
        assert all(each.symmetric and each.granularity == "per channel" for each in found.quantized)
        assert all(each.reason for each in found.float_operators)
        assert found.float_weights == ()


@pytest.mark.parametrize("kind", ["tflite", "onnx"])
def test_what_a_token_model_leaves_in_float_has_its_reason(kind, tmp_path):
    files = tiny_files.files()
    path = tmp_path / f"model.{kind}"
    path.write_bytes(files.tflite("int8") if kind == "tflite" else files.onnx("int8").SerializeToString())
    found = inspect(InspectRequest(file=path, runtime=False))
    assert all(each.reason for each in (*found.float_operators, *found.float_weights))
    kinds = {each.operator: each.reason for each in found.float_operators}
    assert "faster in float" in kinds["SOFTMAX" if kind == "tflite" else "Softmax"]


@pytest.mark.parametrize("kind", ["tflite", "onnx"])
def test_the_command_prints_every_section_and_the_same_numbers_as_json(folder, kind, capsys):
    path = folder / f"int8.{kind}"
    assert cli.main(["inspect", str(path)]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    text = captured.out
    for word in ("int8.", "signature serving_default", "features", "logits", "operators", "bytes by type", "structure"):
        assert word in text
    assert cli.main(["inspect", str(path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert f"{found['size_bytes']:,} bytes" in text
    assert found["size_bytes"] == path.stat().st_size
    assert found["plan"]["problem"] == ""
    assert found["plan"]["runtime"] in text
    if kind == "tflite":
        taken, kept = sum(found["plan"]["delegated"].values()), sum(found["plan"]["kept"].values())
        assert taken + kept == sum(found["graphs"][0]["operators"].values())
        assert taken > 0
        assert f"XNNPACK takes {taken} of {taken + kept} operators, in {found['plan']['partitions']} partition" in text


def test_without_runtime_no_process_is_started(folder, monkeypatch):
    monkeypatch.setattr(partitions.subprocess, "run", None)
    assert inspect(InspectRequest(file=folder / "int8.tflite", runtime=False)).plan is None


def test_partitions_are_the_delegate_nodes_that_litert_lists(folder):
    from ai_edge_litert.interpreter import Interpreter

    for recipe in ("float32", "int8", "int8-dynamic"):
        interpreter = Interpreter(model_path=str(folder / f"{recipe}.tflite"), num_threads=1)
        interpreter.allocate_tensors()
        nodes = [node["op_name"] for node in interpreter._get_ops_details()]
        plan = partitions.runtime_plan(folder / f"{recipe}.tflite")
        assert plan.partitions == nodes.count("DELEGATE")
        assert plan.delegate == "XNNPACK"


def test_operators_between_the_borders_of_a_partition_are_its_own():
    # 0: a -> b, 1: b -> c, 2: c, w -> d, 3: d -> e; the delegate has 1 and 2.
    nodes = [([0], [1]), ([1], [2]), ([2, 9], [3]), ([3], [4])]
    assert delegated(nodes, [([1, 9], [3])]) == {1, 2}
    assert delegated(nodes, []) == set()
    assert delegated(nodes, [([0], [1]), ([3], [4])]) == {0, 3}


def test_onnx_runtime_fuses_what_it_knows():
    helper, generator = onnx.helper, np.random.default_rng(0)
    x, y = (helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1, 8]) for name in "xy")
    weights = onnx.numpy_helper.from_array(generator.normal(size=(8, 8)).astype(np.float32), "w")
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"]),
        helper.make_node("Identity", ["a"], ["b"]),
        helper.make_node("Sigmoid", ["b"], ["c"]),
        helper.make_node("Mul", ["b", "c"], ["y"]),
    ]
    opsets = [helper.make_opsetid("", 17)]
    model = helper.make_model(helper.make_graph(nodes, "g", [x], [y], [weights]), opset_imports=opsets, ir_version=8)
    plan = partitions.runtime_plan(get("onnx").open(model.SerializeToString()))
    assert plan.fused == {"com.microsoft.QuickGelu": 1}
    assert plan.replaced == {"Identity": 1, "Sigmoid": 1, "Mul": 1}
    assert plan.kept == {"MatMul": 1, "com.microsoft.QuickGelu": 1}


def constant(name="", *, size=100, data=None, readers=(), users=(), near=()) -> Constant:
    content = name.encode() if data is None else data
    return Constant(
        name=name,
        dtype="float32",
        shape=(size // 4,),
        size_bytes=size,
        place=object(),
        digest=digest_of("float32", content),
        readers=readers,
        users=users,
        near=near,
    )


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (
            ["bert.embeddings.word.weight", "bert.encoder.layer.0.query.weight", "bert.encoder.layer.11.query.weight"],
            ["embeddings", "layer 0", "layer 11"],
        ),
        (["m/bert/encoder/layer_._3/output/MatMul", "m/bert/pooler/MatMul"], ["layer 3", "pooler"]),
        (["transformer.h.0.mlp.weight", "transformer.wte.weight"], ["layer 0", "wte"]),
        (["model/conv_1/Conv2D", "model/dense/MatMul;model/dense/BiasAdd"], ["conv_1", "dense"]),
        (["features.0.weight", "features.3.bias", "classifier.weight"], ["features.0", "features.3", "classifier"]),
        (["arith.constant3", "a/dense/MatMul"], [layers.REST, "dense"]),
        (["/encoder/layers.7/Add", "onnx::MatMul_12"], ["layer 7", layers.REST]),
    ],
)
def test_layers_by_name(names, expected):
    assert layers.layers([constant(name) for name in names], None) == expected


def test_a_name_that_a_converter_made_up_gives_way_to_the_operators():
    found = layers.layers([constant("arith.constant3", near=("m/hidden/Relu",)), constant("m/out/MatMul")], None)
    assert found == ["hidden", "out"]


def test_equal_bytes_at_two_places_are_duplicates_and_one_place_is_not():
    twice = [constant("a", data=b"same"), constant("b", data=b"same"), constant("c", data=b"other")]
    (found,) = summary.duplicates(summary.stored(twice))
    assert (found.names, found.wasted_bytes) == (("a", "b"), 100)
    once = twice[0]
    assert summary.duplicates(summary.stored([once, once])) == ()
    small = [constant("a", size=32, data=b"same"), constant("b", size=32, data=b"same")]
    assert summary.duplicates(small) == ()


def test_weights_that_a_tflite_file_stores_twice_are_found(folder):
    model = read_model((folder / "float32.tflite").read_bytes())
    graph = model.subgraphs[0]
    largest = max(
        (t for t in graph.tensors if model.buffers[t.buffer].data is not None),
        key=lambda t: len(model.buffers[t.buffer].data),
    )
    # Written by the plain writer, which stores equal buffers as often as they are named.
    copy = schema.BufferT()
    copy.data = np.array(model.buffers[largest.buffer].data)
    model.buffers.append(copy)
    other = schema.TensorT()
    other.shape, other.type, other.name, other.buffer = largest.shape, largest.type, "copy", len(model.buffers) - 1
    graph.tensors.append(other)
    import flatbuffers

    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    found = anatomy(get("tflite").open(bytes(builder.Output())), runtime=False)
    size = len(model.buffers[largest.buffer].data)
    assert found.duplicates[0].size_bytes == size
    assert "copy" in found.duplicates[0].names
    # Our own writer stores them once, so there is nothing to find.
    shared = anatomy(get("tflite").open(write_model(model)), runtime=False)
    assert shared.duplicated_bytes == 0
    assert shared.size_bytes < found.size_bytes - size // 2


@pytest.mark.parametrize("kind", ["tflite", "onnx"])
def test_a_custom_operator_of_somebody_else_is_named_and_the_runtime_cannot_load_it(folder, kind, tmp_path, capsys):
    path = tmp_path / f"foreign.{kind}"
    if kind == "tflite":
        model = read_model((folder / "float32.tflite").read_bytes())
        code = model.operatorCodes[model.subgraphs[0].operators[-1].opcodeIndex]
        code.builtinCode = code.deprecatedBuiltinCode = schema.BuiltinOperator.CUSTOM
        code.customCode = "SEQUENCE_STRING_PROJECTION"
        path.write_bytes(write_model(model))
    else:
        found = onnx.load(folder / "float32.onnx")
        found.graph.node[-1].domain, found.graph.node[-1].op_type = "somebody", "SEQUENCE_STRING_PROJECTION"
        found.opset_import.add(domain="somebody", version=1)
        path.write_bytes(found.SerializeToString())
    assert cli.main(["inspect", str(path)]) == 0
    text = capsys.readouterr().out
    assert "custom operators" in text
    assert "SEQUENCE_STRING_PROJECTION" in text
    assert "cannot load it: " in text


def test_a_runtime_that_dies_or_never_answers_is_a_problem_and_not_the_end(folder, monkeypatch):
    path = folder / "int8.tflite"
    monkeypatch.setattr(partitions, "_WORKER", "antigravity_that_is_not_there")
    assert "No module named" in partitions.runtime_plan(path).problem

    real = subprocess.run

    def dying(command, **options):
        return real([sys.executable, "-c", "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"], **options)

    monkeypatch.setattr(partitions.subprocess, "run", dying)
    assert "crashed while loading it (signal 11)" in partitions.runtime_plan(path).problem

    def hanging(command, **options):
        return real([sys.executable, "-c", "import time; time.sleep(60)"], **options)

    monkeypatch.setattr(partitions.subprocess, "run", hanging)
    assert "did not load it in 0.5 s" in partitions.runtime_plan(path, seconds=0.5).problem


def test_a_file_that_asks_for_more_memory_than_there_is_is_a_problem(folder):
    model = read_model((folder / "float32.tflite").read_bytes())
    graph = model.subgraphs[0]
    for index in graph.inputs:
        graph.tensors[index].shape = [1, 1 << 20, 1 << 20]
    plan = partitions.runtime_plan(get("tflite").open(write_model(model)))
    assert plan.problem
    assert plan.partitions is None


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("missing.tflite", None, ["missing.tflite", "no such file"]),
        ("empty.tflite", b"", ["empty.tflite", "whole"]),
        ("empty.onnx", b"", ["empty.onnx", "no bytes"]),
        ("text.onnx", b"hello, world\n", ["text.onnx"]),
        ("archive.zip", b"PK\x03\x04" + bytes(64), [".tflite or .onnx", "archive.zip"]),
        ("cut.tflite", b"\x1c\0\0\0TFL3" + bytes(10), ["cut.tflite"]),
        ("named.txt", b"x" * 100, [".tflite or .onnx", "named.txt"]),
    ],
)
def test_what_is_not_a_model_is_one_line_and_exit_code_2(name, content, words, tmp_path, capsys):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    for extra in ([], ["--json"]):
        assert cli.main(["inspect", str(tmp_path / name), *extra]) == 2
        captured = capsys.readouterr()
        assert captured.out == ""
        assert len(captured.err.splitlines()) == 1
        assert all(word in captured.err for word in ("Received: ", *words))


def test_a_folder_and_no_file_at_all_are_one_line(tmp_path, capsys):
    assert cli.main(["inspect", str(tmp_path)]) == 2
    assert "a folder" in capsys.readouterr().err
    assert cli.main(["inspect"]) == 2
    assert "FILE" in capsys.readouterr().err


def test_the_content_counts_where_the_ending_says_nothing(folder, tmp_path):
    for kind in ("tflite", "onnx"):
        path = tmp_path / f"{kind}.bin"
        path.write_bytes((folder / f"int8.{kind}").read_bytes())
        assert inspect(InspectRequest(file=path, runtime=False)).format == kind


def test_control_characters_in_names_do_not_reach_the_terminal(tmp_path, capsys):
    helper = onnx.helper
    x, y = (helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [4]) for name in ("x\x1b[2J\n", "y"))
    graph = helper.make_graph([helper.make_node("Relu", ["x\x1b[2J\n"], ["y"])], "g", [x], [y])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], producer_name="\x07bell")
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    for extra in ([], ["--json"]):
        assert cli.main(["inspect", str(tmp_path / "m.onnx"), "--no-runtime", *extra]) == 0
        out = capsys.readouterr().out
        assert "\x1b" not in out
        assert "\x07" not in out


def test_inspect_imports_no_tensorflow(folder):
    code = (
        "import sys; from exporters.commands.main import main; code = main(sys.argv[1:]);"
        "assert 'tensorflow' not in sys.modules; sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "inspect", str(folder / "int8.tflite"), "--json"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["format"] == "tflite"


def test_the_request_refuses_what_is_no_path():
    with pytest.raises(InputError, match="`file` must be a path"):
        InspectRequest(file=3)
    assert exporters.inspect is inspect
