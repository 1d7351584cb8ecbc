"""The request refuses what cannot work, before any work, in one line with expected, received and remedy."""

import functools
import json
from pathlib import Path

import numpy as np
import pytest

from exporters.request import ExportRequest
from exporters.request_choices import parse_size, parse_targets
from exporters.training.request import TrainRequest
from models_tf import limits, registry
from models_tf.errors import InputError

FILES = {"train": "train.tsv", "dev": "dev.tsv", "output": "out"}


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"model": "pardo"}, ["Unknown model", "Received: pardo", "prado"]),
        ({"quantize": "int88"}, ["Unknown recipe", "Received: int88", "Did you mean int8"]),
        ({"task": "snipz"}, ["Unknown task", "snips"]),
        ({"target": ("tflit",)}, ["Unknown target", "tflite"]),
        ({"target": ()}, ["Unknown target"]),
        ({"max_seq_len": 0}, ["`max_seq_len`", "Received: 0"]),
        ({"max_seq_len": -3}, ["`max_seq_len`", "Received: -3"]),
        ({"max_seq_len": 10**9}, ["`max_seq_len`", f"{limits.value('tokens'):,} tokens"]),
        ({"seed": -1}, ["`seed`"]),
        ({"eval_rows": 0}, ["`eval_rows`", "Received: 0"]),
        ({"eval_rows": 1.5}, ["`eval_rows`", "whole number", "Received: 1.5"]),
        ({"max_drop": -0.5}, ["`max_drop`"]),
        ({"max_drop": float("nan")}, ["`max_drop`"]),
        ({"max_size_bytes": 0}, ["`max_size_bytes`"]),
        ({"eval_data": "missing.tsv"}, ["`eval_data`", "missing.tsv"]),
        ({"calibration_data": "missing.tsv"}, ["`calibration_data`", "missing.tsv"]),
        ({"checkpoint": "folder", "task": "snips"}, ["`task`", "`checkpoint`"]),
        ({"model": "sgnn"}, ["`checkpoint`"]),
        ({"model": "mobilebert"}, ["No trained mobilebert", "`checkpoint` DIR", "`random_init`"]),
        ({"model": "mobilebert", "random_init": True, "checkpoint": "x"}, ["`random_init`", "`checkpoint`"]),
        ({"model": "mobilebert", "checkpoint": "x", "preset": "opt"}, ["`preset`", "`random_init`"]),
        ({"model": "mobilebert", "checkpoint": "x", "task": "snips"}, ["`task`", "token-classification", "snips"]),
        ({"model": "mobilebert", "checkpoint": "x", "fold": "half"}, ["`fold`", "full, safe, off", "half"]),
        ({"model": "mobilebert", "random_init": True, "eval_data": __file__}, ["`random_init`", "tokenizer"]),
        ({"random_init": True}, ["`random_init` is for token models", "mobilebert"]),
        ({"preset": "opt"}, ["`preset` is for token models"]),
        ({"text_pair_column": "b"}, ["`text_pair_column` is for token models"]),
        ({"fold": "off"}, ["`fold` is for token models"]),
        ({"random_init": 1}, ["`random_init`", "true or false"]),
        ({"fold": None}, ["`fold`"]),
        ({"max_size_bytes": "200KB"}, ["`max_size_bytes`", "whole number of bytes", "Received: '200KB'"]),
        ({"max_size_bytes": 1e5}, ["`max_size_bytes`"]),
        ({"max_drop": "0.5"}, ["`max_drop`", "number of points", "Received: '0.5'"]),
        ({"quantize": None}, ["`quantize`", "Received: None"]),
        ({"seed": 1.5}, ["`seed`", "whole number", "Received: 1.5"]),
        ({"seed": None}, ["`seed`"]),
        ({"max_seq_len": "32"}, ["`max_seq_len`", "Received: '32'"]),
        ({"max_seq_len": True}, ["`max_seq_len`", "Received: True"]),
        ({"model": 5}, ["`model`"]),
        ({"checkpoint": 5}, ["`checkpoint`", "a path"]),
        ({"target": None}, ["`target`"]),
        ({"target": (1,)}, ["`target`"]),
        ({"min_runtime": "3.1"}, ["`min_runtime`", "from 2.3 on", "Received: 3.1"]),
        ({"min_runtime": "2.2"}, ["`min_runtime`", "Received: 2.2"]),
        ({"min_runtime": "2.14.0"}, ["`min_runtime`", "such as 2.14"]),
        ({"min_runtime": 2.14}, ["`min_runtime`", "a text"]),
        ({"min_runtime": "2.14", "target": "onnx"}, ["`min_runtime`", ".tflite", "Received: `target` onnx"]),
        ({"min_runtime": "2.14", "quantize": "int4"}, ["`quantize` int4", "LiteRT", "choose another"]),
        ({"io": "int16"}, ["`io`", "float32, int32, int8", "Received: int16", "Did you mean int8"]),
        ({"io": 8}, ["`io`", "Received: 8"]),
        ({"io": "int8"}, ["`io` int8", ".tflite", "Received: `target` tflite,onnx"]),
        ({"io": "int8", "quantize": "fp16", "target": "tflite"}, ["`io` int8", "int8, int8-full", "fp16"]),
        ({"io": "int8", "outputs": "labels", "target": "tflite"}, ["`outputs` labels", "`io` int8"]),
        ({"graphs": "byte,text"}, ["`graphs`", "bytes, features, text", "Received: byte.", "Did you mean bytes"]),
        ({"graphs": ()}, ["`graphs`", "Received: none"]),
        ({"graphs": ","}, ["`graphs`", "Received: none"]),
        ({"graphs": 3}, ["`graphs`", "Received: 3"]),
        ({"max_bytes": 15}, ["`max_bytes`", "16 to 65536", "Received: 15"]),
        ({"max_bytes": 65_537}, ["`max_bytes`", "Received: 65537"]),
        ({"max_bytes": "64"}, ["`max_bytes`", "Received: '64'"]),
        ({"max_bytes": 64, "graphs": "text"}, ["`max_bytes` is for bytes-in files", "`graphs` text"]),
        ({"outputs": "label"}, ["`outputs`", "logits, labels", "Received: label"]),
        ({"outputs": "labels", "graphs": "features,text"}, ["`outputs` labels is for bytes-in files"]),
        ({"outputs": "labels", "quantize": "int8-full", "target": "tflite"}, ["`outputs` labels", "int8-full"]),
        ({"model": "bert", "checkpoint": "x", "graphs": "bytes"}, ["`graphs` is for projection models", "prado, sgnn"]),
        ({"model": "bert", "checkpoint": "x", "max_bytes": 64}, ["`max_bytes` is for projection models"]),
        ({"model": "bert", "checkpoint": "x", "outputs": "labels"}, ["`outputs` is for projection models"]),
    ],
)
def test_bad_values_are_refused_in_one_line(fields, words):
    with pytest.raises(InputError) as caught:
        ExportRequest(**fields)
    assert "\n" not in str(caught.value)
    for word in words:
        assert word in str(caught.value)


