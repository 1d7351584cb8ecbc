"""int8 of a token model that gives several labels per text, on real sentences: micro and macro F1 of every file.

    python benchmarks/several_labels.py --weights BERT_FOLDER --data SNIPS_FOLDER
        [--result docs/results/several_labels.json]

The labels of a text are the kinds of slots that its words have in SNIPS (artist, album, service, ...), so a text has
none, one or several of them. The model starts from BERT_FOLDER with a new head and is trained on all training rows;
the dev rows pick the best epoch, the test rows measure.
"""

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

from exporters import ExportRequest, TrainRequest, export, train
from exporters.report.versions import cpu_name, versions

RECIPES = ("int8", "int8-dynamic")
LENGTH = 48
COMMAND = "python benchmarks/several_labels.py --weights {weights} --data {data} --epochs {epochs} --seed {seed}"


def write_rows(data: Path, part: str, folder: Path) -> tuple[Path, list[int]]:
    """A table of texts with their kinds of slots, and how many each text has."""
    lines, counts = ["text\tlabel"], []
    texts, tags = ((data / part / name).read_text(encoding="utf-8").splitlines() for name in ("seq.in", "seq.out"))
    for text, row in zip(texts, tags, strict=True):
        kinds = sorted({tag[2:] for tag in row.split() if tag != "O"})
        lines.append(f"{' '.join(text.split())}\t{'|'.join(kinds)}")
        counts.append(len(kinds))
    path = folder / f"{part}.tsv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path, counts


def measure(options: argparse.Namespace, work: Path) -> dict[str, Any]:
    (rows, counts), (pick, _), (test, tested) = (
        write_rows(options.data, part, work) for part in ("train", "dev", "test")
    )
    trained = train(
        TrainRequest(
            model="bert", checkpoint=options.weights, train=rows, dev=pick, output=work / "trained", multi_label=True,
            max_seq_len=LENGTH, epochs=options.epochs, batch_size=32, learning_rate=4e-4, seed=options.seed,
            freeze_embedding=True,
        )
    )  # fmt: skip
    files = []
    for recipe in RECIPES:
        report = export(
            ExportRequest(
                checkpoint=trained.output, eval_data=test, calibration_data=rows, quantize=recipe, output=work / recipe
            )
        )
        keras = report.accuracy[0].score
        for file in report.model_files():
            score = next(one for one in report.accuracy if one.stage.startswith(f"{file.name} on")).score
            files.append(
                {
                    "file": file.name, "size_bytes": file.size_bytes, "n": score.n, "float": keras.value,
                    "value": score.value, "drop": keras.value - score.value, "interval": list(score.interval or ()),
                    "float_macro": keras.more["macro_f1"], "macro": score.more["macro_f1"],
                    "threshold": score.label_threshold, "passed": report.passed,
                }
            )  # fmt: skip
    labels = len(json.loads((Path(trained.output) / "config.json").read_text())["id2label"])
    return {
        "labels": labels, "training_rows": len(counts), "labels_per_text": sum(counts) / len(counts),
        "most_labels": max(counts + tested), "texts_without": sum(not count for count in counts),
        "files": files,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--result", type=Path, default=Path("docs/results/several_labels.json"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="several-labels-") as work:
        found = measure(options, Path(work))
    shown = {**vars(options), "weights": options.weights.name, "data": options.data.name}
    document = {"command": COMMAND.format(**shown), "cpu": cpu_name(), "seed": options.seed, **found}
    document["versions"] = versions()
    options.result.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    for file in found["files"]:
        print(*file.values(), flush=True)


if __name__ == "__main__":
    main()
