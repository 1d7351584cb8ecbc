"""`--mediapipe`: what is written beside the usual file, that every check sees it, and what is refused."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from exporters import CheckRequest, ExportRequest, check, export
from exporters.commands import main as cli
from exporters.formats.base import get, load_runner
from exporters.formats.tflite.metadata import metadata_of
from models_tf.errors import InputError
from models_tf.tokenizers.tokenizer import Tokenizer
from support.export_command import assert_examples_fit_their_schema
from support.spiece_files import PIECES, spiece_model
from support.tiny_models import TOKENS, VOCAB, write_checkpoint


def checkpoint(folder: Path, model: str = "bert", task: str = "classification", **changes) -> Path:
    write_checkpoint(folder, model, task, **{"vocab_size": len(TOKENS), **changes})
    (folder / "vocab.txt").write_bytes(VOCAB)
    return folder


@pytest.fixture(scope="module")
def table(tmp_path_factory) -> Path:
    generator = np.random.default_rng(0)
    words = [token for token in TOKENS[5:] if not token.startswith("#")]
    lines = ["text\tlabel"]
    texts = (" ".join(generator.choice(words, generator.integers(1, 12))) for _ in range(60))
    lines += [f"{text}\t{('no', 'yes', 'perhaps')[row % 3]}" for row, text in enumerate(texts)]
    path = tmp_path_factory.mktemp("data") / "rows.tsv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def exported(tmp_path_factory, table) -> tuple[Path, object]:
    folder = tmp_path_factory.mktemp("mediapipe")
    request = ExportRequest(
        checkpoint=checkpoint(folder / "model"), eval_data=table, mediapipe=True, max_seq_len=16, output=folder / "out"
    )
    return folder / "out", export(request)


def test_the_file_goes_through_every_check_of_an_export(exported):
    folder, report = exported
    assert report.passed, report.failures
    names = [file.name for file in report.files if file.target]
    assert names == ["model_int8.tflite", "mediapipe_int8.tflite", "model_int8.onnx"]
    name = "mediapipe_int8.tflite on LiteRT"
    scores = {stage.stage: stage.score.value for stage in report.accuracy}
    assert name in scores
    (parity,) = [one for one in report.parity if one.candidate == name]
    assert parity.limit == 1e-5
    assert parity.reference == "model_int8.tflite on LiteRT (padded)"
    assert {one.file for one in report.latency} >= {"mediapipe_int8.tflite"}
    assert_examples_fit_their_schema(folder)
    document = json.loads((folder / "examples.json").read_text(encoding="utf-8"))
    assert document["files"]["mediapipe_int8.tflite"]["inputs"] == ["ids", "mask", "segments"]
    assert {"ids", "mask", "segments"} <= document["examples"][0]["inputs"].keys()
    files = json.loads((folder / "model.json").read_text(encoding="utf-8"))["files"]
    assert [one["name"] for one in files["mediapipe_int8.tflite"]["serving_default"]["outputs"]] == ["probabilities"]


def test_it_answers_the_probabilities_of_the_usual_file(exported):
    folder, _ = exported
    document = json.loads((folder / "examples.json").read_text(encoding="utf-8"))
    for example in document["examples"]:
        logits = np.array(example["outputs"]["model_int8.tflite"]["logits"])
        expected = np.exp(logits - logits.max()) / np.exp(logits - logits.max()).sum()
        found = example["outputs"]["mediapipe_int8.tflite"]["probabilities"]
        # Rows are padded here and not there: an int8 value on the edge may go to the step beside.
        assert np.abs(found - expected).max() <= document["files"]["mediapipe_int8.tflite"]["tolerance"]


def test_check_scores_it_like_the_usual_file(exported, table):
    folder, _ = exported
    found = {file.name: file for file in check(CheckRequest(model=folder, data=table, rows=30)).files}
    assert found["mediapipe_int8.tflite"].value == pytest.approx(found["model_int8.tflite"].value, abs=4)
    assert found["mediapipe_int8.tflite"].n == 30


def test_the_usual_file_is_the_same_without_it(exported, table, tmp_path):
    folder, _ = exported
    request = ExportRequest(
        checkpoint=folder.parent / "model", eval_data=table, max_seq_len=16, target="tflite", output=tmp_path / "out"
    )
    export(request)
    assert (tmp_path / "out" / "model_int8.tflite").read_bytes() == (folder / "model_int8.tflite").read_bytes()
    assert not (tmp_path / "out" / "mediapipe_int8.tflite").exists()


@pytest.mark.slow
@pytest.mark.parametrize("recipe", ["float32", "fp16", "int8-dynamic", "int8-full"])
def test_every_recipe_has_such_a_file(exported, table, recipe, tmp_path):
    folder, _ = exported
    report = export(
        ExportRequest(
            checkpoint=folder.parent / "model",
            eval_data=table,
            quantize=recipe,
            mediapipe=True,
            strip_names=recipe == "fp16",
            max_seq_len=16,
            target="tflite",
            output=tmp_path / "out",
        )
    )
    assert report.passed, report.failures
    path = tmp_path / "out" / f"mediapipe_{recipe.replace('-', '_')}.tflite"
    assert metadata_of(get("tflite").open(path).model)["name"] == "bert"
    feed = {name: np.ones((1, 16), np.int32) for name in ("ids", "mask", "segments")}
    assert load_runner(path, inputs=tuple(feed))(feed)["probabilities"].sum() == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize(
    ("flags", "line"),
    [
        (("--mediapipe",), "--mediapipe is for token models"),
        (("--model", "bert", "--random-init", "--mediapipe"), "--mediapipe needs a model with a vocabulary."),
        (
            ("--model", "bert", "--checkpoint", "x", "--mediapipe", "--target", "onnx"),
            "--mediapipe is for .tflite files. Received: --target onnx.",
        ),
        (
            ("--model", "bert", "--checkpoint", "x", "--mediapipe", "--text-pair-column", "b"),
            "--mediapipe is for single texts. Received: --text-pair-column b.",
        ),
        (
            ("--model", "bert", "--checkpoint", "x", "--mediapipe", "--io", "int8", "--target", "tflite"),
            "--mediapipe needs float answers. Received: --io int8.",
        ),
    ],
)
def test_flags_that_do_not_fit_are_one_line_and_nothing_is_written(tmp_path, monkeypatch, capsys, flags, line):
    monkeypatch.chdir(tmp_path)
    assert cli.main([*flags, "--output", "out"]) == 2
    assert capsys.readouterr().err.splitlines()[-1].startswith(f"export-mobile: {line}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("model", "task", "line"),
    [
        ("tagger", "token-classification", "for classifiers. Received: a model for token-classification."),
        ("bert", "question-answering", "for classifiers. Received: a model for question-answering."),
        ("bert", "regression", "for classifiers. Received: a model for regression."),
        ("bert", "base", "for classifiers. Received: a model for base."),
    ],
)
def test_models_that_do_not_fit_are_refused_in_one_line(model, task, line, tmp_path):
    folder = checkpoint(tmp_path / "model", model, task)
    with pytest.raises(InputError) as error:
        export(ExportRequest(checkpoint=folder, mediapipe=True, max_seq_len=16, output=tmp_path / "out"))
    assert line in str(error.value)
    assert len(str(error.value).splitlines()) == 1
    assert not (tmp_path / "out").exists()


def test_a_cased_vocabulary_is_refused(exported, tmp_path):
    folder = shutil.copytree(exported[0].parent / "model", tmp_path / "model")
    (folder / "tokenizer_config.json").write_text('{"do_lower_case": false}')
    with pytest.raises(InputError, match="vocabulary in lower case"):
        export(ExportRequest(checkpoint=folder, mediapipe=True, max_seq_len=16, output=tmp_path / "out"))


def test_another_template_than_mediapipes_is_refused(exported, tmp_path):
    folder = shutil.copytree(exported[0].parent / "model", tmp_path / "model")
    tokenizer = Tokenizer.from_folder(folder).document()
    tokenizer["post_processor"]["single"].pop()  # no [SEP]
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    with pytest.raises(InputError, match=r"rows of \[CLS\] text \[SEP\], as MediaPipe does"):
        export(ExportRequest(checkpoint=folder, mediapipe=True, max_seq_len=16, output=tmp_path / "out"))


def test_rows_with_a_second_text_are_refused(exported, tmp_path):
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("sentence1\tsentence2\tlabel\ngood film\tbad film\tno\nthe\ta\tyes\n", encoding="utf-8")
    with pytest.raises(InputError, match="single texts"):
        export(
            ExportRequest(
                checkpoint=exported[0].parent / "model",
                eval_data=pairs,
                quantize="float32",
                mediapipe=True,
                max_seq_len=16,
                output=tmp_path / "out",
            )
        )


def test_a_sentencepiece_model_is_refused(tmp_path):
    folder = write_checkpoint(tmp_path / "model", "albert", vocab_size=len(PIECES))
    (folder / "vocab.txt").unlink()
    (folder / "spiece.model").write_bytes(spiece_model())
    with pytest.raises(InputError, match="WordPiece vocabulary"):
        export(ExportRequest(checkpoint=folder, mediapipe=True, max_seq_len=16, output=tmp_path / "out"))


def test_a_model_with_several_labels_a_text_is_refused(exported, tmp_path):
    folder = shutil.copytree(exported[0].parent / "model", tmp_path / "model")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "problem_type": "multi_label_classification"}))
    with pytest.raises(InputError, match="with one label per text"):
        export(ExportRequest(checkpoint=folder, mediapipe=True, max_seq_len=16, output=tmp_path / "out"))


def test_a_label_that_is_not_one_line_is_refused(exported, tmp_path):
    """As in every export: labels.txt has a line for each."""
    folder = shutil.copytree(exported[0].parent / "model", tmp_path / "model")
    config = json.loads((folder / "config.json").read_text())
    labels = {"id2label": {"0": "a\nb", "1": "c", "2": "d"}, "label2id": {"a\nb": 0, "c": 1, "d": 2}}
    (folder / "config.json").write_text(json.dumps({**config, **labels}))
    with pytest.raises(InputError, match="must be labels of printable text"):
        export(ExportRequest(checkpoint=folder, mediapipe=True, max_seq_len=16, output=tmp_path / "out"))