def test_the_default_is_the_bundled_prado_in_int8_for_both_targets():
    request = ExportRequest()
    assert (request.quantize, request.target) == ("int8", ("tflite", "onnx"))
    assert request.checkpoint_folder.name == "snips"
    assert request.output_folder == Path("export-mobile-out/prado-snips-int8")


def test_a_checkpoint_names_the_default_output_folder(tmp_path):
    request = ExportRequest(checkpoint=tmp_path / "mine", quantize="fp16")
    assert request.output_folder == Path("export-mobile-out/mine-fp16")


def test_targets_keep_one_order_and_drop_repetition():
    assert ExportRequest(target="onnx,tflite,onnx").target == ("tflite", "onnx")
    assert parse_targets(" onnx , ") == ("onnx",)


@pytest.mark.parametrize(
    ("text", "size"), [("200KB", 204800), ("204800", 204800), ("1.5 MB", 1572864), ("7b", 7), ("1k", 1024)]
)
def test_sizes_have_units_of_1024(text, size):
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "KB", "-1KB", "12 parsecs", "1e3", "200KBs", "9" * 400, "1." + "9" * 400 + "MB"])
def test_sizes_that_are_not_sizes_are_refused(text):
    with pytest.raises(InputError, match="--max-size") as caught:
        parse_size(text)
    assert len(str(caught.value)) < 200


