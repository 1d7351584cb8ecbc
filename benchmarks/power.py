"""PoWER-BERT compared with the BERT it was made from: accuracy, bytes, multiply-adds, and latency in one run.

    python benchmarks/power.py DENSE power=FOLDER first=FOLDER --eval-data test.tsv --calibration-data train.tsv \
        --length 256 --rows 2000 --work WORK --result docs/results/power_imdb.json

DENSE is the fine-tuned BERT, NAME=FOLDER are powerbert checkpoints. Each is exported in float32 and int8; exports
finished in WORK are reused. Accuracy is taken on the first `--rows` rows. Float files differ from Keras only by
rounding and have its accuracy, so they are compared on fewer rows. Latency is processor time of one thread on a row of
full length, all models in turn, as a ratio to the dense model in the same recipe and runtime; 0.5 is twice as fast.
Multiply-adds are counted in the float32 .tflite files.
"""

import argparse
import json
import shlex
import sys
from pathlib import Path
from typing import Any

import in_turn

from exporters.formats.tflite.profile import read
from exporters.report.versions import cpu_name
from quantize.tflite.flatbuffer import read_model

DENSE = "dense"
RECIPES = ("float32", "int8")
# Rows that compare a float file with Keras.
PARITY_ROWS = 100


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dense", type=Path)
    parser.add_argument("power", nargs="+", metavar="NAME=FOLDER")
    parser.add_argument("--eval-data", type=Path, required=True)
    parser.add_argument("--calibration-data", type=Path, required=True)
    parser.add_argument("--length", type=int, required=True)
    parser.add_argument("--rows", type=int, help="measure accuracy on the first N rows (default: all)")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--result", type=Path, required=True)
    args = parser.parse_args()
    checkpoints = {DENSE: args.dense, **{name: Path(path) for name, path in (one.split("=", 1) for one in args.power)}}
    models = {name: accuracy(name, checkpoint, args) for name, checkpoint in checkpoints.items()}
    base = models[DENSE]["multiply_adds"]
    for values in models.values():
        values["multiply_adds_ratio"] = round(values["multiply_adds"] / base, 3)
    for recipe in RECIPES:
        folders = {name: args.work / f"{name}_{recipe}" for name in checkpoints}
        for name, found in in_turn.ratios(folders, base=DENSE, rounds=args.rounds).items():
            for target in in_turn.TARGETS:
                models[name][recipe][target]["latency_ratio"] = found[target]
    result = {
        "command": f"python benchmarks/power.py {shlex.join(_redact(word) for word in sys.argv[1:])}",
        "max_seq_len": args.length,
        "latency": {
            "cpu": cpu_name(),
            "threads": 1,
            "rounds": args.rounds,
            "time": "of the processor, models in turn; quartiles over the rounds",
            "against": "the dense model, same recipe and runtime",
        },
        "models": models,
    }
    args.result.parent.mkdir(parents=True, exist_ok=True)
    args.result.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    for line in table(args.result.stem.removeprefix("power_"), models):
        print(line)


def accuracy(name: str, checkpoint: Path, args: argparse.Namespace) -> dict[str, Any]:
    """The results of the exports of one checkpoint, and the tokens it keeps by its config."""
    reports = {
        recipe: in_turn.export(
            checkpoint,
            args.work / f"{name}_{recipe}",
            eval_data=args.eval_data,
            calibration_data=args.calibration_data,
            length=args.length,
            quantize=recipe,
            eval_rows=PARITY_ROWS if recipe == "float32" else args.rows,
        )
        for recipe in RECIPES
    }
    config = json.loads((checkpoint / "config.json").read_text(encoding="utf-8"))
    int8 = in_turn.measured(reports["int8"])
    files = {entry["target"]: entry for entry in reports["float32"]["files"] if entry["target"]}
    content = (args.work / f"{name}_float32" / files["tflite"]["name"]).read_bytes()
    return {
        "retention": config.get("retention", []),
        "retention_by": config.get("retention_by") if config.get("retention") else None,
        **{key: int8[key] for key in ("parameters", "rows", "float_right", "float_accuracy", "standard_error")},
        "multiply_adds": sum(op.multiply_adds for op in read(read_model(content)).ops),
        "float32": {target: {"size_bytes": files[target]["size_bytes"]} for target in in_turn.TARGETS},
        "int8": {target: int8[target] for target in in_turn.TARGETS},
        "undecided_rows": sum(row.get("undecided", 0) for report in reports.values() for row in report["parity"]),
    }


def table(data: str, models: dict[str, Any]) -> list[str]:
    """The table in docs/powerbert.md."""
    header = ["data", "model", "tokens kept", "multiply-adds", "float", "int8 TFLite", "int8 ONNX"]
    header += [f"time of {recipe} {target}" for recipe in RECIPES for target in ("TFLite", "ONNX")]
    lines = ["| " + " | ".join(header) + " |", "|---" * len(header) + "|"]
    for name, values in models.items():
        cells = [data, name, " ".join(map(str, values["retention"])) or "all", f"{values['multiply_adds_ratio']:.2f}"]
        cells += [f"{values['float_accuracy']:.1f} ± {values['standard_error']:.1f}"]
        cells += [f"{values['int8'][target]['accuracy']:.1f}" for target in in_turn.TARGETS]
        for recipe in RECIPES:
            for target in in_turn.TARGETS:
                low, median, high = (values[recipe][target]["latency_ratio"][key] for key in ("low", "median", "high"))
                cells.append("1" if name == DENSE else f"{median:.2f} ({low:.2f} to {high:.2f})")
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def _redact(word: str) -> str:
    name, found, path = word.partition("=")
    return f"{name}={in_turn.redact(path)}" if found else in_turn.redact(word)


if __name__ == "__main__":
    main()
