"""Texts without labels beside the training rows of a projection model: what is learned of them, mixed how, read how."""

import gzip
import json
import tracemalloc
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from exporters import TrainRequest
from exporters import train as train_model
from models_tf.data.texts import read_texts
from models_tf.errors import InputError
from models_tf.layers.dropout import Draws
from models_tf.training import batches as data
from models_tf.training import losses
from models_tf.training.features import project
from models_tf.training.teacher import StoredTeacher
from support.projection_training import OVERRIDES, WORDS, train, write_task
from support.token_training import Lines

QUICK: dict[str, Any] = {"epochs": 2, "batch_size": 16, "average": 0.9}
TEXTS = ["play jazz", "Rain, again", "naïve"]
WRITERS: dict[str, Callable[[list[str]], str]] = {
    "u.txt": "\n".join,
    "u.tsv": lambda texts: "id\ttext\n" + "".join(f"1\t{text}\n" for text in texts),
    "u.csv": lambda texts: "text,id\n" + "".join(f'"{text}",1\n' for text in texts),
    "u.jsonl": lambda texts: "".join(json.dumps({"text": text, "label": 7}) + "\n" for text in texts),
}


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("packed", [False, True])
def test_texts_come_from_lines_and_from_the_text_column(tmp_path: Path, name: str, packed: bool) -> None:
    content = WRITERS[name](["", *TEXTS, " "]).encode()
    path = tmp_path / (f"{name}.gz" if packed else name)
    path.write_bytes(gzip.compress(content) if packed else content)
    assert list(read_texts(path)) == TEXTS  # empty ones are left out


def test_the_column_can_be_named(tmp_path: Path) -> None:
    (tmp_path / "u.tsv").write_text("text\tbody\nno\tyes\n")
    assert list(read_texts(tmp_path / "u.tsv", "body")) == ["yes"]


# Loss: two labels, three rows; the last row has no label. Every number below is made of these.
LOGITS = np.array([[1.0, -1.0], [0.5, 0.25], [-0.75, 2.0]])
TARGETS, LABELLED = np.array([0, 1, 0]), np.array([1.0, 1.0, 0.0])
SOFT = np.array([[0.9, 0.1], [0.4, 0.6], [0.2, 0.8]])
CLASS_WEIGHTS = np.array([1.0, 3.0])


def log_softmax(x: np.ndarray) -> np.ndarray:
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


def f32(array: np.ndarray) -> tf.Tensor:
    return tf.constant(array, tf.float32)


def test_a_row_without_a_label_has_no_part_in_the_label_loss() -> None:
    loss, hits = losses.single_label(f32(LOGITS), tf.constant(TARGETS), f32(CLASS_WEIGHTS), 0.0, f32(LABELLED))
    rows = -log_softmax(LOGITS)[[0, 1], TARGETS[:2]]
    # The weighted mean of two rows, which are two thirds of the batch.
    assert float(loss) == pytest.approx((rows[0] * 1 + rows[1] * 3) / 4 * 2 / 3, rel=1e-6)
    assert float(hits) == 1  # the second row is wrong, the third does not count


def test_a_batch_without_any_label_has_no_label_loss_and_a_finite_gradient() -> None:
    logits = tf.Variable(f32(LOGITS))
    with tf.GradientTape() as tape:
        loss, hits = losses.single_label(logits, tf.constant(TARGETS), f32(CLASS_WEIGHTS), 0.1, f32(np.zeros(3)))
    assert (float(loss), float(hits)) == (0, 0)
    np.testing.assert_array_equal(tape.gradient(loss, logits), 0)


def test_decisions_without_a_label_have_no_part_in_the_multi_label_loss() -> None:
    targets = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 0.0]])
    loss, hits = losses.multi_label(f32(LOGITS), f32(targets), f32(np.ones(2)), 0.0, f32(LABELLED))
    each = np.log1p(np.exp(np.where(targets > 0, -LOGITS, LOGITS)))
    assert float(loss) == pytest.approx(each[:2].sum() / 6, rel=1e-6)
    assert float(hits) == 2  # all four decisions of two rows


def test_the_teachers_loss_weighs_each_row() -> None:
    weights = np.array([0.7, 0.7, 1.0])
    found = losses.distillation(f32(LOGITS), f32(SOFT), 2.0, False, f32(weights))
    rows = -(SOFT * log_softmax(LOGITS / 2)).sum(-1)
    assert float(found) == pytest.approx(4 * (weights * rows).mean(), rel=1e-6)


