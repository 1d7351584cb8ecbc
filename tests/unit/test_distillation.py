"""Learning from a teacher: hidden states and attention maps against NumPy; every kind of student of a BERT."""

import dataclasses
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from models_tf.encoder.batches import Predictor
from models_tf.encoder.config import EncoderConfig
from models_tf.encoder.forward import Activations
from models_tf.errors import InputError
from models_tf.training.batches import LabelledFile, open_examples
from models_tf.training.folder import TrainingFolder
from models_tf.training.inner_distillation import InnerDistillation
from models_tf.training.progress import Silent
from models_tf.training.teacher import AveragedTeachers, LogitsTeacher
from models_tf.training.text_teacher import TextTeacher
from support.export_command import everything_under
from support.token_training import (
    BAD,
    FAST,
    FILLERS,
    GOOD,
    SPECIAL,
    KilledAt,
    KilledError,
    Lines,
    train,
    weights_of,
    write_task,
)

MASK = np.array([[1, 1, 1, 0], [1, 1, 0, 0]], np.int32)
BIAS = ((1 - MASK) * -1e9).astype(np.float32)[:, None, None, :]


def config(*, width: int = 8, layers: int = 2, heads: int = 2) -> EncoderConfig:
    widths = dict.fromkeys(("hidden_size", "embedding_size", "bottleneck_size"), width)
    return EncoderConfig(vocab_size=9, num_layers=layers, num_heads=heads, intermediate_size=8, **widths)


def activations(config: EncoderConfig, seed: int, *, whole: bool = True) -> Activations:
    generator = np.random.default_rng(seed)
    states = config.num_layers + 1 if whole else config.num_layers

    def normal(*shape: int) -> tf.Tensor:
        return tf.constant(generator.normal(size=shape), tf.float32)

    return Activations(
        hidden_states=[normal(2, 4, config.hidden_size) for _ in range(states)],
        scores=[normal(2, config.num_heads, 4, 4) for _ in range(config.num_layers)],
        mask_bias=tf.constant(BIAS),
    )


def distillation(student: EncoderConfig, teacher: EncoderConfig, **weights: float) -> InnerDistillation:
    return InnerDistillation(
        student, teacher, **{"hidden_weight": 0.0, "attention_weight": 0.0, "seed": 0, **weights}  # type: ignore[arg-type]
    )  # fmt: skip


def softmax(x: np.ndarray) -> np.ndarray:
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def hidden_by_hand(student: Activations, teacher: Activations, sources: list[int], maps: list[Any]) -> float:
    total = 0.0
    for ours, source, kernel in zip(student.hidden_states, sources, maps, strict=False):
        mapped = ours.numpy() if kernel is None else ours.numpy() @ kernel
        squares = (mapped - teacher.hidden_states[source].numpy()) ** 2
        total += squares[MASK == 1].mean()  # over the tokens that are not padding, and their channels
    return total


def attention_by_hand(student: Activations, teacher: Activations, sources: list[int]) -> float:
    total = 0.0
    for ours, source in zip(student.scores, sources, strict=True):
        found, wanted = (softmax(x.numpy() + BIAS) for x in (ours, teacher.scores[source - 1]))
        if found.shape[1] != wanted.shape[1]:
            found, wanted = found.mean(1, keepdims=True), wanted.mean(1, keepdims=True)
        entropy = -(wanted * np.log(np.maximum(found, 1e-12))).sum(-1).mean(1)  # [row, query]
        total += entropy[MASK == 1].mean()
    return total


@pytest.mark.parametrize(("layers", "teacher_layers", "sources"), [(2, 2, [1, 2]), (2, 3, [2, 3]), (3, 2, [1, 2, 2])])
def test_hidden_states_and_attention_are_those_of_numpy(layers: int, teacher_layers: int, sources: list[int]) -> None:
    mine, theirs = config(layers=layers), config(layers=teacher_layers)
    student, teacher = activations(mine, 1), activations(theirs, 2)
    both = distillation(mine, theirs, hidden_weight=0.5, attention_weight=2.0)
    assert both.sources == sources
    wanted = 0.5 * hidden_by_hand(student, teacher, [0, *sources], [None] * 9)
    wanted += 2.0 * attention_by_hand(student, teacher, sources)
    # float32 sums of some hundred terms.
    np.testing.assert_allclose(both.loss(student, teacher, tf.constant(MASK)), wanted, rtol=1e-5)


