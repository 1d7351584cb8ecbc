"""A tiny PRADO with random weights, and data for it."""

from pathlib import Path

import numpy as np
import pytest

from support.export_command import LABELS, WORDS
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
