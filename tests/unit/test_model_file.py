"""A model file is a value or one line of an error, whoever wrote it and whatever became of it."""

import functools

import numpy as np
import onnx
import pytest

from exporters.formats.base import FORMATS, get
from exporters.formats.model_file import ModelFile
from models_tf.errors import InputError
from quantize.errors import RecipeError
from quantize.recipe import RECIPES, Recipe
from quantize.tflite.flatbuffer import read_model, write_model
from support import tiny_files
from support.conversions import OF_TOKENS

both_formats = pytest.mark.parametrize("name", list(FORMATS))


@functools.cache
def written(name: str) -> bytes:
    """A small int8 file of ours."""
    files = tiny_files.projection_files()
    return files.tflite("int8") if name == "tflite" else files.onnx("int8").SerializeToString()


def read_whole(name: str, content: bytes) -> ModelFile | None:
    """Asks a file for everything; None if it is refused, in one line."""
    try:
        file = get(name).open(content)
        for recipe in OF_TOKENS:
            file.audit(RECIPES[recipe])
        assert 0 <= file.zero_share() <= 1
    except InputError as error:
        message = str(error)
    else:
        return file
    assert "\n" not in message
    assert len(message) < 400
    return None


@both_formats
def test_a_file_says_what_goes_in_and_out(name):
    signature = next(iter(get(name).open(written(name)).signatures.values()))
    assert [(info.name, info.dtype) for info in signature.inputs] == [("features", "int8")]
    assert [info.name for info in signature.outputs] == ["logits"]
    assert signature.inputs[0].shape[1:] == ({"tflite": -1, "onnx": "length"}[name], tiny_files.FEATURE_SIZE)


def test_scales_of_a_tflite_interface_are_those_of_the_file():
    file = get("tflite").open(written("tflite"))
    (entry,) = file.interface()["serving_default"]["inputs"]
    assert (entry["scale"], entry["zero_point"]) == (1.0, 0)
    in_float = get("tflite").open(tiny_files.projection_files().float_tflite).interface()
    assert "scale" not in in_float["serving_default"]["inputs"][0]


@both_formats
@pytest.mark.parametrize("content", [b"", b"\0", b"TFL3", b"\x1c\0\0\0TFL3", b"PK\x03\x04" + bytes(64), b"\xff" * 4096])
def test_what_is_not_a_model_is_refused(name, content):
    with pytest.raises(InputError, match=f"The model must be a .{name} file that is whole. Received: "):
        get(name).open(content)


@both_formats
def test_random_bytes_are_refused(name):
    generator = np.random.default_rng(0)
    for size in range(1, 300):
        noise = generator.bytes(size)
        assert read_whole(name, noise) is None
        assert read_whole(name, noise[:4] + b"TFL3" + noise[4:]) is None


@both_formats
def test_a_file_of_the_other_format_is_refused(name):
    (other,) = set(FORMATS) - {name}
    assert read_whole(name, written(other)) is None


@both_formats
def test_a_file_that_was_cut_off_is_a_value_or_one_line(name):
    content = written(name)
    cuts = {*range(0, len(content), max(1, len(content) // 150)), *range(len(content) - 40, len(content))}
    found = [read_whole(name, content[:cut]) for cut in sorted(cuts)]
    assert found.count(None) >= 0.9 * len(cuts)


@both_formats
def test_flipped_bytes_give_a_value_or_one_line(name):
    generator, content = np.random.default_rng(1), written(name)
    for _ in range(300):
        broken = bytearray(content)
        for place in generator.integers(0, len(broken), generator.integers(1, 9)):
            broken[place] ^= int(generator.integers(1, 256))
        read_whole(name, bytes(broken))


def test_every_byte_of_the_structure_of_a_small_onnx_file_may_be_wrong():
    content = hand_made()
    for place in range(len(content)):
        for flip in (1, 0x80, 0xFF):
            read_whole("onnx", content[:place] + bytes([content[place] ^ flip]) + content[place + 1 :])


def hand_made(nodes=None, **graph) -> bytes:
    helper = onnx.helper
    x, y = (helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["rows", 4]) for name in "xy")
    weights = onnx.numpy_helper.from_array(np.zeros((4, 4), np.float32), "w")
    nodes = nodes or [helper.make_node("MatMul", ["x", "w"], ["y"])]
    made = helper.make_graph(nodes, "g", [x], [y], [weights], **graph)
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)]).SerializeToString()


def test_a_strangers_onnx_file_is_read():
    file = get("onnx").open(hand_made())
    assert file.interface()["inputs"] == [{"name": "x", "dtype": "float", "shape": ["rows", 4]}]
    assert (file.ops, file.parameters, file.weight_bytes) == ({"MatMul": 1}, 16, 64)
    assert file.audit(RECIPES["float32"]) == []


