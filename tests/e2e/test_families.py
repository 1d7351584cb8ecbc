"""The families beside BERT through the other commands; all recipes are in test_export_tokens.py."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exporters import (
    AblateRequest,
    AndroidRequest,
    BenchRequest,
    CheckRequest,
    CompressRequest,
    DemoRequest,
    ExplainRequest,
    ExportRequest,
    InputError,
    ProfileRequest,
    TrainRequest,
    ablate,
    android,
    bench,
    check,
    compress,
    demo,
    explain,
    export,
    profile,
    train,
)
from exporters.shipped import device_tokenizer
from exporters.sources.tokens import TokenSource
from models_tf.checkpoints import encoder as checkpoint
from models_tf.compress.settings import Compression
from support.byte_pairs import write_roberta
from support.family_tokenizers import write_family
from support.tiny_models import LABELS, RELATIVES, tiny_encoder, write_checkpoint

ALL_HEADS = ("mpnet", "deberta-v2")  # cannot be pruned
WORDS = ("film", "good", "bad", "the", "Anna", "café")


@pytest.fixture(scope="module")
def rows(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("rows") / "rows.tsv"
    labels = LABELS["classification"]
    path.write_text("text\tlabel\n" + "".join(f"{i % 9} {i % 7}\t{labels[i % 3]}\n" for i in range(60)))
    return path


def exported(folder: Path, output: Path, **changes: Any) -> Any:
    settings = {"checkpoint": folder, "quantize": "float32", "target": ("onnx",), "output": output, **changes}
    report = export(ExportRequest(**settings))
    report.raise_for_failures()
    return report


def output_names(folder: Path) -> set[str]:
    """Of all files, which must have the same."""
    files = json.loads((folder / "model.json").read_text())["files"].values()
    found = [{entry["name"] for entry in file.get("serving_default", file)["outputs"]} for file in files]
    assert all(names == found[0] for names in found)
    return found[0]


@pytest.mark.slow
@pytest.mark.parametrize("model", RELATIVES)
def test_every_kind_of_compression_keeps_the_family_and_is_read_again(model, rows, tmp_path):
    folder = write_checkpoint(tmp_path / "whole", model, num_hidden_layers=3, n_layers=3)
    asked = Compression(
        drop_layers="top:1",
        prune_heads=0.0 if model in ALL_HEADS else 0.5,
        prune_ffn=0.5,
        embedding_size=None if model in ("electra", "deberta-v2") else 8,
    )
    compress(CompressRequest(checkpoint=folder, data=rows, compression=asked, output=tmp_path / "small"))
    found = checkpoint.load(tmp_path / "small")
    assert found.model_name == model
    assert (found.config.num_layers, found.config.kept_ffn) == (2, (10, 10))
    assert found.config.kept_heads == (() if model in ALL_HEADS else (1, 1))
    exported(tmp_path / "small", tmp_path / "out")
    shared = Compression(share_layers=1)
    compress(CompressRequest(checkpoint=folder, compression=shared, output=tmp_path / "shared"))
    assert checkpoint.load(tmp_path / "shared").config.shared_layers == (0, 0, 0)


@pytest.mark.parametrize(
    ("model", "asked", "words"),
    [
        ("electra", {"embedding_size": 8}, "`embedding_size` is for .*bert, .* Received: electra"),
        ("deberta-v2", {"embedding_size": 8}, "`embedding_size` is for .*mpnet.* Received: deberta-v2"),
        ("distilbert", {"ghosts": 1}, "`ghosts` makes a ghostbert of a bert .* Received: distilbert"),
        ("roberta", {"retention": (4, 2)}, "`retention` makes a powerbert of a bert. Received: roberta"),
        ("mpnet", {"retention": (4, 2)}, "`retention` makes a powerbert of a bert. Received: mpnet"),
        ("deberta-v2", {"retention": (4, 2)}, "`retention` makes a powerbert of a bert. Received: deberta-v2"),
        ("deberta-v2", {"ghosts": 1}, "`ghosts` makes a ghostbert of a bert .* Received: deberta-v2"),
        ("deberta-v2", {"remove_heads": ((0, (1,)),)}, "`remove_heads` is for .*bert, .* Received: deberta-v2"),
        ("mpnet", {"ghosts": 1}, "`ghosts` makes a ghostbert of a bert .* Received: mpnet"),
        ("mpnet", {"remove_heads": ((0, (1,)),)}, "`remove_heads` is for .*bert, .* Received: mpnet"),
    ],
)
def test_a_compression_that_the_family_cannot_have_is_one_line(model, asked, words, tmp_path):
    folder = write_checkpoint(tmp_path / "whole", model, **({"embedding_size": 24} if model == "electra" else {}))
    with pytest.raises(InputError, match=words):
        compress(CompressRequest(checkpoint=folder, compression=Compression(**asked), output=tmp_path / "out"))


@pytest.mark.parametrize("model", ALL_HEADS)
def test_heads_that_read_one_table_cannot_be_pruned(model, rows, tmp_path):
    folder, asked = write_checkpoint(tmp_path / "whole", model), Compression(prune_heads=0.5)
    with pytest.raises(InputError, match=rf"`prune_heads` is for .* Received: {model}; use `prune_ffn`") as raised:
        compress(CompressRequest(checkpoint=folder, data=rows, compression=asked, output=tmp_path / "out"))
    named = str(raised.value).removeprefix("`prune_heads` is for ").partition(".")[0].split(", ")
    assert {"bert", "albert", "electra"} < set(named)
    assert not {*ALL_HEADS, "mobilebert", "ghostbert"} & set(named)


def test_the_model_json_of_deberta_gives_its_own_reason_for_one_length(tmp_path):
    exported(write_checkpoint(tmp_path / "whole", "deberta-v2"), tmp_path / "out")
    document = json.loads((tmp_path / "out" / "model.json").read_text())
    assert document["length"]["any"] is False
    assert "attention to distances needs the number of tokens" in document["about"]


@pytest.mark.parametrize("model", RELATIVES)
def test_heads_and_layers_are_ablated(model, rows, tmp_path):
    folder = write_checkpoint(tmp_path / "whole", model)
    result = ablate(AblateRequest(checkpoint=folder, data=rows, rows=20))
    assert [len(layer) for layer in result.heads] == [2, 2]
    assert len(result.layers) == 2


@pytest.mark.slow
@pytest.mark.parametrize("model", RELATIVES)
def test_a_training_learns_and_what_it_wrote_is_exported_checked_and_timed(model, rows, tmp_path):
    folder = write_checkpoint(tmp_path / "whole", model)
    request = TrainRequest(
        model=model,
        checkpoint=folder,
        train=rows,
        dev=rows,
        output=tmp_path / "trained",
        epochs=1,
        batch_size=16,
        max_seq_len=16,
    )
    trained = train(request)
    before, after = checkpoint.load(folder), checkpoint.load(trained.output)
    assert np.abs(before.tensors["pooler.kernel"] - after.tensors["pooler.kernel"]).max() > 0
    report = exported(trained.output, tmp_path / "out", eval_data=rows)
    assert report.model["inputs"] == (["ids", "mask"] if model != "electra" else report.model["inputs"])
    (again,) = check(CheckRequest(model=tmp_path / "out", data=rows)).files
    assert again.value == report.accuracy[-1].score.value
    (timed,) = bench(BenchRequest(files=(tmp_path / "out" / "model_float32.onnx",), rounds=5)).files
    assert timed.wall.count > 0
    with pytest.raises(InputError, match=rf"explain is for .* Received: .*{model}"):
        explain(ExplainRequest(checkpoint=trained.output, text="1 2"))


@pytest.mark.slow
@pytest.mark.parametrize("model", RELATIVES)
def test_a_profile_names_the_parts(model, tmp_path):
    folder = write_checkpoint(tmp_path / "whole", model)
    found = profile(ProfileRequest(checkpoint=folder, quantize="float32", target=("onnx",), max_seq_len=8, rounds=5))
    assert {"embedding", "attention", "FFN"} <= {part.part for part in found.parts}


@pytest.mark.slow
@pytest.mark.parametrize("model", RELATIVES)
@pytest.mark.parametrize("task", ["base", "regression", "token-classification", "question-answering"])
def test_every_head_is_exported_in_int8_in_both_formats(model, task, task_rows, tmp_path):
    rows = {"calibration_data": task_rows["classification"]} if task == "base" else {"eval_data": task_rows[task]}
    pairs = task == "question-answering"  # whose rows depend on the family's own tokenizer
    folder = (write_family if pairs else write_checkpoint)(tmp_path / "whole", model, task)
    report = exported(folder, tmp_path / "out", quantize="int8", target=("tflite", "onnx"), **rows)
    outputs = output_names(tmp_path / "out")
    pooled = {"pooled"} if "roberta" in model or model == "mpnet" else set()
    answers = {"start_logits", "end_logits"} if pairs else {"logits"}
    assert outputs == ({"hidden"} | pooled if task == "base" else answers)
    assert (
        json.loads((tmp_path / "out" / "model.json").read_text())["pairs"]
        is ({"base": False, "regression": True, "token-classification": False, "question-answering": True}[task])
    )
    if pairs:
        examples = json.loads((tmp_path / "out" / "examples.json").read_text())["examples"]
        assert all("text_pair" in example for example in examples)
        assert {(entry.score.metric, entry.score.n > 0) for entry in report.accuracy} == {("f1", True)}
        source = TokenSource.load(ExportRequest(checkpoint=folder, quantize="float32", **rows))
        read = source.rows(calibrate=False).evaluation
        whole = [row for row, question in enumerate(read.keys) if read.keys.count(question) == 1]  # passages in one row
        assert len(whole) > 50
        questions, passages = zip(*(read.texts(row) for row in whole), strict=True)
        for name, values in source.tokenizer.encode(questions, passages, max_len=source.max_seq_len).items():
            np.testing.assert_array_equal(read.inputs[name][whole], values)


@pytest.mark.parametrize("model", ["bert", "roberta"])
def test_a_model_without_a_pooler_is_exported_with_hidden_states_alone(model, tmp_path):
    made = tiny_encoder(model, "base")
    made = checkpoint.dataclasses.replace(
        made,
        config=checkpoint.dataclasses.replace(made.config, pools_base=False),
        tensors={name: value for name, value in made.tensors.items() if not name.startswith("pooler.")},
    )
    checkpoint.save(tmp_path / "masked", made)
    exported(tmp_path / "masked", tmp_path / "out")
    assert output_names(tmp_path / "out") == {"hidden"}
    fresh = checkpoint.load(tmp_path / "masked", head="classification", new_head_labels=["a", "b"])
    assert "pooler.kernel" in fresh.new_tensors


def test_byte_pairs_are_exported_and_the_report_says_that_no_library_for_devices_has_them(tmp_path):
    path = tmp_path / "words.tsv"
    labels = LABELS["classification"]
    path.write_text(
        "text\tlabel\n" + "".join(f"{WORDS[i % 6]} {WORDS[i % 5]}\t{labels[i % 3]}\n" for i in range(40)),
        encoding="utf-8",
    )
    report = exported(
        write_roberta(tmp_path / "whole"),
        tmp_path / "out",
        eval_data=path,
        target=("tflite", "onnx"),
        quantize="int8",
    )
    assert device_tokenizer.note("byte pairs") in report.notes
    document = json.loads((tmp_path / "out" / "model.json").read_text())
    assert document["tokenizer"]["kind"] == "byte-pairs"
    assert document["tokenizer"]["vocabulary"] == "tokenizer.json"
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "build.gradle.kts").write_text("// an app\n")
    with pytest.raises(InputError, match=r"android needs a tokenizer that its library has.*byte pairs"):
        android(AndroidRequest(folder=tmp_path / "out", package="com.example", output=tmp_path / "app"))
    with pytest.raises(InputError, match=r"demo needs a tokenizer that its library has.*byte pairs"):
        demo(DemoRequest(folders=(tmp_path / "out",)))
