"""`export-mobile check` on token models of every task, both formats: what the export reported, to the row."""

import json
from pathlib import Path

import numpy as np
import pytest

from exporters import CheckRequest, ExportRequest, check, export
from exporters.commands import main as cli
from support.shipped_files import copy_of, shuffled
from support.tiny_models import LENGTH, write_checkpoint

GENERATOR = np.random.default_rng(5)


def words(most: int = 12) -> str:
    return " ".join(map(str, GENERATOR.integers(0, 56, GENERATOR.integers(2, most))))


def classification(folder: Path) -> Path:
    path = folder / "rows.tsv"
    rows = [f"{words()}\t{('no', 'yes', 'perhaps')[i % 3]}" for i in range(60)]
    path.write_text("\n".join(["text\tlabel", *rows]) + "\n")
    return path


def regression(folder: Path) -> Path:
    path = folder / "rows.tsv"
    rows = [f"{words(6)}\t{words(6)}\t{GENERATOR.normal():.3f}" for _ in range(60)]
    path.write_text("\n".join(["sentence1\tsentence2\tscore", *rows]) + "\n")
    return path


def tags(folder: Path) -> Path:
    path = folder / "rows.conll"
    sentences = [[f"{word}\t{GENERATOR.choice(['O', 'B-X', 'O'])}" for word in words().split()] for _ in range(40)]
    path.write_text("\n\n".join("\n".join(sentence) for sentence in sentences) + "\n")
    return path


def questions(folder: Path) -> Path:
    path = folder / "rows.json"
    asked = []
    for number in range(20):
        context = words(30)
        answer = context.split()[1]
        found = {"text": answer, "answer_start": context.index(answer)}
        asked.append({"context": context, "qas": [{"id": str(number), "question": words(4), "answers": [found]}]})
    path.write_text(json.dumps({"version": "1.1", "data": [{"title": "t", "paragraphs": asked}]}))
    return path


TASKS = {
    "classification": ("bert", classification),
    "regression": ("bert", regression),
    "token-classification": ("tagger", tags),
    "question-answering": ("bert", questions),
}


@pytest.fixture(scope="module", params=TASKS)
def made(request, tmp_path_factory) -> tuple[Path, Path]:
    """An export in both formats, and its rows."""
    model, write = TASKS[request.param]
    folder = tmp_path_factory.mktemp(request.param)
    data = write(folder)
    export(
        ExportRequest(
            model=model,
            checkpoint=write_checkpoint(folder / "tiny", model, request.param),
            eval_data=data,
            calibration_data=data,
            max_seq_len=LENGTH,
            output=folder / "out",
        )
    )
    return folder / "out", data


@pytest.mark.exhaustive
def test_both_formats_score_what_the_export_reported(made, tmp_path):
    folder, data = made
    report = json.loads((folder / "report.json").read_text())
    reported = {stage["stage"].partition(" on ")[0]: stage["score"] for stage in report["accuracy"]}
    result = check(CheckRequest(model=folder, data=data, baseline=tmp_path / "b.json", update_baseline=True))
    assert [file.name for file in result.files] == ["model_int8.onnx", "model_int8.tflite"]
    for file in result.files:
        assert file.metric == reported[file.name]["metric"]
        assert file.value == pytest.approx(reported[file.name]["value"], abs=1e-6)
        assert file.n == reported[file.name]["n"]
    again = check(CheckRequest(model=folder, data=data, baseline=tmp_path / "b.json", strict=True))
    assert again.passed
    assert all(file.drop.points == 0 for file in again.files)


@pytest.fixture(scope="module")
def classifier(tmp_path_factory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("classifier")
    data = classification(folder)
    checkpoint = write_checkpoint(folder / "tiny", "bert", "classification")
    request = ExportRequest(
        model="bert", checkpoint=checkpoint, eval_data=data, calibration_data=data, target="tflite",
        max_seq_len=LENGTH, output=folder / "out",
    )  # fmt: skip
    export(request)
    return folder / "out", data


def test_a_token_file_that_changed_is_noticed(classifier, tmp_path):
    folder, data = classifier
    copy = copy_of(folder, tmp_path / "bad")
    (copy / "model_int8.tflite").write_bytes(shuffled((folder / "model_int8.tflite").read_bytes()))
    # Random weights answer by chance: what changed is what the two files say, not how often they are right.
    result = check(CheckRequest(model=copy, data=data, against=folder, strict=True, max_drop=100))
    assert result.files[0].drop.worse + result.files[0].drop.better > 5


BAD = {
    "no tokenizer": (lambda p: [path.unlink() for path in (p / "vocab.txt", p / "tokenizer.json")], "vocab.txt"),
    "another tokenizer": (
        lambda p: [(p / "tokenizer.json").unlink(), (p / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\na\n")],
        "must have 60 tokens",
    ),
    "no model.json": (lambda p: (p / "model.json").unlink(), "needs model.json beside it"),
    "labels that do not fit": (
        lambda p: (p / "model.json").write_text((p / "model.json").read_text().replace('"perhaps"', '"a",\n"b"')),
        "3 numbers",
    ),
    "a damaged model.json": (lambda p: (p / "model.json").write_text('{"format": "export-mobile-tokens/1"}'), '"task"'),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_wrong_beside_a_token_file_is_one_line(name, classifier, tmp_path, capsys):
    folder, data = classifier
    copy = copy_of(folder, tmp_path / "m")
    damage, words_of_it = BAD[name]
    damage(copy)
    capsys.readouterr()
    assert cli.main(["check", str(copy), "--data", str(data)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert words_of_it in line
