"""Bytes-in graphs in OpenVINO, which has 32-bit integers alone: it refuses the files, and does not answer wrongly.

Its CPU plugin (2026.4) computes int64 and uint64 in int32 and says nothing: constants are clamped, values cut. It
refuses our files for other reasons. Should it take them one day, the texts of the self-test show the difference; that
is tested on a copy that it takes.
"""

import json
import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import onnx
import pytest

from exporters.bytes_in.settings import BytesIn
from exporters.formats.onnx.bytes_in import bytes_in_model as onnx_model
from exporters.formats.tflite.bytes_in import bytes_in_model as tflite_model
from exporters.self_test import texts as self_test
from models_tf.ops.projection.library import HostProjection
from quantize.onnx.session import make_session
from quantize.tflite.flatbuffer import write_model
from support.bytes_fronts import CONFIGS

pytestmark = pytest.mark.skipif(find_spec("openvino") is None, reason="openvino is not installed")

CONFIG = CONFIGS["bundled"][0]
MURMUR = 0xC6A4A7935BD1E995  # the factor of the hash
# In a process of its own: a file that kills it must not kill the tests.
JOB = """
import json, sys, numpy as np, openvino
core, path, rows = openvino.Core(), sys.argv[1], np.load(sys.argv[2])
try:
    model = core.compile_model(core.read_model(path), "CPU")
    np.savez(sys.argv[3], *[model([rows[name]])[0] for name in rows.files])
except RuntimeError as error:
    print(json.dumps(str(error)))
"""


def in_openvino(name, model, rows, folder):
    """What it answers to each row, or the reason why it refuses the file."""
    (folder / name).write_bytes(model)
    np.savez(folder / "rows.npz", *rows)
    command = [sys.executable, "-c", JOB, str(folder / name), str(folder / "rows.npz"), str(folder / "answers.npz")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    if done.stdout:
        return json.loads(done.stdout)
    answers = np.load(folder / "answers.npz")
    return [answers[name] for name in answers.files]


def self_test_texts():
    found = self_test.hard(CONFIG.pad_to) | {text: text for _, text in self_test.filled([], self_test.DATA, str)}
    assert len(found) == self_test.COUNT
    return {name: np.frombuffer(text.encode() or b"\0", np.uint8)[None] for name, text in found.items()}


def one_that_it_takes():
    """With shapes that are known, and an axis where the operator may flatten."""
    model = onnx_model(BytesIn(config=CONFIG))
    made_by = {node.output[0]: node for node in model.graph.node}
    for node in model.graph.node:
        if node.op_type == "Compress":
            kept = made_by[node.input[1]]
            if any(name in made_by and made_by[name].op_type == "Size" for name in kept.input):
                node.op_type = "Identity"
                del node.input[1]
            else:
                node.attribute.append(onnx.helper.make_attribute("axis", 0))
    return model


def test_it_refuses_the_onnx_file(tmp_path):
    model = onnx_model(BytesIn(config=CONFIG)).SerializeToString()
    assert "Compress" in in_openvino("front.onnx", model, self_test_texts().values(), tmp_path)


def test_it_refuses_the_tflite_file(tmp_path):
    model = tflite_model(BytesIn(config=CONFIG))
    for number, graph in enumerate(model.subgraphs):
        for index, tensor in enumerate(graph.tensors):
            tensor.name = f"{number}.{index}"  # it refuses a file without names before it looks at operators
    rows = [np.zeros((1, CONFIG.max_bytes), np.uint8)]
    assert "No translator found for UNSORTED_SEGMENT_SUM" in in_openvino("f.tflite", write_model(model), rows, tmp_path)


def test_the_texts_of_the_self_test_would_show_that_it_computes_otherwise(tmp_path):
    rows = self_test_texts()
    model = one_that_it_takes().SerializeToString()
    expected = HostProjection(CONFIG).project([row.tobytes() for row in rows.values()])[0]
    run = make_session(model).run
    np.testing.assert_array_equal(np.concatenate([run(None, {"text": row})[0] for row in rows.values()]), expected)
    answers = in_openvino("front.onnx", model, rows.values(), tmp_path)
    pairs = zip(rows, answers, expected, strict=True)
    assert {name for name, answer, wanted in pairs if np.array_equal(answer[0], wanted)} == {"empty"}


@pytest.mark.parametrize("kind", ["uint32", "uint64"])
def test_it_multiplies_in_32_bits(kind, tmp_path):
    factor = np.array([MURMUR & np.iinfo(kind).max], kind)
    text = f'<ir_version: 10, opset_import: ["" : 21]> g ({kind}[n] x) => ({kind}[n] y) {{ y = Mul(x, k) }}'
    model = onnx.parser.parse_model(text)
    model.graph.initializer.append(onnx.numpy_helper.from_array(factor, "k"))
    given = np.array([1, 3, 2**31], kind)
    (answer,) = in_openvino("multiply.onnx", model.SerializeToString(), [given], tmp_path)
    assert np.array_equal(answer, given * factor) == (kind == "uint32")
