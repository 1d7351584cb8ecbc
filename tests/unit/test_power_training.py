"""PoWER-BERT's three phases: the parameters by hand, and small trainings that search, drop, resume and refuse."""

import json
import random
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from models_tf.checkpoints import encoder as checkpoint
from models_tf.encoder.batches import Predictor
from models_tf.encoder.model import Encoder
from models_tf.errors import InputError
from models_tf.tasks import read_rows
from models_tf.tokenizers.tokenizer import Tokenizer
from models_tf.training.adamw import AdamW
from models_tf.training.power import PARAMETERS, RetentionSearch, SearchOptimizer, found_lengths, pressed
from models_tf.training.power_settings import PowerSettings
from models_tf.training.schedule import InPhases
from support.token_training import FAST, KilledAt, KilledError, Lines, train, weights_of, write_task

LENGTH = 12
ALL_TOKENS = {"retention": []}
BERT = "the bert of this module"


def search(settings: PowerSettings | None = None, *, steps: int = 10) -> RetentionSearch:
    return RetentionSearch(3, 8, settings or PowerSettings(), start=0, steps=steps)


def test_parameters_begin_at_one_and_the_penalty_grows_with_the_layer() -> None:
    one = search(PowerSettings(penalty=0.01))
    np.testing.assert_array_equal(one.parameters, np.ones((3, 8)))
    one.parameters.assign(np.random.default_rng(0).uniform(0, 1, (3, 8)))
    with tf.GradientTape() as tape:
        penalty = one.penalty()
    masses = one.parameters.numpy().sum(1)
    assert float(penalty) == pytest.approx(0.01 * (1 * masses[0] + 2 * masses[1] + 3 * masses[2]))
    np.testing.assert_allclose(
        tape.gradient(penalty, one.parameters), 0.01 * np.array([[1], [2], [3]]) * np.ones((3, 8))
    )


def test_parameters_are_clipped_after_every_step_and_have_a_rate_of_their_own() -> None:
    one = search(PowerSettings(rate=0.5), steps=4)
    adam = AdamW({PARAMETERS: one.parameters}, 1e-3, weight_decay=0.5, clip_norm=0.0,
                 paces=lambda step: {PARAMETERS: one.pace(1e-3, step)})  # fmt: skip
    optimizer = SearchOptimizer(adam, one)
    signs = np.where(np.arange(8) % 2, 1.0, -1.0).astype(np.float32)
    for expected in (0.5, 0.0, 0.0):  # Adam's steps on an equal gradient are the rate; no decay
        optimizer.apply_gradients([(tf.constant(np.tile(1e-2 * signs, (3, 1))), one.parameters)])
        wanted = np.tile(np.where(signs > 0, expected, 1.0), (3, 1))
        np.testing.assert_allclose(one.parameters, wanted, atol=1e-3)
        assert 0.0 <= one.parameters.numpy().min() <= one.parameters.numpy().max() <= 1.0