def test_a_student_of_another_width_and_other_heads_is_mapped_and_averaged() -> None:
    mine, theirs = config(width=6, heads=3), config()
    student, teacher = activations(mine, 1), activations(theirs, 2)
    both = distillation(mine, theirs, hidden_weight=1.0, attention_weight=1.0)
    kernels = [both.maps[f"distillation.{state}.kernel"].numpy() for state in range(3)]
    assert {kernel.shape for kernel in kernels} == {(6, 8)}
    wanted = hidden_by_hand(student, teacher, [0, 1, 2], kernels) + attention_by_hand(student, teacher, [1, 2])
    np.testing.assert_allclose(both.loss(student, teacher, tf.constant(MASK)), wanted, rtol=1e-5)
    assert not distillation(mine, theirs, attention_weight=1.0).maps


def test_what_stands_in_padding_does_not_matter() -> None:
    mine = config()
    student, teacher = activations(mine, 1), activations(mine, 2)
    both = distillation(mine, mine, hidden_weight=1.0, attention_weight=1.0)
    before = both.loss(student, teacher, tf.constant(MASK))
    noise = np.random.default_rng(3).normal(size=(2, 4, 8)) * (1 - MASK)[..., None]
    states = [state + tf.constant(noise, tf.float32) for state in student.hidden_states]
    pairs = 1 - MASK[:, :, None] * MASK[:, None, :]  # a query or a key that is padding
    scores = [score + tf.constant(5.0 * pairs[:, None], tf.float32) for score in student.scores]
    changed = dataclasses.replace(student, hidden_states=states, scores=scores)
    np.testing.assert_allclose(both.loss(changed, teacher, tf.constant(MASK)), before, rtol=1e-6)


def test_a_last_state_that_was_not_computed_is_left_out() -> None:
    mine = config()
    student, teacher = activations(mine, 1, whole=False), activations(mine, 2, whole=False)
    both = distillation(mine, mine, hidden_weight=1.0)
    wanted = hidden_by_hand(student, teacher, [0, 1], [None, None])
    np.testing.assert_allclose(both.loss(student, teacher, tf.constant(MASK)), wanted, rtol=1e-5)
    assert not both.reads_last
    # The second of three layers learns from the last of two, which must then be computed.
    assert distillation(config(layers=3), mine, hidden_weight=1.0).reads_last


def test_teachers_of_any_kind_have_the_same_say() -> None:
    one, two = np.array([[2.0, 0.0], [0.0, 0.0]], np.float32), np.array([[0.0, 0.0], [0.0, 4.0]], np.float32)
    both = AveragedTeachers([LogitsTeacher(one, 2.0, False), LogitsTeacher(two, 2.0, False)])
    found = both.probabilities(tf.constant(["", ""]), tf.constant([1, 0], tf.int64))
    np.testing.assert_allclose(found, (softmax(one / 2) + softmax(two / 2))[::-1] / 2, rtol=1e-6)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_task(tmp_path_factory.mktemp("distillation_data"), random.Random(5))


