"""A three-layer tagger compared with the six-layer one it is distilled from: score, bytes and latency.

    python benchmarks/tagger.py BASE PREPARED WORK --report FILE

BASE is the BERT that the teachers are fine-tuned from, PREPARED a folder of `prepare_data.py` with snips_slots/,
wnut17/, ud_ewt/, clinc150/ and imdb/. For each set: a teacher; a student cut out of it, distilled on unlabelled texts
and then fine-tuned; and the same student on labels only, for as many steps. Models finished in WORK are kept, stopped
ones continue. The report holds scores on the test rows, and latency in turns.
"""

import argparse
import dataclasses
import json
import math
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import in_turn
import numpy as np

from exporters.report.versions import cpu_name
from models_tf.checkpoints import encoder as checkpoint
from models_tf.data import read_table, read_tagged
from models_tf.encoder.batches import Predictor
from models_tf.encoder.config import EncoderConfig
from models_tf.encoder.model import Encoder
from models_tf.spec import IDS, LOGITS
from models_tf.tasks import TOKEN_CLASSIFICATION, read_rows
from models_tf.tokenizers.tokenizer import Tokenizer

BATCH, ROUNDS = 32, 40
TEACHER, STUDENT, LABELS_ONLY = "teacher", "student", "labels only"
FLOAT_TEACHER = "teacher, float32"
TEACHER_ROWS, VOCABULARY_ROWS = 64, 2_000
IMDB_SENTENCES, MAX_WORDS = 2_000, 40
TEACHER_RATE, DISTILL_RATE, LABEL_RATE = "1e-4", "5e-4", "1e-4"
NO_DROPOUT = ("--set", "hidden_dropout_prob=0", "--set", "attention_probs_dropout_prob=0")
CUT = ("--drop-layers", "top:3", "--prune-heads", "0.5", "--prune-ffn", "0.5", "--prune-vocab")


@dataclass(frozen=True, kw_only=True)
class Task:
    """`texts` are further sources of unlabelled sentences, besides the set's own training sentences."""

    length: int
    teacher_epochs: int
    distill_epochs: int
    epochs: int
    texts: tuple[str, ...]
    suffix: str = "conll"
    seeds: tuple[int, ...] = (0,)