def test_a_name_that_is_not_text_is_refused():
    content = hand_made([onnx.helper.make_node("MatMul", ["x", "w"], ["y"], name="product")])
    with pytest.raises(InputError, match="which is not UTF-8"):
        get("onnx").open(content.replace(b"product", b"p\xffoduct"))


def test_a_circle_of_operators_is_refused():
    circle = [onnx.helper.make_node("Identity", [a], [b]) for a, b in (("b", "a"), ("a", "b"), ("a", "y"))]
    with pytest.raises(InputError, match="Identity reads 'b' before it is made"):
        get("onnx").open(hand_made(circle))


def test_moves_that_part_and_meet_again_are_followed_once():
    nodes, name = [], "x"
    for step in range(60):
        nodes += [onnx.helper.make_node("Identity", [name], [f"{side}{step}"]) for side in "ab"]
        nodes.append(onnx.helper.make_node("Reshape", [f"a{step}", f"b{step}"], [f"c{step}"]))
        name = f"c{step}"
    assert read_whole("onnx", hand_made([*nodes, onnx.helper.make_node("Relu", [name], ["y"])])) is not None


def test_weights_in_another_file_are_named():
    model = onnx.load_from_string(hand_made())
    model.graph.initializer[0].data_location = onnx.TensorProto.EXTERNAL
    with pytest.raises(InputError, match="weights that are stored in another file"):
        get("onnx").open(model.SerializeToString())


def test_a_tflite_file_without_signatures_is_read_by_its_graph():
    model = read_model(written("tflite"))
    model.signatureDefs = None
    file = get("tflite").open(write_model(model))
    assert [info.name for info in file.signatures["main"].inputs] == ["features"]
    assert file.audit(RECIPES["int8"]) == []


def point_tensor_at_no_buffer(model):
    model.subgraphs[0].tensors[0].buffer = 10_000


def point_operator_at_no_tensor(model):
    model.subgraphs[0].operators[0].inputs = np.array([-7], np.int32)


def point_operator_at_no_code(model):
    model.subgraphs[0].operators[0].opcodeIndex = 999


def point_signature_at_no_graph(model):
    model.signatureDefs[0].subgraphIndex = 3


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (point_tensor_at_no_buffer, "buffer 10000 of"),
        (point_operator_at_no_tensor, "tensor -7 of"),
        (point_operator_at_no_code, "operator code 999 of"),
        (point_signature_at_no_graph, "graph 3 of 1"),
    ],
)
def test_an_index_of_nothing_is_named(edit, words):
    model = read_model(written("tflite"))
    edit(model)
    with pytest.raises(InputError, match=words):
        get("tflite").open(write_model(model))


@both_formats
def test_a_path_that_cannot_be_read_is_one_line(name, tmp_path):
    with pytest.raises(InputError, match=r"must be a file that can be read\. Received: No such file"):
        get(name).open(tmp_path / f"missing.{name}")
    with pytest.raises(InputError, match="Received: Is a directory"):
        get(name).open(tmp_path)


@both_formats
def test_every_recipe_of_every_format_has_a_quantizer_and_an_audit(name):
    for recipe in OF_TOKENS:
        get(name).check(RECIPES[recipe])


def test_onnx_has_no_recipe_without_float():
    get("tflite").check(RECIPES["int8-full"])
    with pytest.raises(RecipeError, match=r"onnx.*'int8-full'"):
        get("onnx").check(RECIPES["int8-full"])


@both_formats
def test_a_recipe_that_a_format_lacks_is_an_error_that_names_both(name):
    other = Recipe(name="int2", description="", batch_atol=0.0)
    with pytest.raises(RecipeError, match=rf"{name}.*'int2'"):
        get(name).check(other)
    with pytest.raises(RecipeError, match=rf"{name}.*audit.*'int2'"):
        get(name).open(written(name)).audit(other)


def test_files_are_read_without_tensorflow(tmp_path):
    import subprocess
    import sys

    for name in FORMATS:
        (tmp_path / f"m.{name}").write_bytes(written(name))
    code = (
        "import sys; from pathlib import Path; from exporters.formats.base import FORMATS, get, load_runner\n"
        "from quantize.recipe import RECIPES\n"
        "for name in FORMATS:\n"
        f"    path = Path({str(tmp_path)!r}) / f'm.{{name}}'; file = get(name).open(path)\n"
        "    assert file.audit(RECIPES['int8']) == []; file.zero_share(); load_runner(path, inputs=('features',))\n"
        "print([m for m in ('tensorflow', 'tf_keras', 'tf2onnx', 'ai_edge_quantizer') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == ["[]"], done.stderr
