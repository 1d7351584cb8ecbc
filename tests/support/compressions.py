"""Compressions as functions of plain fields, the models and rows that they are made of, and refusals."""

import dataclasses
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import exporters
from exporters import Compression, CompressRequest, CompressResult, InputError
from models_tf.checkpoints import encoder as checkpoint
from support import squad_files
from support.export_command import everything_under
from support.tiny_models import bert, stored, write_checkpoint

_OF_COMPRESSION = {field.name for field in dataclasses.fields(Compression)}
ROWS = "rows.tsv"


def compress(source: Path, output: Path, **fields: Any) -> CompressResult:
    """`fields` are those of `Compression` and `CompressRequest`."""
    wanted = Compression(**{name: value for name, value in fields.items() if name in _OF_COMPRESSION})
    others = {name: value for name, value in fields.items() if name not in _OF_COMPRESSION}
    return exporters.compress(CompressRequest(checkpoint=source, output=output, compression=wanted, **others))


def refusal(place: Path, call: Callable[[], object]) -> str:
    """The one line with which the call is refused; it must have written nothing into the folder."""
    with pytest.raises(InputError) as caught:
        call()
    assert "\n" not in str(caught.value)
    assert everything_under(place) == []
    return str(caught.value)


def write_rows(path: Path, generator: random.Random, words: Sequence[int] = range(50), count: int = 40) -> Path:
    """Texts whose words are numbers, with the labels of `tiny_models`."""
    lines = ["text\tlabel"]
    for _ in range(count):
        text = " ".join(str(generator.choice(words)) for _ in range(generator.randrange(2, 9)))
        lines.append(f"{text}\t{generator.choice(('no', 'yes', 'perhaps'))}")
    path.write_text("\n".join(lines) + "\n")
    return path


def write_models(place: Path) -> Path:
    """Checkpoints of several tasks and kinds, each with rows; their words are numbers."""
    checkpoint.save(place / "bert", stored(bert()))
    checkpoint.save(place / "deep", stored(bert(num_layers=4)))
    checkpoint.save(place / "base", stored(bert("base")))
    write_checkpoint(place / "mobilebert")
    for task, name in (
        ("token-classification", "tagger"),
        ("question-answering", "questions"),
        ("regression", "regression"),
    ):
        checkpoint.save(place / name, stored(bert(task, max_positions=64)))
    generator = random.Random(0)
    pairs = write_rows(place / ROWS, generator, count=48).read_text().splitlines()[1:]
    texts = [pair.split("\t")[0] for pair in pairs]
    (place / "texts.tsv").write_text("text\n" + "".join(f"{text}\n" for text in texts))
    tags = ["O", "B-X", "I-X", "O", "B-Y"]
    (place / "tagger.txt").write_text(
        "\n".join("".join(f"{word} {generator.choice(tags)}\n" for word in text.split()) for text in texts)
    )
    scores = "".join(f"{text}\t{generator.random():.3f}\n" for text in texts)
    (place / "regression.tsv").write_text(f"text\tscore\n{scores}")
    write_rows(place / "even.tsv", generator, range(0, 50, 2))
    write_rows(place / "odd.tsv", generator, range(1, 50, 2))
    (place / "tagged.conll").write_text("2 O\n4 B-X\n\n6 O\n8 B-Y\n10 I-Y\n")
    squad_files.write_json(place / "questions.json", squad_files.document())
    (place / "prado").mkdir()
    (place / "prado" / "config.json").write_text('{"format": 1, "model": "prado"}')
    return place
