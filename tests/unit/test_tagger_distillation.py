"""The tagger's two stages: a teacher's tags for unlabelled texts, then the labels. Masks, order, resuming, readers."""

import gzip
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from exporters import Compression
from models_tf.checkpoints import encoder as checkpoint
from models_tf.data.unlabelled import read_sentences, split_text
from models_tf.encoder.batches import Predictor
from models_tf.encoder.model import Encoder
from models_tf.errors import InputError
from models_tf.spec import IDS, LOGITS, MASK
from models_tf.tasks import read_rows
from models_tf.tasks.losses import task_loss, teacher_loss
from models_tf.tasks.untagged import encode_untagged
from models_tf.tokenizers.tokenizer import Tokenizer
from models_tf.training.unlabelled import Taught, UnlabelledBatches, Words, at_students_pieces, words_loss
from support.export_command import everything_under
from support.tiny_models import tiny_tokenizer
from support.token_training import FAST, SPECIAL, KilledAt, KilledError, Lines, train, weights_of

SENTENCES = [["Anna", "plays", "?"], ["who", "is", "unable"], ["films"]]
# As the tiny vocabulary cuts them: [CLS] anna play ##s ? [SEP]; [CLS] who is un ##able [SEP]; [CLS] film ##s [SEP]
FIRST = [[1, 2, 4], [1, 2, 3], [1, -1, -1]]
NAMES, PLACES, FILLERS = ["anna", "berta", "carl"], ["rome", "oslo"], [f"w{number}" for number in range(30)]
SLOW: dict[str, Any] = {"epochs": 2, "learning_rate": 5e-3, "average": 0}
WHOLE = ["config.json", "model.safetensors", "training.json", "vocab.txt"]