@pytest.mark.parametrize(("multi", "alike"), [(False, [1, 0, 1]), (True, [1, 0.5, 1])])
def test_an_answer_is_like_the_teachers_or_not(multi: bool, alike: list[float]) -> None:
    np.testing.assert_allclose(losses.like_teacher(f32(LOGITS), f32(SOFT), multi), alike)


def examples(folder: Path, labelled: int, unlabelled: int) -> data.Examples:
    rows = "".join(f"row {i}\t{'ab'[i % 2]}\n" for i in range(labelled))
    (folder / "t.tsv").write_text("text\tlabel\n" + rows)
    (folder / "u.txt").write_text("".join(f"text {i}\n" for i in range(unlabelled)))
    file = data.LabelledFile(path=folder / "t.tsv", text_column=None, label_column=None, label_separator=None)
    return data.open_examples(file, file, data.UnlabelledFile(path=folder / "u.txt", text_column=None))


def test_an_epoch_has_every_row_of_both_files_once(tmp_path: Path) -> None:
    both = examples(tmp_path, 30, 100)
    assert (both.rows, both.train_rows) == (130, 30)
    wanted = [text.encode() for text in both.texts()]
    assert [wanted[0], wanted[30], wanted[129]] == [b"row 0", b"text 0", b"text 99"]
    found = list(data.mixed_batches(both, 16, np.random.default_rng(0)))
    pairs = [pair for batch in found for pair in zip(batch.rows, batch.texts, strict=True)]
    assert Counter(pairs) == Counter(enumerate(wanted))


