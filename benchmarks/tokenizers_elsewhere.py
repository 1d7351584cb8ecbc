"""Texts per second of the tokenizers in Java and JavaScript beside the `tokenizers` package, in one run and in turns.

python benchmarks/tokenizers_elsewhere.py --work FOLDER --output docs/results/tokenizers_elsewhere.json: every round
encodes the same texts in each of them, with places and without special tokens, by one thread. Time is the processor's,
of the whole process, so that what else the machine does hardly counts, while compiling and collecting garbage do. The
package runs one text at a time (`encode`) and all at once (`encode_batch`), TOKENIZERS_PARALLELISM=false. The Unigram
model is trained here by sentencepiece on IMDB's training texts, with its map nmt_nfkc. Needs EXPORT_MOBILE_DATA, java
and node.
"""

import argparse
import gzip
import io
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

os.environ["TOKENIZERS_PARALLELISM"] = "false"

from tokenizers import Tokenizer as Backend

from models_tf.tokenizers.tokenizer import Tokenizer

ROOT = Path(__file__).parents[1]
JAVA = ROOT / "examples/android/exportmobile/src/main/java/exportmobile"
HERE = Path(__file__).parent
GOAL = 0.2
WARM_UP, ROUNDS = 2, 7
IMDB_ROWS, SST2_TIMES, PIECES, TRAINING_ROWS = 400, 3, 8000, 3000
# Java's clock of the processor goes in steps of 10 ms: so many passes over the texts in a round.
PASSES = 8


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="a folder for the models and the texts")
    parser.add_argument("--output", type=Path, required=True, help="where the figures go, as JSON; others stay there")
    parser.add_argument("--only", nargs=2, metavar=("MODEL", "TEXTS"), help="such as: unigram imdb_test")
    asked = parser.parse_args()
    asked.work.mkdir(parents=True, exist_ok=True)
    data = Path(os.environ["EXPORT_MOBILE_DATA"])
    models = {"wordpiece": _wordpiece(data, asked.work), "unigram": _unigram(data, asked.work)}
    texts = {"sst2_dev": _sst2(data) * SST2_TIMES, "imdb_test": _imdb(data / "imdb/test.tsv.gz", IMDB_ROWS)}
    for name, some in texts.items():
        (asked.work / f"{name}.json").write_text(json.dumps(some, ensure_ascii=False), encoding="utf-8")
    others = _others(asked.work)
    for model, file in models.items():
        backend = Backend.from_file(str(file))
        for name, some in texts.items():
            if asked.only in (None, [model, name]):
                figures = _measure(backend, file, asked.work / f"{name}.json", some, others)
                _write(asked.output, {"model": model, "texts": name, **figures})


def _write(path: Path, row: dict) -> None:
    """Adds a row to the file, in the place of an older one of the same model and texts."""
    old = json.loads(path.read_text(encoding="utf-8"))["results"] if path.is_file() else []
    rows = [one for one in old if (one["model"], one["texts"]) != (row["model"], row["texts"])]
    document = {
        "command": f"python benchmarks/{Path(__file__).name} --work FOLDER --output FILE",
        "goal": f"at least {GOAL} of the package's texts per second, one text at a time",
        "time": "of the processor, whole process, one thread that encodes",
        "rounds": ROUNDS,
        "versions": {"tokenizers": version("tokenizers"), "python": platform.python_version(), **_versions()},
        "unigram": f"{PIECES} pieces, by sentencepiece {version('sentencepiece')} from {TRAINING_ROWS} IMDB texts",
        "results": [*rows, row],
    }
    path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    sys.stdout.write(json.dumps(row) + "\n")


