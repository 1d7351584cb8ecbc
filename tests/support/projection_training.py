"""A toy task and a small PRADO trained on it, in this process or by the command."""

import random
from pathlib import Path
from typing import Any

from exporters import TrainRequest
from exporters import train as train_model

OVERRIDES = (
    "embedding_size=8", "projection.feature_size=64", "fourgram=0", "fivegram=0", "skip1bigram=0", "skip2bigram=0"
)  # fmt: skip
WORDS = {"music": ["play", "song", "jazz", "album"], "weather": ["rain", "sunny", "forecast", "storm"]}


def write_task(folder: Path) -> Path:
    """`train.tsv` and `dev.tsv`: one word of each text tells its label."""
    generator = random.Random(0)
    for name, rows in (("train", 400), ("dev", 100)):
        lines = ["text\tlabel"]
        for _ in range(rows):
            label = generator.choice(sorted(WORDS))
            filler = [generator.choice(["the", "a", "my", "please", "now"]) for _ in range(4)]
            lines.append(" ".join([*filler, generator.choice(WORDS[label]), generator.choice(filler)]) + "\t" + label)
        (folder / f"{name}.tsv").write_text("\n".join(lines) + "\n")
    return folder


def train(files: Path, output: Path, **fields: Any) -> dict[str, Any]:
    """The record of the training. `fields` are those of `TrainRequest`."""
    rows = {"train": files / "train.tsv", "dev": files / "dev.tsv", "max_seq_len": 8}
    return train_model(TrainRequest(output=output, overrides=OVERRIDES, **rows, **fields)).to_dict()
