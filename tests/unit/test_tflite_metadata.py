"""TFLite metadata: what is written is read back, any bytes are safe to read, files behind a model are an archive."""

import io
import zipfile

import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter

from exporters.anatomy.run import anatomy
from exporters.anatomy.text import blocks
from exporters.formats.base import get
from exporters.formats.graph import MediaPipeForm
from exporters.formats.tflite import metadata
from exporters.formats.tflite.mediapipe import with_metadata
from quantize.tflite.flatbuffer import read_model, write_model
from quantize.tflite.graph import op_name, schema, tensor_name
from quantize.tflite.passes.classifier_form import classifier_form
from quantize.tflite.passes.compact import compact
from quantize.tflite.passes.float_outputs import float_outputs
from support import tiny_files

VALUES = {
    "name": "tiny",
    "description": "Ünicode 日本",
    "subgraph_metadata": [
        {
            "input_tensor_metadata": [
                {"name": "ids", "content": {"content_properties": ("FeatureProperties", {})}, "stats": {}},
                {"name": "mask", "dimension_names": ["batch", "time"]},
            ],
            "output_tensor_metadata": [
                {
                    "name": "probability",
                    "stats": {"max": [1.0], "min": [0.0]},
                    "associated_files": [{"name": "labels.txt", "type": metadata.AXIS_LABELS, "locale": "en"}],
                }
            ],
            "input_process_units": [{"options": ("BertTokenizerOptions", {"vocab_file": [{"name": "vocab.txt"}]})}],
        }
    ],
    "min_parser_version": "1.1.0",
}
FORM = MediaPipeForm(name="tiny", labels=("no", "yes", "perhaps"), vocabulary=b"[PAD]\n[CLS]\n[SEP]\n[UNK]\n")


@pytest.fixture(scope="module")
def plain() -> bytes:
    """A classifier as MediaPipe takes it, without metadata."""
    model = read_model(tiny_files.files("mobilebert").tflite("int8"))
    float_outputs(model)
    classifier_form(model)
    compact(model)
    return write_model(model)


@pytest.fixture(scope="module")
def packed(plain) -> bytes:
    return with_metadata(plain, FORM)


def test_what_is_written_is_read_back():
    assert metadata.parsed(metadata.written(VALUES)) == VALUES


def test_the_same_values_make_the_same_bytes(plain, packed):
    assert with_metadata(plain, FORM) == packed


def test_a_field_that_a_table_does_not_have_is_refused():
    with pytest.raises(ValueError, match=r"Stats has the fields max, min\. Received: mean\."):
        metadata.written({"subgraph_metadata": [{"input_tensor_metadata": [{"stats": {"mean": [1.0]}}]}]})


def test_every_cut_and_every_changed_byte_of_metadata_gives_values_or_a_clear_error():
    whole = metadata.written(VALUES)
    generator = np.random.default_rng(0)
    cases = [whole[:end] for end in range(len(whole))]
    for place in range(len(whole)):
        changed = bytearray(whole)
        changed[place] = int(generator.integers(0, 256))
        cases.append(bytes(changed))
    for case in cases:
        try:
            assert isinstance(metadata.parsed(case), dict)
        except (ValueError, UnicodeError) as error:
            assert str(error)  # noqa: PT017 - both outcomes are fine, and no other


def test_the_files_behind_a_model_are_stored_and_any_unzip_reads_them(plain, packed):
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        assert archive.testzip() is None
        assert {info.compress_type for info in archive.infolist()} == {zipfile.ZIP_STORED}
        assert archive.read("labels.txt") == b"no\nyes\nperhaps\n"
        assert archive.read("vocab.txt") == FORM.vocabulary
    assert metadata.archive_of(packed).sizes == {"labels.txt": 15, "vocab.txt": len(FORM.vocabulary)}
    assert metadata.archive_of(plain) is None


def test_a_runtime_answers_with_metadata_what_it_answers_without(plain, packed):
    rows = {name: values[:1] for name, values in tiny_files.inputs(1).items()}
    answers = [
        Interpreter(model_content=content).get_signature_runner()(**rows)["probabilities"]
        for content in (plain, packed)
    ]
    np.testing.assert_array_equal(*answers)
    assert answers[0].sum() == pytest.approx(1, abs=1e-5)


def test_the_form_has_three_inputs_of_one_length_one_graph_and_probabilities_last(packed):
    file = get("tflite").open(packed)
    (graph,) = file.model.subgraphs
    names = [tensor_name(graph.tensors[index]) for index in graph.inputs]
    assert names == ["ids", "segment_ids", "mask"]
    for index in graph.inputs:
        tensor = graph.tensors[index]
        assert (tensor.type, tensor.shape, tensor.shapeSignature) == (
            schema.TensorType.INT32,
            [1, tiny_files.LENGTH],
            None,
        )
    assert op_name(file.model, graph.operators[-1]) == "SOFTMAX"
    (signature,) = file.signatures.values()
    assert [info.name for info in signature.inputs] == ["ids", "segments", "mask"]
    assert [(info.name, info.dtype, info.shape) for info in signature.outputs] == [("probabilities", "float32", (1, 3))]


def test_inspect_shows_what_the_metadata_say_and_counts_what_is_behind_the_model(plain, packed):
    found, before = (anatomy(get("tflite").open(content), runtime=False) for content in (packed, plain))
    lines = [line for line in blocks(found) if isinstance(line, str)]
    assert "metadata: tiny; input ids, segment_ids, mask; output probability; BertTokenizerOptions" in lines, lines
    assert "packed into the file: labels.txt (15 bytes), vocab.txt (24 bytes)" in lines
    assert found.metadata_bytes - before.metadata_bytes > 15 + 24
    assert abs(found.structure_bytes - before.structure_bytes) < 200


def test_broken_metadata_are_named_and_the_model_is_still_shown(plain):
    model = read_model(plain)
    entry = schema.MetadataT()
    entry.name, entry.buffer = metadata.BUFFER_NAME, len(model.buffers)
    buffer = schema.BufferT()
    buffer.data = np.frombuffer(b"no metadata at all", np.uint8)
    model.buffers.append(buffer)
    model.metadata = [entry]
    found = anatomy(get("tflite").open(write_model(model)), runtime=False)
    assert any("metadata that cannot be read" in line for line in blocks(found) if isinstance(line, str))
