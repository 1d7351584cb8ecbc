"""What a teacher and texts without labels bring a small PRADO, and what each augmentation adds.

    python benchmarks/prepare_data.py DATA_FOLDER PREPARED
    python benchmarks/unlabelled.py PREPARED MINILM WORK_FOLDER [--sets NAMES] [--seeds NUMBERS] [--settings NAME]

MINILM is all-MiniLM-L6-v2, a BERT without a head. Of each set a few training rows keep their labels and others are
texts alone. The teacher is MINILM fine-tuned on the labelled rows, so it has not seen the labels of the others either.
Without the texts the labelled rows are repeated, so that every setting trains for the same number of epochs and steps.
Dev rows choose the epoch; test rows are read at the end, as they are and with typos. A teacher answers once for all
trainings of its set (--teacher-logits). Each run is written as soon as it is done, and a run that is in the result is
not repeated.
"""

import argparse
import itertools
import json
import math
import shlex
import statistics
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from accuracy import LETTERS, float_accuracy

from exporters import train
from exporters.commands.main import parser_of
from exporters.commands.train import request_of
from models_tf.data import Row, read_table
from models_tf.training.progress import Silent
from models_tf.training.text_teacher import TextTeacher

SPEECH = [LETTERS, "projection.token_separators='-"]
LEFT_OUT = [f"{name}=0" for name in ("fourgram", "fivegram", "skip1bigram", "skip2bigram")]
SIZES = ["shared_bottleneck=true", *LEFT_OUT, "projection.feature_size=512"]
BATCH, STEPS, DEV_ROWS = 64, 3200, 500
# Of the tokens of a test row, in the second test.
TYPOS = 0.1
# By name: whether a teacher answers for the labelled rows, for the others too, and further flags.
SETTINGS: dict[str, tuple[bool, bool, list[str]]] = {
    "labels only": (False, False, []),
    "teacher on the labelled rows": (True, False, []),
    "teacher on texts without labels": (True, True, []),
    "the same, no typos": (True, True, ["--distortion", "0"]),
    "the same, no token dropout": (True, True, ["--set", "token_dropout=0"]),
    "the same, swapped neighbours": (True, True, ["--swap", "0.1"]),
}


@dataclass(frozen=True, kw_only=True)
class Task:
    """`labelled` rows of the training set keep their labels, as many of each label as of any other. The `teacher` is
    trained on them with these flags.
    """

    labelled: int
    unlabelled: int
    max_seq_len: int
    fields: list[str]
    teacher: list[str]


TASKS = {
    "snips": Task(
        labelled=140,
        unlabelled=8000,
        max_seq_len=32,
        fields=SPEECH,
        teacher=["--epochs", "12", "--batch-size", "8", "--learning-rate", "1e-4"],
    ),
    "clinc150": Task(
        labelled=1500,
        unlabelled=13_500,
        max_seq_len=32,
        fields=SPEECH,
        teacher=["--epochs", "20", "--batch-size", "16", "--learning-rate", "3e-4"],
    ),
    "sst2": Task(
        labelled=2000,
        unlabelled=8000,
        max_seq_len=64,
        fields=[],
        teacher=["--epochs", "6", "--batch-size", "16", "--learning-rate", "1e-4"],
    ),
}