@pytest.fixture(scope="module")
def teacher(files: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT that knows the task; its labels have names and another order than the vocabulary of the student."""
    output = tmp_path_factory.mktemp("distillation_teacher") / "bert"
    train(files, output, **FAST, epochs=6)
    document = json.loads((output / "config.json").read_text())
    names = {"id2label": {"0": "negative", "1": "positive"}, "label2id": {"negative": 0, "positive": 1}}
    (output / "config.json").write_text(json.dumps({**document, **names}))
    return output


def epoch_losses(files: Path, output: Path, **fields: Any) -> list[float]:
    progress = Lines()
    train(files, output, progress=progress, **fields)
    epochs = [line for line in progress.lines if line.startswith("epoch ") and "dev" in line]
    return [float(line.split("loss ")[1].split()[0]) for line in epochs]


@pytest.mark.slow
def test_learning_the_inside_makes_the_loss_fall(files: Path, teacher: Path, tmp_path: Path) -> None:
    """Of a deeper and narrower student, through maps."""
    inside = {"teacher": [teacher], "hidden_weight": 0.5, "attention_weight": 0.5}
    sizes = {"hidden_size": 9, "num_hidden_layers": 3}
    losses = epoch_losses(files, tmp_path / "m", **inside, epochs=4, learning_rate=1e-2, sizes=sizes)
    assert losses[-1] < 0.8 * losses[0]
    assert not any("distillation" in name for name in weights_of(tmp_path / "m"))


def other_vocabulary(folder: Path) -> Path:
    path = folder / "vocab.txt"
    path.write_text("\n".join([*SPECIAL, *FILLERS, "spare", *BAD, *GOOD]) + "\n")
    return path


def test_logits_of_a_teacher_with_another_vocabulary_are_learned(files: Path, teacher: Path, tmp_path: Path) -> None:
    both: dict[str, Any] = {"vocab": other_vocabulary(tmp_path), "teacher": [teacher]}
    # All that it learns comes from the teacher.
    result = train(files, tmp_path / "m", **both, teacher_weight=1.0, **FAST, epochs=6)
    assert result["dev_score"] > 90
    for name in ("hidden_weight", "attention_weight"):
        with pytest.raises(
            InputError, match=rf"vocabulary, 61 tokens, for `{name}`. Received: .* with 60\. Remedy: `vocab`"
        ):
            train(files, tmp_path / "out", **both, **{name: 0.1})
    assert not (tmp_path / "out").exists()


def test_a_texts_teacher_answers_as_its_model_with_labels_in_the_files_order(
    files: Path, teacher: Path, tmp_path: Path
) -> None:
    file = LabelledFile(path=files / "train.tsv", text_column=None, label_column=None, label_separator=None)
    examples = open_examples(file, file)

    def logits(labels: list[str]) -> np.ndarray:
        taught = TextTeacher(teacher, labels, multi_label=False)
        found = taught.logits(examples, 0, folder=TrainingFolder(tmp_path / "out"), progress=Silent())
        return found[np.arange(len(found))]

    by_number, by_name = logits(["0", "1"]), logits(["positive", "negative"])
    np.testing.assert_array_equal(by_number, by_name[:, ::-1])
    right = [int(row.label) == answer for row, answer in zip(file.rows(), by_number.argmax(1), strict=True)]
    assert np.mean(right) > 0.9
    with pytest.raises(InputError, match=r"--teacher must know the student's labels, a, b. Received: .*negative"):
        logits(["a", "b"])


PRADO: dict[str, Any] = {
    "model": "prado", "epochs": 2, "overrides": ("embedding_size=8", "projection.feature_size=32")
}  # fmt: skip


@pytest.mark.exhaustive
def test_a_prado_learns_from_a_bert_and_from_a_prado_together_and_resumes(
    files: Path, teacher: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train(files, tmp_path / "first", **PRADO, teacher=[teacher])
    both: dict[str, Any] = {**PRADO, "teacher": [teacher, tmp_path / "first"], "teacher_weight": 0.9}
    with pytest.raises(KilledError):  # at the first batch of the second epoch: the first has 12
        train(files, tmp_path / "second", **both, progress=KilledAt(13))
    assert (tmp_path / "second" / "teacher_logits_0.npy").is_file()

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("What was computed before is not computed again.")

    monkeypatch.setattr(Predictor, "__call__", refuse)
    result = train(files, tmp_path / "second", **both, resume=True)
    assert result["epochs"] == 2
    assert everything_under(tmp_path / "second") == [
        "config.json", "labels.txt", "model.safetensors",
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["hidden_weight", "attention_weight"])
def test_a_projection_model_has_no_inside_to_compare(files: Path, teacher: Path, tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=rf"`{name}` is for token models .* Received: `{name}` with `model` prado"):
        train(files, tmp_path / "out", teacher=[teacher], **{name: 0.1}, model="prado")
    assert not (tmp_path / "out").exists()


def test_a_bert_with_one_label_a_row_does_not_teach_several(files: Path, teacher: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="`teacher` must give a text several labels"):
        train(files, tmp_path / "out", teacher=[teacher], multi_label=True, model="prado")
