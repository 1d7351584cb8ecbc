"""A user's Keras callbacks, early stopping through Keras, and the log for TensorBoard."""

import random
import re
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf
import tf_keras as keras

from exporters import TrainRequest
from exporters import train as train_model
from models_tf.errors import InputError
from models_tf.folders import manifest
from support.export_command import everything_under
from support.token_training import BERT_SIZES, KilledAt, KilledError, Lines, overrides, write_task

SGNN = ("hidden_size=6", "hidden_layers=2", "projection.feature_size=16")
STEPS = 4  # 64 rows in batches of 16


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_task(tmp_path_factory.mktemp("callbacks"), random.Random(9), train_rows=64)


def request(files: Path, output: Path, **fields: Any) -> TrainRequest:
    given: dict[str, Any] = {"train": files / "train.tsv", "dev": files / "dev.tsv", "max_seq_len": 12,
                             "batch_size": 16, "model": "sgnn", "epochs": 3, "seed": 7}  # fmt: skip
    given |= fields
    if given["model"] == "sgnn":
        given["overrides"] = SGNN
    return TrainRequest(output=output, **given)


class Seen(keras.callbacks.Callback):
    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[str, Any, dict[str, Any]]] = []

    def on_train_begin(self, logs: Any = None) -> None:
        self.calls.append(("begin", None, dict(logs or {})))

    def on_train_end(self, logs: Any = None) -> None:
        self.calls.append(("end", None, dict(logs or {})))

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        assert self.params["epochs"] == 3
        assert self.params["steps"] == STEPS
        self.calls.append(("epoch begin", epoch, dict(logs or {})))

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self.calls.append(("epoch end", epoch, dict(logs or {})))

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        self.calls.append(("batch begin", batch, dict(logs or {})))

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self.calls.append(("batch end", batch, dict(logs or {})))


@pytest.mark.parametrize("model", ["sgnn", "bert"])
def test_a_callback_is_told_of_the_training_its_epochs_and_its_batches(files: Path, tmp_path: Path, model: str) -> None:
    seen = Seen()
    more = {} if model == "sgnn" else {"vocab": files, "overrides": overrides(BERT_SIZES)}
    found = train_model(request(files, tmp_path / "out", model=model, **more), callbacks=[seen])
    epoch = ["epoch begin", *["batch begin", "batch end"] * STEPS, "epoch end"]
    assert [name for name, _, _ in seen.calls] == ["begin", *epoch * 3, "end"]
    assert isinstance(seen.model, keras.Model)
    assert seen.params["stage"] == "train"
    begins = [logs for name, _, logs in seen.calls if name == "epoch begin"]
    assert begins == [{"stage": "train"}] * 3
    ends = [logs for name, _, logs in seen.calls if name == "epoch end"]
    assert all(sorted(logs) == ["accuracy", "dev_score", "learning_rate", "loss"] for logs in ends)
    assert max(logs["dev_score"] for logs in ends) == pytest.approx(found.dev_score / 100)
    steps = [(place, logs["step"]) for name, place, logs in seen.calls if name == "batch end"]
    assert steps == [(batch, epoch * STEPS + batch + 1) for epoch in range(3) for batch in range(STEPS)]


class StopsAfter(keras.callbacks.Callback):
    def __init__(self, epoch: int) -> None:
        super().__init__()
        self.epoch = epoch

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self.model.stop_training = epoch == self.epoch


def test_a_callback_ends_the_training_after_an_epoch_and_the_best_one_is_kept(files: Path, tmp_path: Path) -> None:
    progress = Lines()
    found = train_model(request(files, tmp_path / "out"), callbacks=[StopsAfter(1)], progress=progress)
    assert found.epochs == 2
    assert 1 <= found.best_epoch <= 2
    assert progress.lines[-1] == "stopped after epoch 2 of 3: a callback asked for it"
    assert not (tmp_path / "out" / "resume.safetensors").exists()


class Raises(keras.callbacks.Callback):
    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        if epoch == 1:
            raise self.error


@pytest.mark.slow
@pytest.mark.parametrize("error", [ZeroDivisionError("the user's"), FileNotFoundError(2, "the user's", "my.csv")])
def test_what_a_callback_raises_is_the_users_and_the_training_resumes_to_the_bit(
    files: Path, tmp_path: Path, error: Exception
) -> None:
    with pytest.raises(type(error)) as caught:
        train_model(request(files, tmp_path / "cut"), callbacks=[Raises(error)])
    assert caught.value is error
    train_model(request(files, tmp_path / "cut", resume=True))
    train_model(request(files, tmp_path / "whole"))
    cut, whole = ((tmp_path / name / "model.safetensors").read_bytes() for name in ("cut", "whole"))
    assert cut == whole


def test_what_is_no_callback_is_refused_in_one_line(files: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"`callbacks` must be a list of tf_keras.callbacks.Callback.*Received: "):
        train_model(request(files, tmp_path / "out"), callbacks=[print])  # type: ignore[list-item]
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("callback", "remedy"),
    [
        (keras.callbacks.ReduceLROnPlateau(), "Received: ReduceLROnPlateau. Use `learning_rate`"),
        (keras.callbacks.LearningRateScheduler(float), "Received: LearningRateScheduler. Use `learning_rate`"),
    ],
)
def test_callbacks_that_change_the_learning_rate_are_refused_in_one_line(
    files: Path, tmp_path: Path, callback: keras.callbacks.Callback, remedy: str
) -> None:
    with pytest.raises(InputError, match=remedy):
        train_model(request(files, tmp_path / "out"), callbacks=[callback])
    assert not (tmp_path / "out").exists()


