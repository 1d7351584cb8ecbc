"""Trainings on one device and on two, in a process of its own: devices are divided before TensorFlow uses them.

    python -m support.mirrored_trainings FILES OUTPUT NAME...

prints, for each name, by how much the weights differ. All have dropout or statistics of the batch where the model has
them; the last batch has one row, so one device has none of it.
"""

import random
import sys
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from safetensors.numpy import load_file

from support.projection_training import OVERRIDES
from support.token_training import train, write_questions, write_tags, write_task

DROPOUT = {"hidden_dropout_prob": 0.2, "attention_probs_dropout_prob": 0.2}
TAGS = {"train": "train.conll", "dev": "dev.conll", "task": "token-classification"}
# Trained first, on one device.
TEACHERS: dict[str, dict[str, Any]] = {"bert": {"epochs": 1}, "tagger": {**TAGS, "epochs": 1}}
TRAININGS: dict[str, dict[str, Any]] = {
    # Means over words; batches of a group are parts, too.
    "tags": {"sizes": DROPOUT, **TAGS, "accumulate": 2},
    "prado": {"model": "prado", "overrides": OVERRIDES, "class_weights": "balanced"},
    "prado with texts": {
        "model": "prado", "overrides": OVERRIDES, "teacher": ["bert"], "unlabelled": "texts.txt", "swap": 0.2,
    },
    "regression": {"sizes": DROPOUT, "task": "regression"},
    "questions": {
        "sizes": DROPOUT, "train": "train.json", "dev": "dev.json", "task": "question-answering", "accumulate": 2,
    },
    "several labels": {"sizes": DROPOUT, "train": "train.several.tsv", "dev": "dev.several.tsv", "multi_label": True},
    "transfer": {
        "model": "mobilebert", "sizes": DROPOUT, "teacher": ["bert"], "transfer": "progressive", "transfer_epochs": 1,
    },
    "hidden states and attention": {
        "sizes": {**DROPOUT, "hidden_size": 18}, "teacher": ["bert"], "hidden_weight": 0.1, "attention_weight": 0.1,
    },
    "tagger with a distillation": {
        "model": "tagger", **TAGS, "teacher": ["tagger"], "unlabelled": "texts.txt", "distill_epochs": 1,
    },
}  # fmt: skip
FILES = ("train", "dev", "unlabelled")


def write(folder: Path) -> Path:
    """33 labelled texts, the same with several labels and with tags, as many questions, and texts without labels."""
    files = write_task(folder, random.Random(2), train_rows=33)
    write_tags(files)
    write_questions(files, random.Random(2), train_rows=33, dev_rows=16)
    for name in ("train", "dev"):
        rows = [line.split("\t") for line in (files / f"{name}.tsv").read_text().splitlines()[1:]]
        several = (f"{text}\t{label}{'|long' if ' ' in text else ''}\n" for text, label in rows)
        (files / f"{name}.several.tsv").write_text("text\tlabel\n" + "".join(several))
    (files / "texts.txt").write_text("\n".join(text for text, _ in rows) + "\n")
    return files


def fit(files: Path, output: Path, **fields: Any) -> None:
    found = {name: files / value if name in FILES else value for name, value in fields.items()}
    if "teacher" in found:
        found["teacher"] = [output.parents[1] / teacher for teacher in found["teacher"]]
    train(files, output, **{"epochs": 2, "learning_rate": 1e-3, "seed": 3, **found})


def difference(files: Path, output: Path, name: str) -> float:
    for kind, more in (("one", {}), ("two", {"distribute": "mirrored"})):
        fit(files, output / name / kind, **TRAININGS[name], **more)
    one, two = (load_file(output / name / kind / "model.safetensors") for kind in ("one", "two"))
    return max(float(np.abs(one[key] - two[key]).max()) for key in one)


def main() -> None:
    files, output, names = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:]
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    for teacher in {name for each in names for name in TRAININGS[each].get("teacher", ())}:
        fit(files, output / teacher, **TEACHERS[teacher])
    for name in names:
        print(f"{name}\t{difference(files, output, name)}")


if __name__ == "__main__":
    main()
