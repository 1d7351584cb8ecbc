import json
import os
import pickle
import struct
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from safetensors.numpy import save, save_file

from models_tf.checkpoints.weights import open_weights
from models_tf.errors import InputError

RANDOM = np.random.default_rng(0)
TENSORS = {"a": RANDOM.normal(size=(3, 4)).astype(np.float32), "b.c": RANDOM.normal(size=5).astype(np.float32)}


def read_all(weights):
    return {name: weights.read(name) for name in weights.names}


def refused(folder):
    with pytest.raises(InputError) as caught:
        read_all(open_weights(folder))
    message = str(caught.value)
    assert "\n" not in message
    return message


def assert_tensors(folder, expected=TENSORS):
    weights = open_weights(folder)
    assert sorted(weights.names) == sorted(expected)
    for name, value in expected.items():
        assert weights.shape(name) == value.shape
        found = weights.read(name)
        assert found.dtype == np.float32
        np.testing.assert_array_equal(found, value)


def raw_safetensors(entries):
    """A file from (name, dtype, shape, bytes): for types that numpy does not have."""
    header, body = {}, b""
    for name, dtype, shape, data in entries:
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + body


def write_shards(folder, shards, *, weight_map=None, stem="model", suffix=".safetensors", write=save_file):
    table = {}
    for number, tensors in enumerate(shards, start=1):
        name = f"{stem}-{number:05}-of-{len(shards):05}{suffix}"
        write(tensors, folder / name)
        table |= dict.fromkeys(tensors, name)
    index = {"metadata": {"total_size": 0}, "weight_map": table if weight_map is None else weight_map}
    (folder / f"{stem}{suffix}.index.json").write_text(json.dumps(index))
    return table


def test_float32_tensors_are_read_as_stored(tmp_path):
    save_file(TENSORS, tmp_path / "model.safetensors")
    assert_tensors(tmp_path)


@pytest.mark.parametrize("dtype", [np.float16, np.float64])
def test_half_and_double_become_float32(dtype, tmp_path):
    stored = {name: value.astype(dtype) for name, value in TENSORS.items()}
    save_file(stored, tmp_path / "model.safetensors")
    assert_tensors(tmp_path, {name: value.astype(np.float32) for name, value in stored.items()})


def test_bfloat16_is_read_without_torch(tmp_path):
    values = np.array([0.0, -0.0, 1.0, -2.5, 3.0e38, 1e-40, np.pi], np.float32)
    upper = (values.view(np.uint32) >> 16).astype("<u2")
    (tmp_path / "model.safetensors").write_bytes(raw_safetensors([("x", "BF16", [7], upper.tobytes())]))
    found = open_weights(tmp_path).read("x")
    np.testing.assert_array_equal(found.view(np.uint32), upper.astype(np.uint32) << 16)
    # 8 bits of mantissa, the last one cut off.
    np.testing.assert_allclose(found[2:5], values[2:5], rtol=2**-7)


def test_bfloat16_is_what_torch_makes_of_it(tmp_path):
    torch = pytest.importorskip("torch")
    from safetensors.torch import save_file as save_torch

    value = torch.randn(4, 5, generator=torch.Generator().manual_seed(0)).to(torch.bfloat16)
    save_torch({"x": value}, tmp_path / "model.safetensors")
    np.testing.assert_array_equal(open_weights(tmp_path).read("x"), value.float().numpy())


def test_scalars_and_empty_tensors_keep_their_shape(tmp_path):
    expected = {"one": np.array(2.5, np.float32), "none": np.zeros((0, 3), np.float32)}
    save_file(expected, tmp_path / "model.safetensors")
    assert_tensors(tmp_path, expected)


@pytest.mark.parametrize("kind", ["I64", "U8", "BOOL", "F8_E4M3"])
def test_a_tensor_that_holds_no_floats_is_refused_when_it_is_read(kind, tmp_path):
    size = 8 if kind == "I64" else 1
    (tmp_path / "model.safetensors").write_bytes(raw_safetensors([("x", kind, [2], bytes(2 * size))]))
    assert open_weights(tmp_path).shape("x") == (2,)
    message = refused(tmp_path)
    assert f"tensor x must be of type F64, F32, F16, BF16. Received: {kind}" in message
    assert "model.safetensors" in message


@pytest.mark.parametrize("keep", [0, 4, 8, 9, 40, -100, -8, -1])
def test_a_truncated_safetensors_file_is_refused(keep, tmp_path):
    content = save({"x": np.ones((8, 8), np.float32), "y": np.ones(3, np.float32)})
    (tmp_path / "model.safetensors").write_bytes(content[:keep])
    assert "model.safetensors is damaged or not a safetensors file" in refused(tmp_path)


