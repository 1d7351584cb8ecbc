"""Makes docs/results/ledger_*.json: exports of every family through every runtime, by `export-mobile ledger`.

    PYTHONPATH=tests python benchmarks/ledger.py DATA WEIGHTS WORK RESULTS [NAME...]

DATA has sst2/ and wnut17/, WEIGHTS minilm-l6-sst2/. Exports and the trained tagger are kept in WORK. Needs what
`export-mobile setup arm64` and `setup web` fetch, Chromium, node, tflite-runtime and openvino. The tiny models
of `tiny_models.py` have random weights, so their labels may flip where two are nearly equal.
"""

import argparse
import json
import random
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from exporters import LedgerRequest, ledger
from support import tiny_models

ROWS = 200
LABELS = ("no", "yes")  # of the tiny models, among others
FAMILIES = ("mobilebert", "albert", "powerbert", "ghostbert", "bert")
# LiteRT.js takes no int8 answers: token models answer in float32.
QUANTIZED = ("--quantize", "int8")
TOKENS = (*QUANTIZED, "--io", "float32")


def command(*arguments: object) -> None:
    subprocess.run([sys.executable, "-m", "exporters", *map(str, arguments)], check=True)


def prado(task: str) -> Callable[[Path, Path, Path], Sequence[object]]:
    def flags(_data: Path, _weights: Path, _work: Path) -> Sequence[object]:
        return ("--model", "prado", "--task", task, *QUANTIZED)

    return flags


def minilm(data: Path, weights: Path, _work: Path) -> Sequence[object]:
    rows = ("--eval-data", data / "sst2" / "dev.tsv", "--calibration-data", data / "sst2" / "train.tsv")
    return ("--model", "bert", "--checkpoint", weights / "minilm-l6-sst2", "--max-seq-len", 64, *rows, *TOKENS)


def tagger(data: Path, weights: Path, work: Path) -> Sequence[object]:
    """Three of MiniLM's six layers, fine-tuned on WNUT-17 for two epochs: trained, and not well."""
    made, train, dev = work / "tagger", data / "wnut17" / "wnut17train.conll", data / "wnut17" / "emerging.dev.conll"
    if not made.is_dir():
        sizes = ("--drop-layers", "top:3", "--max-seq-len", 48, "--epochs", 2, "--learning-rate", 2e-4)
        base = ("--model", "tagger", "--checkpoint", weights / "minilm-l6-sst2")
        command("train", *base, *sizes, "--train", train, "--dev", dev, "--output", made)
    return ("--model", "tagger", "--checkpoint", made, "--eval-data", dev, "--calibration-data", train, *TOKENS)


def tiny(model: str) -> Callable[[Path, Path, Path], Sequence[object]]:
    def flags(_data: Path, _weights: Path, work: Path) -> Sequence[object]:
        made = work / f"tiny-{model}"
        if not made.is_dir():
            if model == "sgnn":
                write_sgnn(made)
            else:
                tiny_models.write_checkpoint(made, model)
        return ("--model", model, "--checkpoint", made, *numbers(work), *(QUANTIZED if model == "sgnn" else TOKENS))

    return flags


def write_sgnn(folder: Path) -> None:
    from models_tf.checkpoints import projection

    made = tiny_models.projection_model("sgnn")
    labels = [*LABELS, *(f"label {number}" for number in range(len(LABELS), made.config.num_labels))]
    saved = projection.ProjectionCheckpoint(
        model_name="sgnn", config=made.config, labels=labels, weights=projection.tensors(made)
    )
    projection.save(folder, saved)