def events(folder: Path) -> list[tuple[str, int, float]]:
    """Tag, step and value of all that is logged; the later of equal steps last."""
    found = []
    for path in sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime_ns):
        for record in tf.data.TFRecordDataset(str(path)):
            event = tf.compat.v1.Event.FromString(record.numpy())
            found += [(value.tag, event.step, float(tf.make_ndarray(value.tensor))) for value in event.summary.value]
    return found


def test_the_log_has_losses_scores_and_rates_and_goes_on_after_a_resume(files: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(KilledError):
        train_model(request(files, out, tensorboard="", save_minutes=0), progress=KilledAt(STEPS + 2))
    train_model(request(files, out, tensorboard="", resume=True, save_minutes=0))
    found = events(out / "tensorboard")
    for tag in ("batch_loss", "batch_accuracy", "batch_learning_rate"):
        assert sorted({step for name, step, _ in found if name == tag}) == list(range(1, 3 * STEPS + 1))
    for tag in ("epoch_loss", "epoch_accuracy", "epoch_dev_score", "epoch_learning_rate"):
        assert [step for name, step, _ in found if name == tag] == [0, 1, 2]
    assert len(list((out / "tensorboard").iterdir())) == 2
    assert manifest.first_stranger(out) is None
    train_model(request(files, out, force=True))
    assert not (out / "tensorboard").exists()
    assert manifest.first_stranger(out) is None


def test_only_files_of_the_log_count_as_ours(files: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(KilledError):
        train_model(request(files, out, tensorboard="", save_minutes=0), progress=KilledAt(STEPS + 2))
    (out / "tensorboard" / "notes.txt").write_text("the user's")
    (out / "tensorboard" / "plugins").mkdir()
    train_model(request(files, out, tensorboard="", resume=True, save_minutes=0))
    assert sorted(manifest.strangers(out)) == ["tensorboard/notes.txt", "tensorboard/plugins"]
    with pytest.raises(InputError, match=r"which holds tensorboard/notes.txt, a file it does not know"):
        train_model(request(files, out, force=True))


@pytest.mark.parametrize("place", ["{out}", "{out}/logs/first", "{link}/logs", "../{here}/out/logs"])
def test_a_log_inside_of_the_output_is_found_however_it_is_named(
    files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.chdir(tmp_path)
    out, link = Path("out"), tmp_path / "link"
    link.symlink_to(tmp_path / "out")
    log = place.format(out=tmp_path / "out", link=link, here=tmp_path.name)
    out.mkdir()  # what a link leads to must exist
    train_model(request(files, out, tensorboard=log, epochs=1))
    assert list(Path(log).glob("events*"))
    assert manifest.first_stranger(out) is None
    train_model(request(files, out, force=True, epochs=1))
    assert not list(out.rglob("events*"))
    assert manifest.first_stranger(out) is None


def test_a_log_may_go_elsewhere(files: Path, tmp_path: Path) -> None:
    train_model(request(files, tmp_path / "out", tensorboard=str(tmp_path / "runs"), epochs=1))
    assert events(tmp_path / "runs")


def test_a_log_does_not_go_into_what_is_read(files: Path, tmp_path: Path) -> None:
    train_model(request(files, tmp_path / "teacher", epochs=1))
    before = everything_under(tmp_path / "teacher")
    for place, word in (("teacher", "be `teacher` itself"), ("teacher/logs", "lie inside `teacher`")):
        with pytest.raises(InputError, match=f"`tensorboard` must not {word}"):
            train_model(
                request(files, tmp_path / "out", teacher=[tmp_path / "teacher"], tensorboard=str(tmp_path / place))
            )
    assert everything_under(tmp_path / "teacher") == before
    # Files are only added: a folder around what is read may hold the log.
    train_model(request(files, tmp_path / "out", teacher=[tmp_path / "teacher"], tensorboard=str(tmp_path), epochs=1))


@pytest.mark.parametrize("place", ["vocab.txt", "train.tsv/logs", "/proc/logs", "l" * 300])
def test_a_log_that_cannot_be_written_is_found_before_anything_is_trained(
    files: Path, tmp_path: Path, place: str
) -> None:
    progress = Lines()
    with pytest.raises(InputError, match=r"^The folder .* cannot be written: .*Choose another `tensorboard`\.$"):
        train_model(request(files, tmp_path / "out", tensorboard=str(files / place)), progress=progress)
    assert progress.lines == []
    assert not (tmp_path / "out").exists()


class PutsAFile(keras.callbacks.Callback):
    """In the place of a folder that could be written before."""

    def __init__(self, place: Path) -> None:
        super().__init__()
        self.place = place

    def on_train_begin(self, logs: Any = None) -> None:
        self.place.write_text("")


def test_a_log_that_can_no_longer_be_written_is_one_line_and_the_training_can_go_on(
    files: Path, tmp_path: Path
) -> None:
    place = tmp_path / "runs"
    with pytest.raises(
        InputError, match=r"must be a folder that can be written. Received: .*Go on with `resume`"
    ) as said:
        train_model(
            request(files, tmp_path / "out", tensorboard=str(place / "logs"), epochs=1), callbacks=[PutsAFile(place)]
        )
    assert not re.search(r"\n|\{\{|\[Op:|name:", str(said.value))
    assert train_model(request(files, tmp_path / "out", resume=True, epochs=1)).epochs == 1