@pytest.mark.parametrize(
    "content",
    [
        b"x" * 200,
        struct.pack("<Q", 1 << 62) + b"{}",
        struct.pack("<Q", 2) + b"{}" + b"left over",
        raw_safetensors([("x", "F32", [2], bytes(4))]),
        raw_safetensors([("x", "F32", [-2], bytes(8))]),
        struct.pack("<Q", 4) + b"[[]]",
        struct.pack("<Q", 2) + b"\xff\xfe",
    ],
    ids=["text", "huge header", "left over", "short tensor", "negative size", "list", "not UTF-8"],
)
def test_a_safetensors_file_that_contradicts_itself_is_refused(content, tmp_path):
    (tmp_path / "model.safetensors").write_bytes(content)
    assert "model.safetensors is damaged or not a safetensors file" in refused(tmp_path)


def test_a_file_that_shrinks_after_it_was_opened_is_refused(tmp_path):
    path = tmp_path / "model.safetensors"
    save_file(TENSORS, path)
    weights = open_weights(tmp_path)
    os.truncate(path, path.stat().st_size - 8)
    with pytest.raises(InputError, match="damaged: it ends within tensor"):
        read_all(weights)


class Attack:
    """Unpickling it creates a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (os.mkdir, (str(self.path),))


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_a_pickle_named_safetensors_is_refused_and_not_executed(protocol, tmp_path):
    path = tmp_path / "model.safetensors"
    path.write_bytes(pickle.dumps({"x": Attack(tmp_path / "executed")}, protocol=protocol))
    assert "must be a safetensors file. Received: a pickle of PyTorch" in refused(tmp_path)
    assert not (tmp_path / "executed").exists()


def test_a_zip_of_torch_named_safetensors_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "model.safetensors", "w") as archive:
        archive.writestr("archive/data.pkl", pickle.dumps(Attack(tmp_path / "executed")))
    assert "Received: a pickle of PyTorch" in refused(tmp_path)
    assert not (tmp_path / "executed").exists()


def test_a_pointer_of_git_lfs_is_named(tmp_path):
    (tmp_path / "model.safetensors").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n")
    assert "git lfs pull" in refused(tmp_path)


def test_a_folder_without_weights_names_the_files_that_are_looked_for(tmp_path):
    message = refused(tmp_path)
    assert "lacks model.safetensors and pytorch_model.bin" in message
    (tmp_path / "tf_model.h5").write_bytes(b"")
    assert "Received: tf_model.h5" in refused(tmp_path)


def test_sharded_safetensors_are_read_through_their_index(tmp_path):
    write_shards(tmp_path, [{"a": TENSORS["a"]}, {"b.c": TENSORS["b.c"]}])
    assert_tensors(tmp_path)


def test_safetensors_are_preferred_to_torch(tmp_path):
    save_file(TENSORS, tmp_path / "model.safetensors")
    (tmp_path / "pytorch_model.bin").write_bytes(b"not even looked at")
    (tmp_path / "model.safetensors.index.json").write_text("not even looked at")
    assert_tensors(tmp_path)


@pytest.mark.parametrize(
    ("weight_map", "words"),
    [
        ({"a": "model-00003-of-00003.safetensors"}, "which the folder lacks"),
        ({"a": "../model-00001-of-00002.safetensors"}, "of its own folder. Received: '../"),
        ({"a": "/etc/passwd.safetensors"}, "of its own folder"),
        ({"a": "..\\x.safetensors"}, "of its own folder"),
        ({"a": "model-00001-of-00002.bin"}, "of its own folder"),
        ({"a": "sub/model-00001-of-00002.safetensors"}, "of its own folder"),
        ({"a": ".safetensors"}, "of its own folder"),
        ({"a": "model\0.safetensors"}, "of its own folder"),
        ({"a": 5}, '"weight_map"'),
        ({}, '"weight_map"'),
        ([], '"weight_map"'),
        (
            {"a": "model-00001-of-00002.safetensors", "z": "model-00001-of-00002.safetensors"},
            "holds z, which it does not",
        ),
        ({"b.c": "model-00001-of-00002.safetensors"}, "tensor a is not in that file"),
        (
            {"a": "model-00002-of-00002.safetensors", "b.c": "model-00001-of-00002.safetensors"},
            "is not in that file",
        ),
    ],
)
def test_an_index_that_does_not_fit_its_files_is_refused(weight_map, words, tmp_path):
    write_shards(tmp_path, [{"a": TENSORS["a"]}, {"b.c": TENSORS["b.c"]}], weight_map=weight_map)
    message = refused(tmp_path)
    assert words in message
    assert "index.json" in message


@pytest.mark.parametrize("text", ["", "[", "3", '{"weight_map": null}', "[" * 100_000])
def test_an_index_that_is_no_index_is_refused(text, tmp_path):
    (tmp_path / "model.safetensors.index.json").write_text(text)
    assert "model.safetensors.index.json must" in refused(tmp_path)


def test_a_truncated_shard_is_named(tmp_path):
    write_shards(tmp_path, [{"a": TENSORS["a"]}, {"b.c": TENSORS["b.c"]}])
    path = tmp_path / "model-00002-of-00002.safetensors"
    path.write_bytes(path.read_bytes()[:-1])
    assert "model-00002-of-00002.safetensors is damaged" in refused(tmp_path)


def torch_tensors():
    torch = pytest.importorskip("torch")
    return torch, {name: torch.from_numpy(value) for name, value in TENSORS.items()}


@pytest.mark.parametrize("zipped", [True, False], ids=["zip", "legacy"])
def test_a_file_of_torch_is_read(zipped, tmp_path):
    torch, tensors = torch_tensors()
    torch.save(tensors, tmp_path / "pytorch_model.bin", _use_new_zipfile_serialization=zipped)
    assert_tensors(tmp_path)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_other_floats_of_torch_become_float32(dtype, tmp_path):
    torch, tensors = torch_tensors()
    stored = {name: value.to(getattr(torch, dtype)) for name, value in tensors.items()}
    torch.save(stored, tmp_path / "pytorch_model.bin")
    assert_tensors(tmp_path, {name: value.float().numpy() for name, value in stored.items()})


def test_parameters_and_views_of_torch_are_read(tmp_path):
    torch, tensors = torch_tensors()
    stored = {"a": torch.nn.Parameter(tensors["a"]), "b.c": tensors["a"].t()[1:, 1]}
    torch.save(stored, tmp_path / "pytorch_model.bin")
    assert_tensors(tmp_path, {"a": TENSORS["a"], "b.c": TENSORS["a"].T[1:, 1]})


def test_sharded_files_of_torch_are_read_through_their_index(tmp_path):
    torch, tensors = torch_tensors()
    shards = [{"a": tensors["a"]}, {"b.c": tensors["b.c"]}]
    write_shards(tmp_path, shards, stem="pytorch_model", suffix=".bin", write=torch.save)
    assert_tensors(tmp_path)


@pytest.mark.parametrize("form", ["zip", "legacy", "plain"])
def test_a_malicious_file_of_torch_is_refused_and_not_executed(form, tmp_path):
    torch, tensors = torch_tensors()
    content = {**tensors, "evil": Attack(tmp_path / "executed")}
    path = tmp_path / "pytorch_model.bin"
    if form == "plain":
        path.write_bytes(pickle.dumps(content["evil"]))
    else:
        torch.save(content, path, _use_new_zipfile_serialization=form == "zip")
    message = refused(tmp_path)
    assert "pytorch_model.bin" in message
    assert "weights_only" not in message  # no advice on how to execute it
    assert not (tmp_path / "executed").exists()
    if form != "plain":
        assert "must hold tensors and nothing else" in message
        assert "mkdir" in message


def test_the_malicious_file_of_these_tests_does_harm_when_it_is_unpickled(tmp_path):
    pickle.loads(pickle.dumps(Attack(tmp_path / "executed")))
    assert (tmp_path / "executed").exists()


@pytest.mark.parametrize("keep", [0, 1, 3, 10, 100, -200, -22, -1])
def test_a_truncated_file_of_torch_is_refused(keep, tmp_path):
    torch, tensors = torch_tensors()
    path = tmp_path / "pytorch_model.bin"
    torch.save(tensors, path)
    path.write_bytes(path.read_bytes()[:keep])
    assert "pytorch_model.bin" in refused(tmp_path)


@pytest.mark.parametrize("what", ["list", "number", "nested", "number as a name"])
def test_a_file_of_torch_that_holds_something_else_is_refused(what, tmp_path):
    torch, tensors = torch_tensors()
    content = {
        "list": list(tensors.values()),
        "number": {"a": tensors["a"], "epoch": 3},
        "nested": {"state_dict": tensors},
        "number as a name": {1: tensors["a"]},
    }[what]
    torch.save(content, tmp_path / "pytorch_model.bin")
    assert "must hold tensors by name" in refused(tmp_path)


def test_a_tensor_of_torch_that_holds_no_floats_is_refused_when_it_is_read(tmp_path):
    torch, tensors = torch_tensors()
    torch.save({"ids": torch.arange(3), "a": tensors["a"]}, tmp_path / "pytorch_model.bin")
    assert open_weights(tmp_path).read("a").shape == (3, 4)
    assert "tensor ids must be a dense tensor of floats" in refused(tmp_path)


def test_safetensors_named_as_torch_are_refused(tmp_path):
    pytest.importorskip("torch")
    save_file(TENSORS, tmp_path / "pytorch_model.bin")
    assert "pytorch_model.bin" in refused(tmp_path)


def test_without_torch_its_file_is_refused_with_the_name_of_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    (tmp_path / "pytorch_model.bin").write_bytes(b"")
    assert 'pip install "export-mobile[torch]"' in refused(tmp_path)


def test_a_torch_that_may_execute_code_is_refused(tmp_path, monkeypatch):
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch, "__version__", "2.5.1+cpu")
    (tmp_path / "pytorch_model.bin").write_bytes(b"")
    assert "needs PyTorch 2.6 or newer" in refused(tmp_path)


def test_reading_safetensors_imports_neither_torch_nor_tensorflow(tmp_path):
    save_file(TENSORS, tmp_path / "model.safetensors")
    code = (
        "import sys; from pathlib import Path; from models_tf.checkpoints import encoder as checkpoint, weights; "
        f"weights.open_weights(Path({str(tmp_path)!r})).read('a'); "
        "print(*sorted({'torch', 'tensorflow', 'transformers'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