def numbers(work: Path) -> Sequence[object]:
    """Rows of words that the tiny vocabulary has, with labels that mean nothing."""
    generator, words = random.Random(0), [str(number) for number in range(tiny_models.BERT["vocab_size"] - 4)]
    for name, count in (("eval", ROWS), ("calibration", 100)):
        texts = [" ".join(generator.choices(words, k=generator.randint(1, 12))) for _ in range(count)]
        rows = [f"{text}\t{LABELS[number % len(LABELS)]}\n" for number, text in enumerate(texts)]
        (work / f"{name}.tsv").write_text("text\tlabel\n" + "".join(rows), encoding="utf-8")
    return ("--eval-data", work / "eval.tsv", "--calibration-data", work / "calibration.tsv")


LEDGERS = {
    "prado_snips": prado("snips"),
    "prado_clinc150": prado("clinc150"),
    "minilm_sst2": minilm,
    "tagger_wnut17": tagger,
    **{f"tiny_{name}": tiny(name) for name in (*FAMILIES, "sgnn")},
}


# Columns of the table: a runtime, or Keras.
COLUMNS = {
    "litert": "LiteRT",
    "tflite-runtime": "tflite-runtime",
    "litert-arm64": "LiteRT, ARM64",
    "tflite-runtime-arm64": "tflite-runtime, ARM64",
    "litert-js": "LiteRT.js",
    "onnxruntime": "ONNX Runtime",
    "onnxruntime-arm64": "ONNX Runtime, ARM64",
    "ort-web": "ONNX Runtime Web",
    "openvino": "OpenVINO",
}


def table(results: Path) -> list[str]:
    """Lines of Markdown: a runtime in each row, a model in each column. Of several files, the worst counts."""
    paths = {name: results / f"ledger_{name}.json" for name in LEDGERS}
    ledgers = {name: json.loads(path.read_text()) for name, path in paths.items() if path.is_file()}
    lines = ["| runtime | " + " | ".join(name.replace("_", " ") for name in ledgers) + " |"]
    lines.append("|---|" + "---|" * len(ledgers))
    for runtime, title in COLUMNS.items():
        cells = [cell([one for one in made["entries"] if one["runtime"] == runtime]) for made in ledgers.values()]
        lines.append(f"| {title} | {' | '.join(cells)} |")
    lines.append("| Keras | " + " | ".join(keras_cell(made["entries"]) for made in ledgers.values()) + " |")
    return lines


def cell(entries: Sequence[dict[str, Any]]) -> str:
    """Labels equal to the reference, and the largest difference as a share of what is allowed."""
    ran = [one for one in entries if one["meant"] and one["max_abs"] is not None]
    if not ran:
        return "-"
    worst = min(one["same"] for one in ran)
    share = max(one["max_abs"] / one["tolerance"] for one in ran)
    if all(one["status"] == "reference" for one in ran):
        return "reference"
    return f"{worst} of {ran[0]['labels']}, {share:.2f}"


def keras_cell(entries: Sequence[dict[str, Any]]) -> str:
    found = [one for one in entries if one["status"] == "reference" and one["keras_same"] is not None]
    return f"{min(one['keras_same'] for one in found)} of {found[0]['labels']}" if found else "-"


def main() -> None:
    parser = argparse.ArgumentParser()
    for name in ("data", "weights", "work", "results"):
        parser.add_argument(name, type=Path)
    parser.add_argument("names", nargs="*", choices=[[], *LEDGERS])
    given = parser.parse_args()
    given.work.mkdir(exist_ok=True)
    for name in given.names or LEDGERS:
        folder = given.work / f"export-{name}"
        flags = LEDGERS[name](given.data, given.weights, given.work)
        if not folder.is_dir():
            command(*flags, "--output", folder)
        data = flags[flags.index("--eval-data") + 1] if "--eval-data" in flags else None
        result = ledger(LedgerRequest(folder=folder, data=data, rows=ROWS))
        (given.results / f"ledger_{name}.json").write_text(result.to_json() + "\n", encoding="utf-8")
        print(name, "passed" if result.passed else [entry for entry in result.entries if not entry.passed], flush=True)
    print("\n".join(table(given.results)))


if __name__ == "__main__":
    main()