@pytest.mark.parametrize(("labelled", "unlabelled"), [(30, 300), (300, 30), (7, 300)])
def test_every_window_has_its_share_of_labels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, labelled: int, unlabelled: int
) -> None:
    monkeypatch.setattr(data, "WINDOW_ROWS", 66)
    both = examples(tmp_path, labelled, unlabelled)
    rows = [row for batch in data.mixed_batches(both, 66, np.random.default_rng(0)) for row in batch.rows]
    for start in range(0, 66 * (len(rows) // 66), 66):
        count = sum(row < labelled for row in rows[start : start + 66])
        assert abs(count - 66 * labelled / len(rows)) <= 1


def test_memory_is_flat_in_the_number_of_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """18 MB more text: the peak grows by less than a twentieth of it."""
    monkeypatch.setattr(data, "WINDOW_ROWS", 200)
    peaks = []
    for count in (2_000, 20_000):
        both = examples(tmp_path, 20, 2)
        (tmp_path / "u.txt").write_text("".join(f"{i:09d} {'x' * 989}\n" for i in range(count)))
        tracemalloc.start()
        try:
            texts = data.UnlabelledFile(path=tmp_path / "u.txt", text_column=None)
            both = data.open_examples(both.train, both.dev, texts)
            seen = sum(len(batch.rows) for batch in data.mixed_batches(both, 64, np.random.default_rng(0)))
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
        assert seen == count + 20
    assert peaks[1] - peaks[0] < 18_000_000 / 20, peaks


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The toy task with labels on four rows only, none of which has a word of the other texts; and its teacher."""
    folder = write_task(tmp_path_factory.mktemp("unlabelled"))
    train(folder, folder / "teacher", epochs=6, batch_size=16, average=0.9)
    header, *rows = (folder / "train.tsv").read_text().splitlines()
    (folder / "all.tsv").write_text("\n".join([header, *rows]) + "\n")
    (folder / "texts.txt").write_text("".join(row.partition("\t")[0] + "\n" for row in rows))
    few = [f"{words[0]}\t{label}" for label, words in WORDS.items()] * 2
    (folder / "train.tsv").write_text("\n".join([header, *few]) + "\n")
    return folder


@pytest.mark.slow
def test_a_student_learns_from_texts_what_its_labels_do_not_tell(files: Path, tmp_path: Path) -> None:
    """Four labelled rows name one word of each label; the other six words are in the texts alone."""
    settings = {"epochs": 8, "batch_size": 16, "average": 0.9, "teacher": [files / "teacher"]}
    alone = train(files, tmp_path / "alone", **settings)
    taught = train(files, tmp_path / "taught", **settings, unlabelled=files / "texts.txt")
    assert taught["dev_accuracy"] > 0.95
    assert alone["dev_accuracy"] < taught["dev_accuracy"] - 0.1


@pytest.mark.slow
def test_stored_logits_for_both_files_teach_as_the_teacher_does(files: Path, tmp_path: Path) -> None:
    from models_tf.checkpoints import projection as checkpoint

    loaded = checkpoint.load(files / "teacher")
    texts = [row.partition("\t")[0] for row in (files / "train.tsv").read_text().splitlines()[1:]]
    texts += (files / "texts.txt").read_text().splitlines()
    logits = checkpoint.build(loaded).features_to_logits(project(tf.constant(texts), loaded.config))
    np.save(tmp_path / "t.npy", logits.numpy())
    unlabelled = files / "texts.txt"
    one = train(files, tmp_path / "one", **QUICK, unlabelled=unlabelled, teacher=[files / "teacher"])
    two = train(files, tmp_path / "two", **QUICK, unlabelled=unlabelled, teacher_logits=tmp_path / "t.npy")
    assert one["dev_accuracy"] == two["dev_accuracy"]
    np.save(tmp_path / "t.npy", logits.numpy()[:4])
    with pytest.raises(InputError, match=r"\(404, 2\), a row for each row of `train`, then of `unlabelled`"):
        train(files, tmp_path / "three", **QUICK, unlabelled=unlabelled, teacher_logits=tmp_path / "t.npy")


BAD: dict[str, tuple[bytes | None, str]] = {
    "missing.txt": (None, "`unlabelled` must exist. Received: {path} (no such file)."),
    "empty.txt": (b"", "{path} must have rows. Received: an empty file."),
    "blank.txt": (b"\n \n\n", "{path} must have texts. Received: none."),
    "nul.txt": (b"play\0jazz\n", "{path} must be text. Received: a NUL byte in line 1."),
    "binary.txt": (b"play\n\xff\xfe\x00", "{path} must be UTF-8. Received: byte 0xff in line 2, column 1."),
    "column.tsv": (b"id\tbody\n1\tplay\n", "{path} must have a column named text or sentence or utterance in its"),
    "column.jsonl": (b'{"body": "play"}\n', "{path} must have a column named text or sentence or utterance in its"),
    "header.csv": (b"text,id\n", "{path} must have texts. Received: none."),
    "broken.jsonl": (b"play\n", "{path} line 1 must be one JSON object."),
    "cut.txt.gz": (gzip.compress(b"play\n" * 99)[:-9], "{path} must be a whole gzip file."),
    "words.conll": (b"play\tO\n", "`unlabelled` must end in .txt, .tsv, .csv or .jsonl, or one of them and .gz."),
}


@pytest.mark.parametrize("name", BAD)
def test_a_file_that_cannot_be_used_is_one_line_and_leaves_nothing(files: Path, tmp_path: Path, name: str) -> None:
    content, line = BAD[name]
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        train(files, tmp_path / "deep" / "out", teacher=[files / "teacher"], unlabelled=path)
    assert str(caught.value).startswith(line.format(path=path))
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "deep").exists()


def test_a_folder_is_no_file_of_texts(files: Path, tmp_path: Path) -> None:
    (tmp_path / "u.txt").mkdir()
    with pytest.raises(InputError, match=r"`unlabelled` must exist. Received: .*u.txt \(a folder\)"):
        train(files, tmp_path / "out", teacher=[files / "teacher"], unlabelled=tmp_path / "u.txt")


def test_texts_without_a_teacher_are_refused(files: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"`unlabelled` needs `teacher` or `teacher_logits`.*`unlabelled` alone"):
        train(files, tmp_path / "out", unlabelled=files / "texts.txt")


def test_a_teacher_with_other_labels_is_refused(files: Path, tmp_path: Path) -> None:
    for name in ("train", "dev"):
        (tmp_path / f"{name}.tsv").write_text((files / f"{name}.tsv").read_text().replace("music", "noise"))
    with pytest.raises(InputError, match=r"`teacher` must know the student's labels"):
        train(tmp_path, tmp_path / "out", teacher=[files / "teacher"], unlabelled=files / "texts.txt")
    assert not (tmp_path / "out").exists()


# Swapped neighbours: features [2, 6, 2], column 0 marks tokens, column 1 numbers the places.
PLACES = np.stack([np.array([[1] * 5 + [0], [1] * 3 + [0] * 3]), np.tile(np.arange(6), (2, 1))], -1).astype(np.int8)


def test_a_swap_keeps_every_token_and_all_padding() -> None:
    moved = 0
    for step in range(50):
        found = Draws(tf.constant((step, 1))).swap_tokens(tf.constant(PLACES), 0.5).numpy()
        for text, tokens in zip(found, (5, 3), strict=True):
            assert sorted(text[:tokens, 1]) == list(range(tokens))
            assert list(text[tokens:, 1]) == list(range(tokens, 6))
            assert np.abs(text[:, 1] - np.arange(6)).max() <= 1  # with a neighbour only
            moved += int((text[:, 1] != np.arange(6)).sum())
    # Inside a text a token moves with probability 0.5, at an end with 0.25: 2 and 1 of 5 and 3 tokens.
    expected = 50 * (3 * 0.5 + 2 * 0.25 + 1 * 0.5 + 2 * 0.25)
    assert abs(moved - expected) < 40  # 4 standard deviations of pairs


def test_swaps_follow_from_the_seed_and_a_rate_of_zero_draws_nothing() -> None:
    x = tf.constant(PLACES)
    one, two, other = (Draws(tf.constant((seed, 3))).swap_tokens(x, 0.5).numpy() for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, two)
    assert (one != other).any()
    draws = Draws(tf.constant((1, 3)))
    assert draws.swap_tokens(x, 0.0) is x
    np.testing.assert_array_equal(draws.swap_tokens(x, 0.5), one)  # as if nothing had been drawn before


def test_a_training_with_swapped_tokens_gives_other_weights(files: Path, tmp_path: Path) -> None:
    for name, rate in (("still", 0.0), ("swapped", 0.5)):
        train(files, tmp_path / name, **QUICK, swap=rate)
    still, swapped = ((tmp_path / name / "model.safetensors").read_bytes() for name in ("still", "swapped"))
    assert still != swapped


def test_several_labels_a_row_are_learned_from_texts_too(tmp_path: Path) -> None:
    rows = ["text\tlabel", *(["play rain\tm|w", "play\tm", "rain\tw", "nothing\t|"] * 20)]
    few = ["text\tlabel", *(["play\tm", "rain\tw"] * 2)]
    for name, lines in (("train", few), ("dev", rows)):
        (tmp_path / f"{name}.tsv").write_text("\n".join(lines) + "\n")
    (tmp_path / "u.txt").write_text("\n".join(row.partition("\t")[0] for row in rows[1:]) + "\n")
    answers = {"play": [4.0, -4.0], "rain": [-4.0, 4.0], "play rain": [4.0, 4.0], "nothing": [-4.0, -4.0]}
    texts = [row.partition("\t")[0] for row in (*few[1:], *rows[1:])]
    np.save(tmp_path / "t.npy", np.array([answers[text] for text in texts], np.float32))
    settings = {"epochs": 10, "batch_size": 8, "average": 0.5, "teacher_logits": tmp_path / "t.npy"}
    result = train(tmp_path, tmp_path / "out", multi_label=True, unlabelled=tmp_path / "u.txt", **settings)
    assert result["dev_score"] > 95.0


@pytest.mark.parametrize(
    ("best", "labels", "temperature", "multi", "said"),
    [
        (5.0, 2, 2.0, False, None),  # 0.92
        (0.5, 2, 2.0, False, "at --temperature 2 its best label has 56 % on average"),
        (0.5, 2, 2.0, True, None),
        (5.0, 150, 2.0, False, "at --temperature 2 its best label has 8 % on average"),
        (5.0, 150, 1.0, False, None),  # 0.50
    ],
)
def test_a_teacher_that_is_not_sure_of_its_answers_is_told(
    best: float, labels: int, temperature: float, multi: bool, said: str | None, tmp_path: Path
) -> None:
    logits = np.zeros((5000, labels), np.float16)
    logits[np.arange(5000), np.arange(5000) % labels] = best
    np.save(tmp_path / "t.npy", logits)
    note = StoredTeacher(tmp_path / "t.npy", 5000, labels, temperature, multi).note()
    assert (said in note and "lower --temperature" in note) if said else note == ""


def test_the_note_of_an_unsure_teacher_is_shown_before_the_first_epoch(tmp_path: Path) -> None:
    files = write_task(tmp_path)
    np.save(tmp_path / "t.npy", np.zeros((400, 2), np.float32))
    told, rows = Lines(), {"train": files / "train.tsv", "dev": files / "dev.tsv", "max_seq_len": 8}
    request = TrainRequest(
        output=tmp_path / "out", overrides=OVERRIDES, epochs=1, teacher_logits=tmp_path / "t.npy", **rows
    )
    train_model(request, progress=told)
    assert told.lines[0].startswith("The teacher is unsure: at --temperature 2 its best label has 50 % on average")