TASKS = {
    "snips_slots": Task(length=48, teacher_epochs=3, distill_epochs=2, epochs=2, texts=("clinc150",), seeds=(0, 1, 2)),
    "wnut17": Task(length=96, teacher_epochs=4, distill_epochs=2, epochs=3, texts=("imdb", "ud_ewt")),
    "ud_ewt": Task(length=128, teacher_epochs=6, distill_epochs=2, epochs=5, texts=("imdb", "wnut17"), suffix="conllu"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("base", "prepared", "work"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--only", nargs="+", default=list(TASKS), choices=list(TASKS), metavar="NAME")
    parser.add_argument("--seeds", type=int, default=3, help="at most so many of each student")
    parser.add_argument("--report", type=Path, metavar="FILE", help="export and measure what --only names")
    args = parser.parse_args()
    for name in args.only:
        train_all(name, args)
    if args.report:
        before = json.loads(args.report.read_text(encoding="utf-8"))["tasks"] if args.report.is_file() else {}
        for name in args.only:
            before[name] = report(name, args)
            found = {key: before[key] for key in TASKS if key in before}  # sets that were not asked for stay
            args.report.write_text(json.dumps({**header(), "tasks": found}, indent=2) + "\n", encoding="utf-8")


def runs(name: str, args: argparse.Namespace) -> dict[str, Path]:
    """The trained models of a set by name."""
    folder = args.work / name
    found = {TEACHER: folder / "teacher"}
    for seed in TASKS[name].seeds[: args.seeds]:
        found[student(STUDENT, seed)] = folder / f"student-{seed}"
        found[student(LABELS_ONLY, seed)] = folder / f"labels-{seed}"
    return found


def student(kind: str, seed: int) -> str:
    return f"{kind}, seed {seed}"


def train_all(name: str, args: argparse.Namespace) -> None:
    task, folder = TASKS[name], args.work / name
    data = [args.prepared / name / f"{part}.{task.suffix}" for part in ("train", "dev")]
    common = ["--train", data[0], "--dev", data[1], "--max-seq-len", task.length, "--batch-size", BATCH]
    models = runs(name, args)
    teacher = models[TEACHER]
    more = ["--model", "bert", "--checkpoint", args.base, "--task", "token-classification"]
    train(teacher, [*more, *common, "--epochs", task.teacher_epochs, "--learning-rate", TEACHER_RATE])
    texts = folder / "unlabelled.jsonl"
    if not texts.is_file():
        texts.write_text("".join(json.dumps(row) + "\n" for row in unlabelled(name, args.prepared)), encoding="utf-8")
    start = ["--model", "tagger", "--checkpoint", teacher, *CUT, "--vocab-data", *data, texts]
    for seed in task.seeds[: args.seeds]:
        distill = ["--teacher", teacher, "--unlabelled", texts, "--distill-epochs", task.distill_epochs]
        distill += ["--distill-learning-rate", DISTILL_RATE, "--temperature", "1", "--teacher-weight", "0"]
        rates = ["--epochs", task.epochs, "--learning-rate", LABEL_RATE]
        own = [*start, *common, *NO_DROPOUT, "--seed", seed]
        train(models[student(STUDENT, seed)], [*own, *distill, *rates])
        epochs = steps_of(name, args)["labels_only_epochs"]
        rates = ["--epochs", epochs, "--patience", epochs, "--learning-rate", DISTILL_RATE]
        train(models[student(LABELS_ONLY, seed)], [*own, *rates])


def steps_of(name: str, args: argparse.Namespace) -> dict[str, int]:
    """Steps of both stages, and the epochs on labels only that take at least as many steps."""
    task, folder = TASKS[name], args.work / name
    rows = sum(1 for _ in read_tagged(args.prepared / name / f"train.{task.suffix}"))
    texts = len((folder / "unlabelled.jsonl").read_text(encoding="utf-8").splitlines())
    epoch = math.ceil(rows / BATCH)
    distill, labels = math.ceil(texts / BATCH) * task.distill_epochs, epoch * task.epochs
    epochs = math.ceil((distill + labels) / epoch)
    return {
        "train_sentences": rows,
        "unlabelled_sentences": texts,
        "distill_steps": distill,
        "label_steps": labels,
        "labels_only_epochs": epochs,
        "labels_only_steps": epochs * epoch,
    }


def train(output: Path, flags: list[Any]) -> None:
    if (output / "training.json").is_file() and not (output / "resume.safetensors").is_file():
        return
    way = "--resume" if (output / "resume.safetensors").is_file() else "--force"
    command = ["train", *flags, "--output", output, way]
    subprocess.run([sys.executable, "-m", "exporters", *map(str, command)], check=True)


def unlabelled(name: str, prepared: Path) -> Iterator[dict[str, Any]]:
    """The set's own training sentences, then those of other sets; never a dev or test part."""
    for source in (name, *TASKS[name].texts):
        if source in TASKS:
            for row in read_tagged(prepared / source / f"train.{TASKS[source].suffix}", labelled=False):
                yield {"tokens": row.words}
        elif source == "imdb":
            yield from ({"text": text} for text in imdb_sentences(prepared / "imdb" / "train.tsv"))
        else:
            yield from ({"text": row.text} for row in read_table(prepared / source / "train.tsv", labelled=False))


def imdb_sentences(path: Path) -> list[str]:
    """Short sentences of the first reviews that end with a punctuation mark."""
    found: list[str] = []
    for row in read_table(path, labelled=False):
        plain = re.sub(r"<[^>]*>", " ", row.text)
        found += [part for part in re.split(r"(?<=[.!?])\s+", plain) if 3 <= len(part.split()) <= MAX_WORDS]
        if len(found) >= 4 * IMDB_SENTENCES:
            break
    picked = np.random.default_rng(0).choice(len(found), IMDB_SENTENCES, replace=False)
    return [found[i] for i in sorted(picked)]


def report(name: str, args: argparse.Namespace) -> dict[str, Any]:
    task, data, files = TASKS[name], args.prepared / name, args.work / name / "files"
    found: dict[str, Any] = {}
    timed: dict[str, Path] = {}
    for model, folder in runs(name, args).items():
        found[model] = scored(folder, data / f"test.{task.suffix}", task.length)
        if model != TEACHER:
            found[model]["whole_vocabulary"] = scored_whole(name, folder, args)
        training = json.loads((folder / "training.json").read_text(encoding="utf-8"))
        found[model] |= {key: training[key] for key in ("dev_score", "dev_rows", "dev_standard_error", "best_epoch")}
        if model.startswith(LABELS_ONLY):
            continue
        for recipe in ("int8", "float32") if model == TEACHER else ("int8",):
            called = model if recipe == "int8" else FLOAT_TEACHER
            timed[called] = files / f"{folder.name}-{recipe}"
            exported = in_turn.export(
                folder,
                timed[called],
                eval_data=data / f"test.{task.suffix}",
                calibration_data=data / f"train.{task.suffix}",
                length=task.length,
                quantize=recipe,
                # The teacher's files give bytes and time; its score is the one above.
                eval_rows=TEACHER_ROWS if model == TEACHER else None,
            )
            entry = found.setdefault(called, {})
            for target in in_turn.TARGETS:
                entry[target] = measured(exported, target, with_score=model != TEACHER)
    for base, key in ((TEACHER, "ratio_to_int8_teacher"), (FLOAT_TEACHER, "ratio_to_float32_teacher")):
        for model, ratios in in_turn.ratios(timed, base=base, rounds=ROUNDS).items():
            for target, ratio in ratios.items():
                found[model][target][key] = ratio
    command = f"python benchmarks/tagger.py {shlex.join(in_turn.redact(word) for word in sys.argv[1:])}"
    summary = {"command": command, "length": task.length, "steps": steps_of(name, args), "texts": list(task.texts)}
    return {**summary, "vocabulary": vocabulary(name, args), "models": found}


def measured(exported: dict[str, Any], target: str, *, with_score: bool) -> dict[str, Any]:
    """The bytes of a file, and its test score."""
    entry = next(file for file in exported["files"] if file["target"] == target)
    stage = next(row for row in exported["accuracy"] if row["stage"].startswith(entry["name"]))
    return {"size_bytes": entry["size_bytes"], **(brief(stage["score"]) if with_score else {})}


def brief(score: dict[str, Any]) -> dict[str, Any]:
    return {key: score[key] for key in ("metric", "value", "n", "standard_error")}


def vocabulary(name: str, args: argparse.Namespace) -> dict[str, Any]:
    """Whether a pruned vocabulary changes the teacher on the training and dev words: the pieces of all sentences, and
    the tags of the first ones.
    """
    task, folder = TASKS[name], args.work / name
    teacher, pruned = folder / "teacher", folder / "teacher-pruned-vocabulary"
    data = {part: args.prepared / name / f"{part}.{task.suffix}" for part in ("train", "dev")}
    if not (pruned / "config.json").is_file():
        command = ["compress", "--checkpoint", teacher, "--prune-vocab", "--output", pruned, "--force"]
        command += ["--vocab-data", *data.values(), folder / "unlabelled.jsonl"]
        subprocess.run([sys.executable, "-m", "exporters", *map(str, command)], check=True)
    found: dict[str, Any] = {}
    for part, path in data.items():
        pieces, logits, sizes = [], [], []
        for model in (teacher, pruned):
            rows, answer, _ = predicted(model, path, task.length, limit=VOCABULARY_ROWS)
            tokenizer = Tokenizer.from_folder(model)
            pieces.append([[tokenizer.token(number) for number in row] for row in rows.inputs[IDS].tolist()])
            logits.append(rows.take(range(len(answer[LOGITS]))).answers(answer))
            sizes.append(tokenizer.vocab_size)
        found[part] = {
            "sentences": len(pieces[0]),
            "same_pieces": sum(a == b for a, b in zip(*pieces, strict=True)),
            "words": len(logits[0]),
            "same_tag": int((logits[0].argmax(1) == logits[1].argmax(1)).sum()),
            "max_abs": float(np.abs(logits[0] - logits[1]).max()),
        }
    return {"tokens_before": sizes[0], "tokens_after": sizes[1], **found}


def scored(folder: Path, path: Path, length: int) -> dict[str, Any]:
    """The score of the Keras model, and its parameters."""
    rows, outputs, tensors = predicted(folder, path, length)
    score = dataclasses.asdict(rows.score(outputs))
    return {"parameters": int(sum(value.size for value in tensors.values())), "float": brief(score)}


def scored_whole(name: str, folder: Path, args: argparse.Namespace) -> dict[str, Any]:
    """The float test score of a student that gets the teacher's embedding rows back for the pruned tokens, and the
    share of test sentences that the smaller vocabulary splits into other pieces.
    """
    task, path = TASKS[name], args.prepared / name / f"test.{TASKS[name].suffix}"
    teacher, small = checkpoint.load(args.work / name / "teacher", model="tagger"), checkpoint.load(folder)
    whole, own = (Tokenizer.from_files(model.tokenizer_files) for model in (teacher, small))
    words = teacher.tensors["word_embedding"].copy()
    words[[whole.token_id(own.token(number)) for number in range(own.vocab_size)]] = small.tensors["word_embedding"]
    sizes = {"vocab_size": whole.vocab_size, "pad_id": teacher.config.pad_id}
    config = EncoderConfig(**{**small.config.to_dict(), **sizes})
    rows, cut = (
        read_rows(TOKEN_CLASSIFICATION, path, tokenizer=tokenizer, labels=small.labels, max_len=task.length)
        for tokenizer in (whole, own)
    )
    score = rows.score(Predictor(Encoder(config, small.head, {**small.tensors, "word_embedding": words}))(rows.inputs))
    pieces = [
        [[tokenizer.token(number) for number in row] for row in ids.inputs[IDS].tolist()]
        for tokenizer, ids in ((whole, rows), (own, cut))
    ]
    differ = sum(a != b for a, b in zip(*pieces, strict=True)) / len(rows)
    return {**brief(dataclasses.asdict(score)), "sentences_cut_differently": round(differ, 4)}


def predicted(
    folder: Path, path: Path, length: int, limit: int | None = None
) -> tuple[Any, dict[str, np.ndarray], dict[str, np.ndarray]]:
    """The rows of a file, the model's answers to the first `limit` of them, and its tensors."""
    found = checkpoint.load(folder)
    tokenizer = Tokenizer.from_files(found.tokenizer_files, str(folder))
    rows = read_rows(TOKEN_CLASSIFICATION, path, tokenizer=tokenizer, labels=found.labels, max_len=length)
    inputs = {name: values[:limit] for name, values in rows.inputs.items()}
    return rows, Predictor(Encoder(found.config, found.head, found.tensors))(inputs), found.tensors


def header() -> dict[str, Any]:
    return {
        "cut": list(CUT),
        "rates": {"teacher": TEACHER_RATE, "distill": DISTILL_RATE, "labels": LABEL_RATE, "labels_only": DISTILL_RATE},
        "latency": {"cpu": cpu_name(), "threads": 1, "rounds": ROUNDS, "time": "of the processor"},
    }


if __name__ == "__main__":
    main()
