"""Tiny folders in the form of sentence-transformers, and pairs of sentences with scores."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from support.tiny_models import write_checkpoint

LIBRARY = "sentence_transformers.models."


def modules(*kinds: str, encoder: str = "") -> list[dict[str, Any]]:
    """modules.json; the encoder is in the folder itself, or in `encoder`."""
    return [
        {
            "idx": number,
            "name": str(number),
            "path": f"{number}_{kind}" if number else encoder,
            "type": f"{LIBRARY}{kind}",
        }
        for number, kind in enumerate(kinds)
    ]


def write_sentence_folder(
    folder: Path,
    *,
    model: str = "bert",
    pooling: dict[str, Any] | None = None,
    normalize: bool = True,
    encoder: str = "",
    settings: dict[str, Any] | None = None,
    **changes: Any,
) -> Path:
    """`pooling` is the content of its config.json, `settings` that of sentence_bert_config.json, `changes` are keys of
    the encoder's config.json.
    """
    kinds = ("Transformer", "Pooling", "Normalize") if normalize else ("Transformer", "Pooling")
    write_checkpoint(folder / encoder, model, "base", **changes)
    (folder / "modules.json").write_text(json.dumps(modules(*kinds, encoder=encoder)))
    (folder / "1_Pooling").mkdir()
    given = {"word_embedding_dimension": 24, "pooling_mode_mean_tokens": True} if pooling is None else pooling
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(given))
    if settings is not None:
        (folder / encoder / "sentence_bert_config.json").write_text(json.dumps(settings))
    return folder


def write_cross_encoder(folder: Path, *, encoder: str = "") -> Path:
    """A classifier of pairs as version 6 of the library saves it: modules.json names the encoder alone."""
    write_checkpoint(folder / encoder, "bert", "regression")
    (folder / "modules.json").write_text(json.dumps(modules("Transformer", encoder=encoder)))
    return folder


def write_pairs(path: Path, count: int = 60, *, seed: int = 5) -> Path:
    """sentence1, sentence2, score, with words of the tiny vocabulary."""
    generator = np.random.default_rng(seed)

    def words() -> str:
        return " ".join(map(str, generator.integers(0, 56, generator.integers(1, 9))))

    rows = [f"{words()}\t{words()}\t{generator.uniform(0, 5):.2f}" for _ in range(count)]
    path.write_text("\n".join(["sentence1\tsentence2\tscore", *rows]) + "\n")
    return path
