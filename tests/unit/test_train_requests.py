"""Requests of trainings, compressions and ablations from Python: typed, frozen, and refused in one line."""

import dataclasses
import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import exporters
from exporters import (
    AblateRequest,
    Compression,
    CompressRequest,
    InputError,
    TrainRequest,
    TrainResult,
    ablate,
    compress,
    train,
)
from exporters.commands.main import parser_of
from models_tf.training.settings import TrainingSettings
from models_tf.training.token_settings import TokenSettings

FILES: dict[str, Any] = {"train": "t.tsv", "dev": "d.tsv", "output": "out"}
SMALLER: dict[str, Any] = {"checkpoint": "bert", "output": "out", "compression": Compression(drop_layers="top:1")}
ROWS: dict[str, Any] = {"checkpoint": "bert", "data": "d.tsv"}


@pytest.mark.parametrize(
    ("kind", "fields", "line"),
    [
        (TrainRequest, {**FILES, "train": 3}, "`train` must be a path. Received: 3."),
        (TrainRequest, {**FILES, "epochs": "3"}, "`epochs` must be a whole number. Received: '3'."),
        (TrainRequest, {**FILES, "learning_rate": "fast"}, "`learning_rate` must be a number. Received: 'fast'."),
        (TrainRequest, {**FILES, "teacher": "folder"}, "`teacher` must be a list of paths. Received: 'folder'."),
        (TrainRequest, {**FILES, "compression": {}}, "`compression` must be a Compression. Received: {}."),
        (TrainRequest, {**FILES, "multi_label": "yes"}, "`multi_label` must be true or false. Received: 'yes'."),
        (TrainRequest, {**FILES, "epochs": 0}, "`epochs` must be 1 to 100000. Received: 0."),
        (TrainRequest, {**FILES, "features": "letters"}, "`features` must be one of"),
        (TrainRequest, {**FILES, "model": "bert", "movement": "all"}, "`movement` must be one of"),
        (TrainRequest, {**FILES, "model": "bert", "task": "poetry"}, "A task with data must be one of"),
        (TrainRequest, {**FILES, "model": "nobody"}, "Unknown model"),
        (TrainRequest, {**FILES, "vocab": "v"}, "`vocab` is for tokens models"),
        (TrainRequest, {**FILES, "temperature": 0.5}, "`temperature` needs `teacher` or `teacher_logits`"),
        (CompressRequest, {**SMALLER, "compression": None}, "`compression` must be a Compression. Received: None."),
        (CompressRequest, {**SMALLER, "rows": 0}, "`rows` must be at least 1. Received: 0."),
        (CompressRequest, {**SMALLER, "compression": Compression(prune_ffn=0.5)}, "`data` FILE with labels is needed"),
        (CompressRequest, {**SMALLER, "vocab_data": ["a.txt"]}, "`vocab_data` needs `prune_vocab`"),
        (AblateRequest, {**ROWS, "what": "everything"}, "`what` must be one of heads, alone, layers, both, all"),
        (AblateRequest, {**ROWS, "checkpoint": None}, "`checkpoint` must be a path. Received: None."),
    ],
)
def test_a_wrong_field_is_one_line(kind: Any, fields: dict[str, Any], line: str) -> None:
    with pytest.raises(InputError) as caught:
        kind(**fields)
    assert str(caught.value).startswith(line)
    assert "\n" not in str(caught.value)


def test_texts_become_paths_and_numpys_numbers_become_pythons() -> None:
    request = TrainRequest(**FILES, epochs=np.int64(2), teacher=["one"])
    assert (request.train, request.teacher) == (Path("t.tsv"), (Path("one"),))
    assert type(request.epochs) is int


def test_the_settings_are_those_of_the_kind_of_model() -> None:
    ours = TrainRequest(**FILES).settings
    assert isinstance(ours, TrainingSettings)
    assert ours.epochs == 30
    fresh = TrainRequest(**FILES, model="bert", vocab=__file__).settings
    tuned = TrainRequest(**FILES, model="bert", checkpoint="some/folder").settings
    assert isinstance(fresh, TokenSettings)
    assert isinstance(tuned, TokenSettings)
    assert (fresh.learning_rate, tuned.learning_rate, tuned.checkpoint) == (5e-4, 3e-5, "some/folder")
    assert TrainRequest(**FILES, model="tagger", vocab=__file__).settings.task == "token-classification"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("name", "kind", "left_out"),
    [
        ("train", TrainRequest, {"compression"}),
        ("compress", CompressRequest, {"compression"}),
        ("ablate", AblateRequest, set()),
    ],
)
def test_every_field_has_a_flag_and_is_frozen(name: str, kind: Any, left_out: set[str]) -> None:
    fields = dataclasses.fields(kind)
    assert {field.name for field in fields} - left_out <= {action.dest for action in parser_of(name)._actions}
    assert kind.__dataclass_params__.frozen
    assert all(field.kw_only for field in fields)


@pytest.mark.parametrize("function", [train, compress, ablate])
def test_the_functions_take_a_request_and_say_what_they_raise(function: Any) -> None:
    assert next(iter(inspect.signature(function).parameters)) == "request"
    assert "InputError" in (function.__doc__ or "")
    assert exporters.TrainResult is TrainResult
