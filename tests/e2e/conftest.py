"""A tiny PRADO with random weights, and data for it."""

from pathlib import Path

import numpy as np
import pytest

from support.export_command import LABELS, WORDS


@pytest.fixture(scope="session")
def tiny_checkpoint(tmp_path_factory) -> Path:
    """Random weights of every kind: no gamma of 1, no bias of 0, no variance of 1 that could hide a fault."""
    from models_tf.checkpoints import projection as checkpoint
    from models_tf.ops.projection.config import ProjectionConfig
    from models_tf.prado.config import PradoConfig
    from models_tf.prado.model import Prado

    config = PradoConfig(
        num_labels=len(LABELS),
        max_seq_len=12,
        projection=ProjectionConfig(feature_size=64, features="mixed", presence_feature=True),
        embedding_size=8,
        unigram=4,
        bigram=4,
        trigram=4,
        fourgram=0,
        fivegram=0,
        skip1bigram=4,
        skip2bigram=0,
    )
    generator = np.random.default_rng(7)
    weights = {}
    for name, value in checkpoint.tensors(Prado(config)).items():
        random = generator.normal(0, 0.3, value.shape)
        weights[name] = (np.abs(random) + 0.5 if "variance" in name or "gamma" in name else random).astype(np.float32)
    folder = tmp_path_factory.mktemp("tiny") / "tiny"
    checkpoint.save(
        folder, checkpoint.ProjectionCheckpoint(model_name="prado", config=config, labels=LABELS, weights=weights)
    )
    return folder


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