def _measure(backend: Backend, file: Path, path: Path, texts: list[str], others: dict[str, Callable]) -> dict:
    runs: dict[str, Callable[[], tuple[float, int]]] = {
        "tokenizers encode": lambda: _time(lambda: [backend.encode(text, add_special_tokens=False) for text in texts]),
        "tokenizers encode_batch": lambda: _time(lambda: backend.encode_batch(texts, add_special_tokens=False)),
        **{name: (lambda run=run: run(file, path)) for name, run in others.items()},
    }
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    counts = set()
    for turn in range(WARM_UP + ROUNDS):
        for name, run in runs.items():
            taken, tokens = run()
            counts.add(tokens)
            if turn >= WARM_UP:
                seconds[name].append(taken)
    if len(counts) != 1:
        message = f"All must find the same tokens. Received: {sorted(counts)}."
        raise AssertionError(message)
    found: dict = {"n": len(texts), "tokens": counts.pop(), "texts_per_second": {}, "ratio": {}}
    for name, taken in seconds.items():
        found["texts_per_second"][name] = _spread([len(texts) / one for one in taken])
        if name in others:
            for base in ("encode", "encode_batch"):
                ratios = [first / one for first, one in zip(seconds[f"tokenizers {base}"], taken, strict=True)]
                found["ratio"][f"{name} / {base}"] = _spread(ratios)
    return found


def _time(run: Callable[[], list]) -> tuple[float, int]:
    start = time.process_time()
    rows = run()
    taken = time.process_time() - start
    return taken, sum(len(row.ids) for row in rows)


def _spread(values: list[float]) -> dict[str, float]:
    low, median, high = statistics.quantiles(values, n=4)
    digits = 0 if median > 10 else 3
    return {"low": round(low, digits), "median": round(median, digits), "high": round(high, digits)}


def _others(work: Path) -> dict[str, Callable]:
    classes = work / "classes"
    sources = ["-sourcepath", JAVA.parent, HERE / "TokenizerSpeed.java"]
    subprocess.run(["javac", "-nowarn", "-d", classes, *sources], check=True)
    commands = {
        "java": ["java", "-XX:+UseSerialGC", "-cp", classes, "exportmobile.TokenizerSpeed"],
        "javascript": ["node", HERE / "tokenizer_speed.mjs", ROOT / "examples/web"],
    }
    return {name: _runner(command) for name, command in commands.items()}


def _runner(command: list) -> Callable[[Path, Path], tuple[float, int]]:
    process = subprocess.Popen(list(map(str, command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(file: Path, texts: Path) -> tuple[float, int]:
        process.stdin.write(f"{file} {texts} {PASSES}\n")
        process.stdin.flush()
        seconds, tokens = process.stdout.readline().split()
        return float(seconds) / PASSES, int(tokens) // PASSES

    return run


def _wordpiece(data: Path, work: Path) -> Path:
    files = Tokenizer.from_files({"vocab.txt": (data / "vocab/vocab.txt").read_bytes()}).files()
    (work / "wordpiece.json").write_bytes(files["tokenizer.json"])
    return work / "wordpiece.json"


def _unigram(data: Path, work: Path) -> Path:
    model = work / f"unigram-{PIECES}-{TRAINING_ROWS}.model"
    if not model.is_file():
        import sentencepiece

        written = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(text[:4000].lower() for text in _imdb(data / "imdb/train.tsv.gz", TRAINING_ROWS)),
            model_writer=written,
            vocab_size=PIECES,
            max_sentence_length=20_000,
            pad_id=0,
            unk_id=1,
            bos_id=2,
            eos_id=3,
            bos_piece="[CLS]",
            eos_piece="[SEP]",
            normalization_rule_name="nmt_nfkc",
            num_threads=1,
            minloglevel=2,
        )
        model.write_bytes(written.getvalue())
    files = Tokenizer.from_files({"spiece.model": model.read_bytes()}).files()
    (work / "unigram.json").write_bytes(files["tokenizer.json"])
    return work / "unigram.json"


def _sst2(data: Path) -> list[str]:
    lines = (data / "sst2/dev.tsv").read_text(encoding="utf-8").splitlines()[1:]
    return [line.split("\t")[0] for line in lines]


def _imdb(path: Path, rows: int) -> list[str]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        next(file)
        return [line.split("\t")[0] for line, _ in zip(file, range(rows), strict=False)]


def _versions() -> dict[str, str]:
    java = subprocess.run(["java", "-version"], capture_output=True, text=True, check=True).stderr.splitlines()[0]
    node = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    return {"java": java, "node": node}


if __name__ == "__main__":
    main()