class Bench:
    """One set: its files in `work`, made once."""

    def __init__(self, name: str, data: Path, minilm: Path, work: Path) -> None:
        self.name, self.task, self.minilm, self.work = name, TASKS[name], minilm, work / name
        self.places = {str(data): "PREPARED", str(minilm): "MINILM", str(work): "WORK_FOLDER"}
        self.test = list(read_table(data / name / "test.tsv"))
        self.source = data / name

    def prepare(self) -> None:
        """Files of rows, and the teacher's answers for them."""
        if (self.work / "teacher.json").exists():
            return
        self.work.mkdir(parents=True, exist_ok=True)
        rows = _shuffled(read_table(self.source / "train.tsv"))
        labels = sorted({str(row.label) for row in rows})
        most, used = self.task.labelled // len(labels), Counter[str]()
        few, others = [], []
        for row in rows:
            used[str(row.label)] += 1
            (few if used[str(row.label)] <= most else others).append(row)
        others = others[: self.task.unlabelled]
        _write(self.work / "train.tsv", few)
        times = math.ceil((len(few) + len(others)) / len(few))
        _write(self.work / "repeated.tsv", (few * times)[: len(few) + len(others)])
        _write(self.work / "dev.tsv", _shuffled(read_table(self.source / "dev.tsv"))[:DEV_ROWS])
        (self.work / "unlabelled.txt").write_text("".join(f"{row.text}\n" for row in others), encoding="utf-8")
        command = self.train_teacher()
        teacher = TextTeacher(self.work / "teacher", labels, multi_label=False)

        def answer(texts: list[str]) -> np.ndarray:
            return np.concatenate(list(teacher.answers(texts, len(texts), Silent())))

        logits = np.ascontiguousarray(answer([row.text for row in (*few, *others)]))  # row by row in the file
        answers = [labels[i] for i in answer([row.text for row in self.test]).argmax(-1)]
        found = {
            "teacher_command": command,
            "teacher_test": 100 * float(np.mean([a == row.label for a, row in zip(answers, self.test, strict=True)])),
            "labelled_rows": len(few),
            "unlabelled_rows": len(others),
            "dev_rows": sum(1 for _ in read_table(self.work / "dev.tsv")),
            "test_rows": len(self.test),
        }
        np.save(self.work / "all.npy", logits)
        np.save(self.work / "repeated.npy", np.tile(logits[: len(few)], (times, 1))[: len(logits)])
        (self.work / "teacher.json").write_text(json.dumps(found))

    def train_teacher(self) -> str:
        """The command that did it."""
        flags = ["--model", "bert", "--checkpoint", self.minilm, *self.files()]
        flags += ["--max-seq-len", self.task.max_seq_len, *self.task.teacher]
        flags += ["--output", self.work / "teacher", "--force"]
        train(request_of(parser_of("train").read(list(map(str, flags)))))
        return self.shown(flags)

    def files(self, train: str = "train.tsv") -> list[Any]:
        return ["--train", self.work / train, "--dev", self.work / "dev.tsv"]

    def run(self, setting: str, seed: int) -> dict[str, Any]:
        taught, on_texts, more = SETTINGS[setting]
        record = json.loads((self.work / "teacher.json").read_text())
        rows = record["labelled_rows"] + record["unlabelled_rows"]
        epochs = max(1, round(STEPS / math.ceil(rows / BATCH)))
        output = self.work / "student"
        flags = [
            *self.files("train.tsv" if on_texts else "repeated.tsv"),
            "--max-seq-len",
            self.task.max_seq_len,
            "--batch-size",
            BATCH,
            "--seed",
            seed,
        ]
        flags += ["--epochs", epochs, "--patience", epochs]
        if taught:
            flags += ["--teacher-logits", self.work / ("all.npy" if on_texts else "repeated.npy")]
        if on_texts:
            flags += ["--unlabelled", self.work / "unlabelled.txt"]
        flags += [word for field in (*SIZES, *self.task.fields) for word in ("--set", field)] + more
        flags += ["--output", output, "--force"]
        found = train(request_of(parser_of("train").read(list(map(str, flags)))))
        return {
            "seed": seed,
            "test": float_accuracy(output, self.test),
            "typos": float_accuracy(output, self.test, distortion=TYPOS),
            "dev": found.dev_score,
            "best_epoch": found.best_epoch,
            "seconds": found.record["seconds"],
            "command": self.shown(flags),
        }

    def shown(self, flags: Iterable[Any]) -> str:
        text = "export-mobile train " + " ".join(shlex.quote(str(word)) for word in flags)
        for place, name in self.places.items():
            text = text.replace(place, name)
        return text


def _shuffled(rows: Iterable[Row]) -> list[Row]:
    found = list(rows)
    return [found[i] for i in np.random.default_rng(0).permutation(len(found))]


def _write(path: Path, rows: list[Row]) -> None:
    path.write_text("text\tlabel\n" + "".join(f"{row.text}\t{row.label}\n" for row in rows), encoding="utf-8")


def summarise(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Of the test as it is and with typos."""
    found: dict[str, Any] = {}
    for test in ("test", "typos"):
        values = [run[test] for run in runs]
        found[test] = {
            "mean": round(statistics.mean(values), 2),
            "lowest": round(min(values), 2),
            "highest": round(max(values), 2),
        }
    return {**found, "runs": runs}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("minilm", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--sets", default=",".join(TASKS))
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--settings", action="append", choices=SETTINGS, help="repeatable (default: all)")
    parser.add_argument("--result", type=Path, default=Path("docs/results/unlabelled.json"))
    args = parser.parse_args()
    results: dict[str, Any] = json.loads(args.result.read_text()) if args.result.exists() else {}
    results["command"] = "python benchmarks/unlabelled.py PREPARED MINILM WORK_FOLDER"
    sets = results.setdefault("sets", {})
    for name in args.sets.split(","):
        bench = Bench(name, args.data, args.minilm, args.work)
        bench.prepare()
        found = sets.setdefault(name, {**json.loads((bench.work / "teacher.json").read_text()), "settings": {}})
        for seed, setting in itertools.product(map(int, args.seeds.split(",")), args.settings or SETTINGS):
            runs = found["settings"].get(setting, {"runs": []})["runs"]
            if seed in [run["seed"] for run in runs]:
                continue
            runs = [*runs, bench.run(setting, seed)]
            found["settings"][setting] = summarise(runs)
            args.result.parent.mkdir(parents=True, exist_ok=True)
            args.result.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
            print(name, setting, {key: runs[-1][key] for key in ("seed", "test", "seconds")}, flush=True)


if __name__ == "__main__":
    main()
