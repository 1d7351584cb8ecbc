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
from exporters.commands.compression_flags import from_args
from exporters.commands.main import parser_of
from exporters.commands.train import request_of
from exporters.training.request import flag_of
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
        (TrainRequest, {**FILES, "vocab": "v"}, "`vocab` is for token models"),
        (TrainRequest, {**FILES, "swap": 1.5}, "`swap` must be 0.0 to 1.0. Received: 1.5."),
        (TrainRequest, {**FILES, "unlabelled": "u.txt"}, "`unlabelled` needs `teacher` or `teacher_logits`"),
        (TrainRequest, {**FILES, "model": "sgnn", "swap": 0.1}, "`swap` is for models that read the order of tokens"),
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


def flags_of(fields: dict[str, Any]) -> list[str]:
    """As they are typed: a list is a flag that is repeated, a truth one without a value."""
    found = []
    for name, value in fields.items():
        flag = flag_of(name)
        if value is True:
            found.append(flag)
        else:
            found += [part for one in (value if isinstance(value, tuple) else (value,)) for part in (flag, str(one))]
    return found


FILES_GIVEN: dict[str, Any] = {name: Path(path) for name, path in FILES.items()}
MANY: list[dict[str, Any]] = [
    {
        "resume": True, "text_column": "a", "label_column": "b", "max_seq_len": 9, "overrides": ("x=1", "y=2"),
        "epochs": 3, "batch_size": 4, "learning_rate": 0.25, "label_smoothing": 0.125, "average": 0.5, "patience": 2,
        "save_minutes": 7.5, "seed": 11, "teacher": (Path("one"), Path("two")), "teacher_weight": 0.75,
        "temperature": 1.5, "multi_label": True, "label_separator": ";", "features": "mixed", "distortion": 0.5,
        "swap": 0.25, "class_weights": "balanced", "unlabelled": Path("u.txt"), "accumulate": 4,
        "tensorboard": "logs", "distribute": "mirrored",
    },
    {"teacher_logits": Path("t.npy")},
    {
        "model": "powerbert", "force": True, "task": "regression", "vocab": Path(__file__), "preset": "small",
        "text_pair_column": "c", "weight_decay": 0.5, "freeze_embedding": True, "fine_tune_epochs": 1,
        "search_epochs": 2, "keep_share": 0.5, "search_overrides": ("rate=0.5",),
    },
    {
        "model": "bert", "vocab": Path(__file__), "teacher": (Path("one"),), "hidden_weight": 0.5,
        "attention_weight": 0.25, "init_from_teacher": True, "transfer": "joint", "transfer_epochs": 2,
        "transfer_overrides": ("mean=1",),
    },
    {
        "model": "bert", "checkpoint": Path("m"), "movement": "topk", "movement_keep": 0.5,
        "movement_overrides": ("every=3",),
    },
    {
        "model": "tagger", "teacher": (Path("one"),), "unlabelled": Path("u.txt"), "distill_epochs": 4,
        "distill_learning_rate": 0.125, "loose_tags": True,
    },
]  # fmt: skip


@pytest.mark.parametrize("fields", MANY, ids=["projection", "logits", "power", "transfer", "movement", "tagger"])
def test_flags_of_a_training_become_the_fields_of_its_request(fields: dict[str, Any]) -> None:
    given = {**FILES_GIVEN, **fields}
    assert request_of(parser_of("train").read(flags_of(given))) == TrainRequest(**given)


def test_every_field_of_a_training_is_among_them() -> None:
    shown = {name for fields in MANY for name in fields} | set(FILES)
    assert {field.name for field in dataclasses.fields(TrainRequest)} - shown == {"compression", "vocab_data"}


@pytest.mark.parametrize(
    ("flags", "fields"),
    [
        (
            ["--drop-layers", "top:1", "--prune-heads", "0.5", "--head-scope", "global", "--head-importance", "token",
             "--normalize-heads", "--min-heads", "2", "--prune-ffn", "0.25", "--ghosts", "--ghost-on", "outputs",
             "--ghost-kernel", "5", "--seed", "7"],
            {"drop_layers": "top:1", "prune_heads": 0.5, "head_scope": "global", "head_importance": "token",
             "normalize_heads": True, "min_heads": 2, "prune_ffn": 0.25, "ghosts": 0, "ghost_on": "outputs",
             "ghost_kernel": 5, "seed": 7},
        ),
        (
            ["--remove-heads", "0:3,5;2:1", "--share-layers", "2", "--share-from", "mean", "--embedding-size", "8",
             "--prune-vocab", "--drop-characters", "--retention", "9,6,3", "--retention-by", "first"],
            {"remove_heads": ((0, (3, 5)), (2, (1,))), "share_layers": 2, "share_from": "mean", "embedding_size": 8,
             "prune_vocab": True, "drop_characters": True, "retention": (9, 6, 3), "retention_by": "first"},
        ),
    ],
)  # fmt: skip
def test_flags_of_a_compression_become_its_fields(flags: list[str], fields: dict[str, Any]) -> None:
    wanted = Compression(**fields)
    assert from_args(parser_of("compress").read(["--checkpoint", "bert", "--output", "out", *flags])) == wanted
    of_training = [*flags_of(FILES_GIVEN), "--model", "bert", "--checkpoint", "m", *flags]
    of_training += ["--vocab-data", "a.txt", "b.txt"] if wanted.prune_vocab else []
    found = request_of(parser_of("train").read(of_training))
    assert found.compression == wanted
    assert found.vocab_data == ((Path("a.txt"), Path("b.txt")) if wanted.prune_vocab else ())


@pytest.mark.parametrize("function", [train, compress, ablate])
def test_the_functions_take_a_request_and_say_what_they_raise(function: Any) -> None:
    assert next(iter(inspect.signature(function).parameters)) == "request"
    assert "InputError" in (function.__doc__ or "")
    assert exporters.TrainResult is TrainResult