def test_numbers_of_numpy_are_numbers():
    request = ExportRequest(max_size_bytes=np.int64(7), max_drop=np.float32(0.5), seed=np.int32(3))
    values = (request.max_size_bytes, request.max_drop, request.seed)
    assert json.loads(json.dumps(values)) == [7, 0.5, 3]


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        ('{"model_type": "mobilebert"}', "tokens"),
        ('{"model_type": "gpt2"}', "tokens"),
        ('{"format": "export-mobile/1", "model": "prado"}', "projection"),
        ("[]", "projection"),
        (None, "projection"),
    ],
)
def test_the_kind_of_a_checkpoint_without_a_model_name_is_read_from_its_config(tmp_path, content, kind):
    if content is not None:
        (tmp_path / "config.json").write_text(content)
    assert ExportRequest(checkpoint=tmp_path).kind == kind


@pytest.mark.parametrize("request_of", [ExportRequest, functools.partial(TrainRequest, **FILES)])
def test_a_config_that_is_no_json_is_named_as_such(tmp_path, request_of):
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(InputError, match=r"config.json must be JSON. Received: "):
        request_of(checkpoint=tmp_path)


def test_a_training_takes_the_model_of_its_checkpoint(tmp_path):
    assert TrainRequest(**FILES).model == "prado"
    (tmp_path / "config.json").write_text('{"model_type": "distilbert"}')
    assert TrainRequest(**FILES, checkpoint=tmp_path).model == "distilbert"
    with pytest.raises(InputError, match=r"`checkpoint` is for token models .* with `model` prado"):
        TrainRequest(**FILES, model="prado", checkpoint=tmp_path)


def test_random_weights_have_an_output_folder_of_their_own():
    request = ExportRequest(model="mobilebert", random_init=True)
    assert request.output_folder == Path("export-mobile-out/mobilebert-random-int8")


def test_a_hub_id_is_kept_as_it_is():
    request = ExportRequest(model="mobilebert", checkpoint="google/mobilebert-uncased")
    assert str(request.checkpoint) == "google/mobilebert-uncased"
    assert request.output_folder == Path("export-mobile-out/mobilebert-mobilebert-uncased-int8")


def test_a_token_checkpoint_for_a_projection_model_is_refused(tmp_path):
    (tmp_path / "config.json").write_text('{"model_type": "mobilebert"}')
    names = " or ".join(registry.names(registry.TOKENS))
    with pytest.raises(InputError, match=rf"holds a token model: give `model` {names}\. Received: prado"):
        ExportRequest(model="prado", checkpoint=tmp_path)


def test_graphs_are_in_one_order_and_without_repetition():
    assert ExportRequest(graphs="text,bytes,text").graphs == ("bytes", "text")
    assert ExportRequest(graphs=["features"]).graphs == ("features",)
    assert ExportRequest().graphs is None


def test_bytes_in_files_are_wanted_if_anything_of_them_is_asked_for():
    assert not ExportRequest().wants_bytes
    assert not ExportRequest(graphs="features,text").wants_bytes
    for fields in ({"graphs": "bytes"}, {"max_bytes": 64}, {"outputs": "labels"}):
        assert ExportRequest(**fields).wants_bytes