def test_the_rate_lets_parameters_reach_zero_in_a_search_of_any_length() -> None:
    for steps in (50, 200, 5000):
        schedule = InPhases(PowerSettings().rate_of(steps), 0.1, [steps])
        way = sum(float(schedule(tf.constant(step))) for step in range(0, steps, max(1, steps // 50))) * max(
            1, steps // 50
        )
        assert 1.5 < way < 4
    assert PowerSettings(rate=3e-3).rate_of(50) == 3e-3


def test_lengths_are_whole_parts_at_least_one_and_do_not_grow() -> None:
    def of(*masses: float) -> tuple[int, ...]:
        return found_lengths(np.array([[mass / 8] * 8 for mass in masses], np.float32))

    assert of(7.9, 5.0, 2.2) == (7, 5, 2)
    assert of(3.5, 6.0, 4.0) == (3, 3, 3)
    assert of(0.4, 0.0, 8.0) == (1, 1, 1)
    assert of(8.0, 8.0, 0.0) == (8, 8, 1)
    assert found_lengths(np.ones((2, 256), np.float32)) == (256, 256)


def test_pressing_reaches_the_mass_and_takes_more_from_later_layers() -> None:
    values = tf.constant(np.random.default_rng(1).uniform(0.1, 1, (4, 64)), tf.float32)
    for mass in (4.0, 60.0, 127.0, 200.0, 256.0):
        found = pressed(values, tf.constant(mass)).numpy()
        assert found.sum() == pytest.approx(mass, abs=1e-3)
        assert 0 <= found.min() <= found.max() <= 1
    # From all ones: each layer keeps the same share of what reaches it.
    even = pressed(tf.ones((4, 64)), tf.constant(64 * (0.7 + 0.7**2 + 0.7**3 + 0.7**4))).numpy()
    np.testing.assert_allclose(even, np.tile(0.7 ** np.arange(1, 5)[:, None], (1, 64)), atol=1e-5)
    np.testing.assert_array_equal(pressed(tf.zeros((2, 3)), tf.constant(1.0)), np.zeros((2, 3)))  # nothing to lift


def test_the_share_falls_in_a_line_and_stays() -> None:
    one = search(PowerSettings(keep_share=0.25, descent=0.5), steps=10)
    shares = []
    for step in range(1, 11):
        one.after_step(tf.constant(step, tf.int64))
        shares.append(float(tf.reduce_mean(one.parameters)))
    np.testing.assert_allclose(shares, [0.85, 0.7, 0.55, 0.4, *[0.25] * 6], atol=1e-4)
    assert one.lengths()[0] > one.lengths()[2]


def test_the_learning_rate_rises_and_falls_in_each_phase() -> None:
    schedule = InPhases(1.0, 0.2, [10, 0, 20])
    rates = [float(schedule(tf.constant(step, tf.int64))) for step in range(30)]
    assert (rates[0], rates[10]) == pytest.approx((0.25, 0.125))  # each step has the rate of its middle
    assert min(rates[1], rates[2], rates[13], rates[14]) > 0.7
    assert rates[9] < 0.05
    assert rates[29] < 0.02


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_task(tmp_path_factory.mktemp("power_data"), random.Random(6))


@pytest.fixture(scope="module")
def bert(files: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("power_models") / "bert"
    train(files, output, **FAST, epochs=5)
    return output


def power(files: Path, output: Path, **fields: Any) -> dict[str, Any]:
    return train(files, output, model="powerbert", learning_rate=1e-3, **fields)


@pytest.fixture(scope="module")
def searched(files: Path, bert: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    output = tmp_path_factory.mktemp("power_models") / "power"
    epochs = {"search_epochs": 2, "epochs": 2}
    return output, power(files, output, checkpoint=bert, teacher=[bert], keep_share=0.4, **epochs)


def test_the_tokens_that_were_found_are_in_every_record(searched: tuple[Path, dict[str, Any]]) -> None:
    output, result = searched
    kept = result["retention"]
    lengths = json.loads((output / "config.json").read_text())["retention"]
    assert kept["lengths"] == lengths == list(checkpoint.load(output).config.retention)
    assert json.loads((output / "config.json").read_text())["model_type"] == "powerbert"
    assert [max(1, int(mass)) for mass in kept["masses"]] == lengths
    assert sum(kept["masses"]) == pytest.approx(0.4 * 2 * LENGTH, abs=1e-2)
    assert kept["share"] == sum(lengths) / (2 * LENGTH)
    record = json.loads((output / "training.json").read_text())
    assert record["retention"] == kept
    assert record["config"]["retention"] == lengths
    assert record["power"]["keep_share"] == 0.4
    # Epochs of the search are not judged: theirs is another model.
    assert result["epochs"] == 4
    assert result["best_epoch"] in (3, 4)
    assert set(weights_of(output)) == set(checkpoint.load(output).config.shapes(checkpoint.load(output).head))


def test_the_folder_answers_as_the_training_said(files: Path, searched: tuple[Path, dict[str, Any]]) -> None:
    output, result = searched
    stored = checkpoint.load(output)
    rows = read_rows("classification", files / "dev.tsv", tokenizer=Tokenizer.from_files(stored.tokenizer_files, ""),
                     labels=stored.labels, max_len=LENGTH)  # fmt: skip
    predict = Predictor(Encoder(stored.config, stored.head, stored.tensors))
    assert rows.score(predict(rows.inputs)).value == result["dev_score"]


@pytest.mark.slow
def test_without_a_share_the_penalty_decides(files: Path, bert: Path, tmp_path: Path) -> None:
    fields = {"checkpoint": bert, "search_epochs": 2, "epochs": 1}
    pressed = power(files, tmp_path / "pressed", **fields, search_overrides=["penalty=10"])
    free = power(files, tmp_path / "free", **fields, search_overrides=["penalty=0", "rate=1e-6"])
    assert pressed["retention"]["lengths"] == [1, 1]
    assert free["retention"]["share"] > 0.9


def test_a_new_head_is_fine_tuned_before_the_search(files: Path, tmp_path: Path) -> None:
    progress, new = Lines(), {"model": "powerbert", "sizes": ALL_TOKENS}
    train(files, tmp_path / "m", **new, **FAST, epochs=2, search_epochs=1, progress=progress)
    shown = "\n".join(progress.lines)
    stages = re.findall(r"^epoch (\d)/5(?: \((.*?)\))?  loss", shown, re.MULTILINE)
    assert stages == [("1", "fine-tune"), ("2", "fine-tune"), ("3", "search"), ("4", ""), ("5", "")]
    # What was found is said once, between the search and the epochs with dropped tokens.
    assert re.search(r"epoch 3/5 .*\nfound: of 12 tokens the layers keep [\d ]+\nepoch 4/5", shown)
    assert shown.count("found:") == 1
    record = json.loads((tmp_path / "m" / "training.json").read_text())
    assert record["retention"]["searched"]
    assert record["power"]["fine_tune_epochs"] == 2


def test_tokens_that_are_given_are_not_searched_for(files: Path, tmp_path: Path) -> None:
    given = {"model": "powerbert", "sizes": {"retention": "[6,3]"}, "epochs": 1}
    result = train(files, tmp_path / "m", **FAST, **given)
    assert result["retention"] == {"lengths": [6, 3], "by": "significance", "share": 9 / 24, "searched": False}
    assert result["epochs"] == 1
    assert result["retention"]["lengths"] == list(checkpoint.load(tmp_path / "m").config.retention)
    with pytest.raises(InputError, match=r"`keep_share` is for a search .* Received: `keep_share` with .* 6,3\."):
        train(files, tmp_path / "n", **given, keep_share=0.5)


@pytest.mark.exhaustive
def test_a_training_killed_in_every_phase_ends_as_if_it_had_not_been_killed(
    files: Path, bert: Path, tmp_path: Path
) -> None:
    fields = {"checkpoint": bert, "teacher": [bert], "fine_tune_epochs": 1, "search_epochs": 1, "epochs": 1,
              "keep_share": 0.5, "batch_size": 24, "save_minutes": 0}  # fmt: skip
    whole = power(files, tmp_path / "whole", **fields)
    # 8 batches an epoch, each saved: in the fine-tuning, then in the search, then with dropped tokens.
    for batch, resume in ((4, False), (9, True), (9, True)):
        with pytest.raises(KilledError):
            power(files, tmp_path / "cut", **fields, resume=resume, progress=KilledAt(batch))
    with pytest.raises(InputError, match=r"settings it began with: power\.keep_share was 0\.5\. Received: 0\.6"):
        power(files, tmp_path / "cut", **{**fields, "keep_share": 0.6}, resume=True)
    resumed = power(files, tmp_path / "cut", **fields, resume=True)
    assert resumed["retention"]["lengths"] == whole["retention"]["lengths"]
    # Threads add in any order: float32 rounding, grown over 24 steps.
    assert resumed["retention"]["masses"] == pytest.approx(whole["retention"]["masses"], abs=1e-2)
    wanted, found = weights_of(tmp_path / "whole"), weights_of(tmp_path / "cut")
    for name, value in wanted.items():
        np.testing.assert_allclose(found[name], value, atol=1e-4, err_msg=name)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"keep_share": 0.0}, "`keep_share` must be 0.01 to 1.0. Received: 0.0."),
        ({"keep_share": float("nan")}, "`keep_share` must be 0.01 to 1.0. Received: nan."),
        ({"search_epochs": -1}, "`search_epochs` must be 0 to 100000. Received: -1."),
        ({"search_overrides": ["penalti=1"]}, "Did you mean penalty?"),
        ({"search_overrides": ["rate=2"]}, "`search_overrides` rate must be 0.0 to 1.0. Received: 2.0."),
        ({"hidden_weight": 1.0, "teacher": BERT}, "`hidden_weight` compares with the teacher token by token"),
        ({"attention_weight": 1.0, "teacher": BERT}, "`attention_weight` compares with the teacher token by token"),
        ({"transfer": "joint", "teacher": BERT}, "`transfer` compares with the teacher token by token"),
        ({"keep_share": 0.5, "search_overrides": ["penalty=1"]},
         "`search_overrides` penalty is for a search without `keep_share`"),
        ({"search_overrides": ["descent=0.5"]}, "`search_overrides` descent is for a search with `keep_share`"),
        ({"movement": "topk"}, "`movement` has no phases before it"),
        ({"task": "token-classification"}, "powerbert"),
    ],
)  # fmt: skip
def test_a_setting_of_the_search_that_cannot_work_is_one_line(
    files: Path, bert: Path, tmp_path: Path, fields: dict[str, Any], expected: str
) -> None:
    fields = {name: [bert] if value == BERT else value for name, value in fields.items()}
    with pytest.raises(InputError) as caught:
        power(files, tmp_path / "deep" / "out", checkpoint=bert, **fields)
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "deep").exists()


def test_a_search_needs_a_trained_head_and_the_model_that_can_drop(files: Path, bert: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="`fine_tune_epochs` must be at least 1 where the head is new"):
        train(files, tmp_path / "out", model="powerbert", sizes=ALL_TOKENS, fine_tune_epochs=0)
    with pytest.raises(
        InputError, match=r"`keep_share` is for `model` powerbert\. Received: `keep_share` with `model` bert"
    ):
        train(files, tmp_path / "out", checkpoint=bert, keep_share=0.5)


def test_a_teachers_inside_can_be_learned_where_no_token_is_dropped(files: Path, bert: Path, tmp_path: Path) -> None:
    fields = {"checkpoint": bert, "teacher": [bert], "hidden_weight": 0.1, "search_epochs": 0}
    result = power(files, tmp_path / "m", **fields, epochs=1)
    assert "retention" not in result
    assert checkpoint.load(tmp_path / "m").config.retention == ()
