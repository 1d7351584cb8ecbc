"""A tiny PRADO with random weights, data for it, and data for every task of a token model."""

import json
from pathlib import Path

import numpy as np
import pytest

from support.export_command import LABELS, WORDS
from support.tiny_models import LABELS as TOKEN_LABELS
from support.tiny_models import write_projection


@pytest.fixture(scope="session")
def tiny_checkpoint(tmp_path_factory) -> Path:
    return write_projection(tmp_path_factory.mktemp("tiny") / "tiny", LABELS)


@pytest.fixture(scope="session")
def table(tmp_path_factory) -> Path:
    """150 rows of text and label."""
    generator = np.random.default_rng(3)
    lines = ["text\tlabel"]
    for i in range(150):
        words = generator.choice(WORDS, generator.integers(1, 15))
        lines.append(f"{' '.join(words)}\t{LABELS[i % 3]}")
    path = tmp_path_factory.mktemp("data") / "rows.tsv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def _words(generator: np.random.Generator, most: int = 9) -> list[str]:
    return [str(number) for number in generator.integers(0, 56, generator.integers(1, most))]


@pytest.fixture(scope="session")
def task_rows(tmp_path_factory) -> dict[str, Path]:
    """Rows for every task of a token model, by its name."""
    folder, generator = tmp_path_factory.mktemp("data"), np.random.default_rng(3)
    texts = [" ".join(_words(generator)) for _ in range(120)]
    files = {
        "classification": (
            "rows.tsv",
            "text\tlabel",
            [f"{text}\t{TOKEN_LABELS['classification'][i % 3]}" for i, text in enumerate(texts)],
        ),
        "regression": (
            "pairs.tsv",
            "sentence1\tsentence2\tscore",
            [f"{text}\t{texts[-i]}\t{len(text) / 7:.2f}" for i, text in enumerate(texts)],
        ),
    }
    found = {}
    for task, (name, header, lines) in files.items():
        found[task] = folder / name
        found[task].write_text("\n".join([header, *lines]) + "\n")
    tags = ["O", "B-X", "I-X"]
    sentences = [[f"{word} {tags[int(word) % 3]}" for word in _words(generator)] for _ in range(120)]
    found["token-classification"] = folder / "tags.conll"
    found["token-classification"].write_text("\n\n".join("\n".join(lines) for lines in sentences) + "\n")
    questions = []
    for i in range(60):
        context = _words(generator) + _words(generator)
        answer = context[len(context) // 2]
        start = len(" ".join([*context[: len(context) // 2], ""]))
        asked = {"id": str(i), "question": texts[i], "answers": [{"text": answer, "answer_start": start}]}
        questions.append({"context": " ".join(context), "qas": [asked]})
    found["question-answering"] = folder / "squad.json"
    document = {"version": "1.1", "data": [{"title": "t", "paragraphs": questions}]}
    found["question-answering"].write_text(json.dumps(document))
    return found