def tagged(generator: random.Random) -> list[tuple[str, str]]:
    words = [(generator.choice(FILLERS), "O") for _ in range(generator.randrange(1, 6))]
    kind = generator.choice(((NAMES, "B-per"), (PLACES, "B-loc")))
    words.insert(generator.randrange(len(words) + 1), (generator.choice(kind[0]), kind[1]))
    return words


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Few labels, many texts. Some names have two pieces: only the first one may count."""
    folder, generator = tmp_path_factory.mktemp("tagger"), random.Random(1)
    pieces = ["an", "##na", "ber", "##ta", "carl", "rome", "os", "##lo"]
    (folder / "vocab.txt").write_text("\n".join([*SPECIAL, *pieces, *FILLERS]) + "\n")
    for name, count in (("train", 48), ("dev", 48), ("many", 256)):
        text = "".join("".join(f"{w}\t{t}\n" for w, t in tagged(generator)) + "\n" for _ in range(count))
        (folder / f"{name}.conll").write_text(text)
    lines = [" ".join(word for word, _ in tagged(generator)) for _ in range(160)]
    (folder / "texts.txt").write_text("\n".join(lines) + "\n")
    return folder


def fit(files: Path, output: Path, *, rows: str = "train", model: str = "tagger", **fields: Any) -> dict[str, Any]:
    data = {"train": files / f"{rows}.conll", "dev": files / "dev.conll"}
    return train(files, output, **data, model=model, **fields)


@pytest.fixture(scope="module")
def teacher(files: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("tagger_teacher") / "bert"
    made = fit(files, output, rows="many", model="bert", task="token-classification", **FAST, epochs=10)
    assert made["dev_score"] > 90
    return output


def distilled(files: Path, teacher: Path) -> dict[str, Any]:
    return {"teacher": [teacher], "unlabelled": files / "texts.txt", "distill_epochs": 2, **SLOW}


def test_only_first_pieces_get_a_gradient_from_a_teacher_without_labels() -> None:
    rows = encode_untagged(SENTENCES, Path("f"), tokenizer=tiny_tokenizer(), max_len=9)
    assert rows.first.tolist() == FIRST
    generator = np.random.default_rng(0)
    soft = generator.standard_normal((7, 4)).astype(np.float32)
    batch = UnlabelledBatches(Taught.of(rows, rows, soft), batch_size=3, seed=0).batch(np.array([2, 0, 1]))
    logits = tf.Variable(generator.standard_normal((3, 6, 4)).astype(np.float32))
    with tf.GradientTape() as tape:
        loss, _ = words_loss(logits, batch["place"], batch["soft"], 2.0)
    touched = np.abs(tape.gradient(loss, logits).numpy()).max(-1) > 0  # [row, time]
    assert touched.astype(int).tolist() == [[0, 1, 0, 0, 0, 0], [0, 1, 1, 0, 1, 0], [0, 1, 1, 1, 0, 0]]
    # Each word's logits are the teacher's of that word.
    np.testing.assert_array_equal(batch["soft"].numpy(), soft[[6, 0, 1, 2, 3, 4, 5]])


def test_only_first_pieces_get_a_gradient_from_labels_and_from_a_teacher_beside_them(tmp_path: Path) -> None:
    text = "".join("".join(f"{word}\t{'AB'[len(word) % 2]}\n" for word in words) + "\n" for words in SENTENCES)
    (tmp_path / "f.conll").write_text(text)
    rows = read_rows(
        "token-classification", tmp_path / "f.conll", tokenizer=tiny_tokenizer(), labels=["A", "B"], max_len=9
    )
    generator = np.random.default_rng(0)
    logits, soft = (generator.standard_normal((3, 9, 2)).astype(np.float32) for _ in range(2))
    targets = {LOGITS: tf.constant(rows.targets[LOGITS])}
    wanted = np.zeros((3, 9), bool)
    wanted[Words.of(rows).rows, Words.of(rows).places] = True
    for name in ("labels", "teacher"):
        variable = tf.Variable(logits)
        with tf.GradientTape() as tape:
            found = {LOGITS: variable}
            if name == "labels":
                loss = task_loss("token-classification", found, targets, 0.1)[0]
            else:
                mask = tf.constant(rows.inputs[MASK])
                soft_targets = {LOGITS: tf.constant(soft)}
                loss = teacher_loss("token-classification", found, soft_targets, targets, mask, temperature=2.0)
        np.testing.assert_array_equal(np.abs(tape.gradient(loss, variable).numpy()).max(-1) > 0, wanted, err_msg=name)


def test_the_loss_of_words_is_the_mean_cross_entropy_at_the_temperature() -> None:
    generator = np.random.default_rng(3)
    logits, soft = (generator.standard_normal(shape).astype(np.float32) for shape in ((2, 3, 5), (2, 5)))
    place = np.array([[0, 2], [1, 1]])

    def log_softmax(x: np.ndarray) -> np.ndarray:
        return x - np.log(np.exp(x).sum(-1, keepdims=True))

    ours = np.stack([logits[0, 2], logits[1, 1]])
    wanted = -(np.exp(log_softmax(soft / 3)) * log_softmax(ours / 3)).sum(-1).mean() * 9
    loss, _ = words_loss(tf.constant(logits), tf.constant(place), tf.constant(soft), 3.0)
    assert float(loss) == pytest.approx(wanted, rel=1e-5)  # float32


def test_a_teacher_with_another_vocabulary_is_learned_word_by_word() -> None:
    """It has no piece for a word that the student has, and more pieces for the others."""
    student = encode_untagged(SENTENCES, Path("f"), tokenizer=tiny_tokenizer(), max_len=9)
    letters = [*SPECIAL, *"abcdefghijklmnopqrstuvwxyz?", *(f"##{c}" for c in "abcdefghijklmnopqrstuvwxyz")]
    other = Tokenizer.from_files({"vocab.txt": "".join(f"{token}\n" for token in letters).encode()})
    read = encode_untagged(SENTENCES, Path("f"), tokenizer=other, max_len=11)
    assert read.first.tolist() == [[1, 5, -1], [1, 4, 6], [1, -1, -1]]  # [CLS] a ##n ##n ##a p ##l ##a ##y ##s [SEP]
    logits = np.random.default_rng(0).standard_normal((6, 3)).astype(np.float32)
    taught = Taught.of(student, read, logits)
    assert list(zip(taught.rows, taught.places, strict=True)) == [(0, 1), (0, 2), (1, 1), (1, 2), (1, 3), (2, 1)]
    np.testing.assert_array_equal(taught.logits, logits)
    dense = np.zeros((3, 11, 3), np.float32)
    dense[Words.of(read).rows, Words.of(read).places] = logits
    placed = at_students_pieces(read, student, dense)
    np.testing.assert_array_equal(placed[taught.rows, taught.places], logits)
    assert not placed[0, 4].any()


@pytest.fixture(scope="module")
def whole(files: Path, teacher: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    output = tmp_path_factory.mktemp("tagger_student") / "whole"
    return output, fit(files, output, **distilled(files, teacher))


@pytest.mark.slow
def test_distillation_comes_before_the_labels_and_helps(
    files: Path, teacher: Path, whole: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    output, result = whole
    assert result["metric"] == "entity_f1"
    assert (result["epochs"], result["best_epoch"]) >= (4, 3)  # two of each stage; only those with labels are judged
    assert everything_under(output) == WHOLE
    document = json.loads((output / "training.json").read_text())
    assert document["unlabelled"] == "texts.txt"
    assert document["distill_epochs"] == 2
    loaded = checkpoint.load(output)
    assert (loaded.model_name, loaded.head.kind) == ("tagger", "token-classification")
    alone = fit(files, tmp_path / "alone", **SLOW)
    assert result["dev_score"] > alone["dev_score"] + 10


# In the second epoch of distillation, and in the first one of the labels.
@pytest.mark.slow
@pytest.mark.parametrize("batch", [pytest.param(13, marks=pytest.mark.exhaustive), 23])
def test_a_killed_distillation_ends_as_if_it_had_not_been_killed(
    files: Path,
    teacher: Path,
    whole: tuple[Path, dict[str, Any]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    batch: int,
) -> None:
    # The teacher's answers are saved, then every batch: 10 of each epoch of texts, 3 of each of labels.
    fields = {**distilled(files, teacher), "save_minutes": 0}
    with pytest.raises(KilledError):
        fit(files, tmp_path / "cut", **fields, progress=KilledAt(batch))
    assert (tmp_path / "cut" / "teacher_words.npy").exists()
    original = Predictor.__call__

    def dev_only(self: Predictor, inputs: dict[str, np.ndarray], **more: Any) -> Any:
        assert len(inputs[IDS]) == 48  # what the teacher said is not computed again
        return original(self, inputs, **more)

    monkeypatch.setattr(Predictor, "__call__", dev_only)
    resumed = fit(files, tmp_path / "cut", **fields, resume=True)
    assert resumed["dev_score"] == whole[1]["dev_score"]
    for name, value in weights_of(whole[0]).items():
        # Threads add in any order: float32 rounding, grown over 26 steps of 5e-3.
        np.testing.assert_allclose(weights_of(tmp_path / "cut")[name], value, atol=1e-3, err_msg=name)
    assert everything_under(tmp_path / "cut") == WHOLE


def test_labels_alone_in_the_second_stage_ask_the_teacher_for_nothing_but_the_texts(
    files: Path, teacher: Path, tmp_path: Path
) -> None:
    progress = Lines()
    fit(files, tmp_path / "m", **distilled(files, teacher), teacher_weight=0.0, temperature=1.0, progress=progress)
    assert "teacher, unlabelled  row 160/160" in progress.lines
    assert not any("teacher  row" in line for line in progress.lines)


def test_a_student_can_be_cut_out_of_its_teacher(files: Path, teacher: Path, tmp_path: Path) -> None:
    cut = Compression(drop_layers="top:1", prune_ffn=0.0)
    fit(files, tmp_path / "m", **distilled(files, teacher), checkpoint=teacher, compression=cut)
    loaded = checkpoint.load(tmp_path / "m")
    assert (loaded.model_name, loaded.config.num_layers) == ("tagger", 1)
    rows = encode_untagged([["anna"]], Path("f"), tokenizer=Tokenizer.from_folder(tmp_path / "m"), max_len=4)
    logits = Predictor(Encoder(loaded.config, loaded.head, loaded.tensors))(rows.inputs)[LOGITS]
    assert loaded.labels[int(logits[0, 1].argmax())] == "B-per"


@pytest.mark.parametrize(
    ("name", "text", "wanted"),
    [
        ("f.txt", "Who's Anna?\n\n  A-b c \n", [["Who", "'", "s", "Anna", "?"], ["A", "-", "b", "c"]]),
        ("f.conll", "Who's\tO\n?\tB-\n\nAnna\tnothing\n", [["Who's", "?"], ["Anna"]]),
        ("f.conllu", "# x\n1\tcan't\t_\t_" + "\t_" * 6 + "\n", [["can't"]]),
        ("f.jsonl", '{"tokens": ["a-b", "c"]}\n{"text": "a-b c"}\n', [["a-b", "c"], ["a", "-", "b", "c"]]),
        ("f.tsv", "text\tlabel\na-b\t1\n", [["a", "-", "b"]]),
        ("f.csv", 'sentence\n"a, b"\n', [["a", ",", "b"]]),
    ],
)
@pytest.mark.parametrize("zipped", [False, True])
def test_texts_are_read_without_looking_at_tags(
    tmp_path: Path, name: str, text: str, wanted: list[list[str]], zipped: bool
) -> None:
    path = tmp_path / (f"{name}.gz" if zipped else name)
    path.write_bytes(gzip.compress(text.encode()) if zipped else text.encode())
    assert list(read_sentences(path)) == wanted


def test_words_of_plain_text_keep_their_case_and_accents() -> None:
    assert split_text("Café-Bar, NOW\u3000ok\ud800") == ["Café", "-", "Bar", ",", "NOW", "ok", "?"]


def test_a_text_file_without_a_sentence_is_refused(tmp_path: Path) -> None:
    (tmp_path / "f.txt").write_text("\n \n")
    with pytest.raises(InputError, match=r"must have sentences\. Received: none"):
        list(read_sentences(tmp_path / "f.txt"))
