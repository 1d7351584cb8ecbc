"""Accuracy of the int8 bytes-in file on the real test sets: trains, exports, collects.

    python benchmarks/prepare_data.py DATA_FOLDER PREPARED
    python benchmarks/accuracy.py PREPARED WORK_FOLDER [--sets snips,clinc150] [--seeds 0,1,2] [--result FILE]

The epoch is chosen on dev rows (held out from train where a set has none); test rows are read at the end only. How the
settings were chosen, docs/prado.md says.
A training that is done, or an export that is done, is not repeated: the script goes on where it was stopped.
"""

import argparse
import dataclasses
import json
import shlex
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from exporters.formats.base import load_runner
from models_tf.checkpoints import projection as checkpoint
from models_tf.data import Row, read_table
from models_tf.ops.projection.library import HostProjection

# One bottleneck, no four- and five-grams: the bytes go into features. Letters, digits and common accents only.
SMALL = ["shared_bottleneck=true", "fourgram=0", "fivegram=0"]
LETTERS = "projection.vocabulary=abcdefghijklmnopqrstuvwxyz0123456789áéíóúñüöäàèçß"
SPEECH = [*SMALL, LETTERS, "projection.token_separators='-"]
REVIEW = [*SMALL, "projection.token_separators=.,!?;:()\"'/-<>*&"]


def settings(options: str, *fields: str) -> list[str]:
    return [*options.split(), *(word for field in fields for word in ("--set", field))]


def channels(count: int) -> list[str]:
    return [f"{name}={count}" for name in ("unigram", "bigram", "trigram", "skip1bigram", "skip2bigram")]


SETTINGS = {
    "snips": settings(
        "--max-seq-len 32 --epochs 20 --patience 20", *SPEECH, *channels(40), "projection.feature_size=1024"
    ),
    "clinc150": settings(
        "--max-seq-len 32 --epochs 30 --batch-size 128 --learning-rate 4e-3 --patience 30",
        *SPEECH,
        *channels(40),
        "embedding_size=56",  # so that the file with the projection inside stays below 200 KB
        "projection.feature_size=1536",
    ),
    "sst2": settings(
        "--max-seq-len 64 --epochs 6 --batch-size 128 --distortion 0.05",
        *SMALL,
        *channels(48),
        "projection.feature_size=1536",
    ),
    "imdb": settings(
        "--max-seq-len 512 --epochs 6 --batch-size 32 --distortion 0.05",
        *REVIEW,
        *channels(48),
        "projection.feature_size=1536",
    ),
}


def run(*arguments: str | Path) -> None:
    command = [sys.executable, "-m", "exporters.commands.main", *map(str, arguments)]
    print("$ export-mobile", *command[3:], flush=True)
    subprocess.run(command, check=True)


def train(name: str, seed: int, data: Path, work: Path) -> list[str | Path]:
    """The training command, run unless it was run to its end before."""
    folder, output = data / name, work / f"{name}-{seed}"
    command = ["train", "--train", folder / "train.tsv", "--dev", folder / "dev.tsv", "--output", output]
    command += [*SETTINGS[name], "--seed", str(seed)]
    if not (output / "done").exists():
        run(*command, "--resume" if (output / "resume.safetensors").exists() else "--force")
        (output / "done").touch()
    return command


def measure(name: str, seed: int, data: Path, work: Path) -> dict[str, Any]:
    folder, exported = data / name, work / f"{name}-{seed}-int8"
    training = train(name, seed, data, work)
    export = ["--checkpoint", work / f"{name}-{seed}", "--calibration-data", folder / "train.tsv"]
    export += ["--quantize", "int8", "--target", "tflite", "--output", exported]
    if not (exported / "report.json").exists():
        run(*export)
    file = exported / "bytes_int8.tflite"
    rows = list(read_table(folder / "test.tsv"))
    return {
        "seed": seed,
        "float": float_accuracy(work / f"{name}-{seed}", rows),
        "int8": int8_accuracy(file, exported / "labels.txt", rows),
        "rows": len(rows),
        "file": file.name,
        "size_bytes": file.stat().st_size,
        "train": "export-mobile " + " ".join(_shown(word, data, work) for word in training),
        "export": "export-mobile " + " ".join(_shown(word, data, work) for word in export),
    }


def int8_accuracy(file: Path, labels: Path, rows: list[Row]) -> float:
    """Every row as a string through the file on disk, in LiteRT."""
    names = labels.read_text(encoding="utf-8").splitlines()
    logits = load_runner(file, inputs=("text",))({"text": [row.text.encode() for row in rows]})["logits"]
    return 100 * sum(names[i] == row.label for i, row in zip(logits.argmax(-1), rows, strict=True)) / len(rows)


def float_accuracy(folder: Path, rows: list[Row], batch: int = 64, distortion: float = 0.0) -> float:
    """The Keras model, rows of similar length together and without further padding: the logits are the same.

    `distortion` is the probability of a typo in a token.
    """
    loaded = checkpoint.load(folder)
    model = checkpoint.build(loaded)
    config = loaded.config
    host = HostProjection(dataclasses.replace(config.projection, max_tokens=config.word_tokens, distortion=distortion))
    rows = sorted(rows, key=lambda row: row.text.count(" "))
    right = 0
    for start in range(0, len(rows), batch):
        part = rows[start : start + batch]
        features, _ = host.project([row.text for row in part], seed=start)
        answers = model.features_to_logits(features).numpy().argmax(-1)
        right += sum(loaded.labels[i] == row.label for i, row in zip(answers, part, strict=True))
    return 100 * right / len(rows)


def _shown(word: str | Path, data: Path, work: Path) -> str:
    return shlex.quote(str(word).replace(str(data), "PREPARED").replace(str(work), "WORK_FOLDER"))


def summarise(runs: list[dict[str, Any]]) -> dict[str, Any]:
    values = [run["int8"] for run in runs]
    return {
        "int8_mean": round(statistics.mean(values), 2),
        "int8_lowest": round(min(values), 2),
        "int8_highest": round(max(values), 2),
        "float_mean": round(statistics.mean(run["float"] for run in runs), 2),
        "largest_drop": round(max(run["float"] - run["int8"] for run in runs), 2),
        "largest_size_bytes": max(run["size_bytes"] for run in runs),
        "rows": runs[0]["rows"],
        "runs": runs,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--sets", default=",".join(SETTINGS))
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--result", type=Path, default=Path("docs/results/accuracy.json"))
    args = parser.parse_args()
    results = json.loads(args.result.read_text()) if args.result.exists() else {}
    for name in args.sets.split(","):
        runs = [measure(name, int(seed), args.data, args.work) for seed in args.seeds.split(",")]
        results[name] = summarise(runs)
        args.result.parent.mkdir(parents=True, exist_ok=True)
        args.result.write_text(json.dumps(results, indent=2, ensure_ascii=False) + "\n")
        print(name, {key: value for key, value in results[name].items() if key != "runs"}, flush=True)


if __name__ == "__main__":
    main()
