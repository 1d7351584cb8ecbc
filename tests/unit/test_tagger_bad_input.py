"""Tag files and fields that a tagger cannot be trained from: one clear line with the line's number, nothing written."""

from pathlib import Path
from typing import Any

import pytest

from exporters import TrainRequest, train
from models_tf.checkpoints import encoder as checkpoint
from models_tf.data.tag_scheme import check_tags
from models_tf.data.tagged import read_tagged
from models_tf.errors import InputError
from support.real_checkpoints import data_folder
from support.tiny_models import VOCAB

GOOD = "Anna\tB-per\nSmith\tI-per\nlives\tO\n\nBerlin\tB-loc\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("train.conll", "dev.conll"):
        (tmp_path / name).write_text(GOOD)
    (tmp_path / "vocab.txt").write_bytes(VOCAB)
    (tmp_path / "texts.txt").write_text("who lives in berlin ?\n")
    return tmp_path


def refused(folder: Path, **fields: Any) -> str:
    """The line that the training ends with; it must have left nothing."""
    output = folder / "new" / "model"
    rows = {"train": folder / "train.conll", "dev": folder / "dev.conll", "max_seq_len": 8}
    with pytest.raises(InputError) as caught:
        train(TrainRequest(model="tagger", vocab=folder, output=output, **rows, **fields))
    assert not output.parent.exists()
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("name", ["train.conll", "dev.conll"])
@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("Anna\tB-per\nlives\n", 2, "must have 2 columns, as the lines above. Received: 1"),
        ("Anna\tx\tB-per\n\nlives\tO\n", 3, "must have 3 columns, as the lines above. Received: 2"),
        ("lives\tO\nAnna\tB-\n", 2, "a tag must name its type, such as B-person. Received: 'B-'"),
        ("Anna\tb-per\nlives\tO\n", 1, "tags of entities are in capitals, 'B-per'. Received: 'b-per'"),
        ("Anna\tb-per\nSmith\ti-per\n", 1, "tags of entities are in capitals, 'B-per'"),
        ("Anna\tB-per\nlives\to\n", 2, "tags of entities are in capitals, 'O'. Received: 'o'"),
        ("Anna\tB-per\nlives\tVERB\n", 2, "all tags must be O, B-x and I-x (or E-x, S-x), as 'B-per' in line 1"),
        ("Anna\tB-per\nSmith\tL-per\n", 2, "Received: 'L-per'. Of BILOU, write E-per."),
        ("Anna\tB-per\nlives\tO\nin\tI-per\n", 3, "Received: I-per after O. Remedy: B-per there, or `loose_tags`"),
        ("Anna\tB-per\nlives\tI-loc\n", 2, "Received: I-loc after B-per."),
        ("Anna\tB-per\n\nlives\tI-loc\n", 3, "Received: I-loc after the beginning of a sentence."),
    ],
)
def test_bad_tags_are_refused_with_their_line(folder: Path, name: str, text: str, line: int, words: str) -> None:
    (folder / name).write_text(text)
    found = refused(folder)
    assert found.startswith(f"{folder / name} line {line}")
    assert words in found


def test_a_label_in_dev_that_train_has_not_is_named_with_its_line(folder: Path) -> None:
    (folder / "dev.conll").write_text("who\tO\n\nBerlin\tB-city\n")
    found = refused(folder)
    assert found.startswith(
        f"{folder / 'dev.conll'} line 3 must have a tag of the training file, {folder / 'train.conll'}."
    )
    assert "Received: 'B-city'; it has B-loc, B-per, I-per, O" in found


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"unlabelled": Path("texts.txt")}, "`unlabelled` needs `teacher`"),
        ({"distill_epochs": 2}, "`distill_epochs` needs `unlabelled`. Received: `distill_epochs` alone."),
        ({"distill_learning_rate": 1e-3}, "`distill_learning_rate` needs `unlabelled`"),
        ({"task": "classification"}, "tagger is for token-classification"),
    ],
)
def test_fields_that_do_not_go_together_are_refused(folder: Path, fields: dict[str, Any], words: str) -> None:
    assert words in refused(folder, **fields)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("none.txt", None, "no such file"),
        ("texts.txt", " \n\n", "must have sentences. Received: none"),
        ("f.conll", "a\tO\nb\n", "line 2 must have 2 columns"),
        ("f.jsonl", '{"tokens": ["a", 3]}\n', "line 1: 'tokens' must hold words that are not empty"),
        ("f.jsonl", '{"tokens": "a"}\n', "line 1: 'tokens' must be a list of words. Received: str"),
        (
            "f.jsonl",
            '{"body": "a"}\n',
            "line 1 must have tokens or words or text or sentence or utterance. Received: body",
        ),
        ("f.txt", "\u200b\n", "must have words that the tokenizer knows. Received: none"),
    ],
)
def test_a_bad_file_of_texts_is_refused(folder: Path, name: str, text: str | None, words: str) -> None:
    teacher = checkpoint.random_init(
        "bert",
        {"model_type": "bert", "vocab_size": VOCAB.count(b"\n"), "hidden_size": 8, "num_hidden_layers": 1,
         "num_attention_heads": 2, "intermediate_size": 8, "max_position_embeddings": 16},
        head="token-classification", labels=["B-loc", "B-per", "I-per", "O"], tokenizer_files={"vocab.txt": VOCAB},
    )  # fmt: skip
    checkpoint.save(folder / "teacher", teacher)
    if text is not None:
        (folder / name).write_text(text)
    found = refused(folder, teacher=[folder / "teacher"], unlabelled=folder / name)
    assert words in found
    assert name in found


@pytest.mark.parametrize(
    "text",
    [
        "Anna\tI-per\nSmith\tI-per\nBerlin\tI-loc\nlives\tO\n",  # IOB1
        "Anna\tI-per\nBerta\tB-per\nlives\tO\n",  # IOB1: two of one type at once
        "Anna\tB-per\nSmith\tE-per\nBerlin\tS-loc\nlives\tO\n",  # IOBES
        "Anna\tB-per\nBerta\tB-per\nSmith\tI-per\n",  # IOB2, no word outside
        "Anna\tPROPN\nlives\tVERB\no\tX\n",  # plain
        "Anna\te-mail\nlives\tother\n",  # plain, though it looks like the end of something
        "Anna\t1\nlives\t0\n",
    ],
)
def test_each_scheme_by_itself_is_right(tmp_path: Path, text: str) -> None:
    path = tmp_path / "f.conll"
    path.write_text(text)
    entities = check_tags(read_tagged(path), path)
    entities.require_one_scheme(path)
    assert not entities.note(path)


def test_a_mixture_that_is_only_read_is_counted_in_a_note(tmp_path: Path) -> None:
    path = tmp_path / "f.conll"
    path.write_text("Anna\tB-per\nlives\tO\nBerlin\tI-loc\n\nRome\tI-loc\nSmith\tB-loc\n")
    (note,) = check_tags(read_tagged(path), path).note(path)
    assert note.endswith("2 of 3 entities begin with I-, the first in line 3: taken as beginnings, as conlleval does.")


@pytest.mark.parametrize(
    "parts",
    [("wnut17", "wnut17train.conll"), ("wnut17", "emerging.dev.conll"), ("wnut17", "emerging.test.annotated"),
     ("ud_ewt", "en_ewt-ud-dev.conllu")],
)  # fmt: skip
def test_real_files_are_of_one_scheme(parts: tuple[str, str]) -> None:
    path = data_folder(*parts)
    check_tags(read_tagged(path), path).require_one_scheme(path)
