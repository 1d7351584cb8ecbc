"""One BERT classifier in PyTorch, in Keras and as float32 files: rows right, and rows that get another answer.

    python benchmarks/dense_bert.py CHECKPOINT EVAL_DATA WORK_FOLDER --max-seq-len 64 --result FILE

PyTorch's side reads the checkpoint, the texts and the vocabulary with `transformers` alone. The files are those that an
export writes, run from disk. EVAL_DATA is a .tsv with the columns text (or sentence) and label, a number.
"""

import argparse
import csv
import hashlib
import json
import math
import shlex
import sys
from pathlib import Path
from typing import Any

import numpy as np

from exporters import ExportRequest, export
from exporters.formats.base import load_runner
from exporters.formats.runners import KerasRunner
from exporters.report.versions import versions
from models_tf.checkpoints import encoder as checkpoint
from models_tf.encoder.model import Encoder
from models_tf.tasks import CLASSIFICATION, read_rows
from models_tf.tokenizers.tokenizer import Tokenizer

REFERENCE = "PyTorch"
BATCH = 32


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("checkpoint", "eval_data", "work"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--max-seq-len", type=int, default=128)
    parser.add_argument("--result", type=Path, required=True)
    options = parser.parse_args()
    found = measure(options.checkpoint, options.eval_data, options.work, max_seq_len=options.max_seq_len)
    arguments = [_shown(word, options) for word in sys.argv[1:]]
    document = {"command": f"python benchmarks/dense_bert.py {shlex.join(arguments)}", **found}
    options.result.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(found["results"], indent=2))


def _shown(word: str, options: argparse.Namespace) -> str:
    """Folders of one machine mean nothing on another; the last two names say which data it was."""
    if Path(word) == options.work:
        return "WORK_FOLDER"
    return str(Path(*Path(word).parts[-2:])) if Path(word) in (options.checkpoint, options.eval_data) else word


def measure(folder: Path, data: Path, work: Path, *, max_seq_len: int) -> dict[str, Any]:
    """Counts for each of the four; `differ` and `max_abs` (of the logits) are against PyTorch."""
    labels, theirs = pytorch(folder, data, max_seq_len)
    logits = {REFERENCE: theirs, **ours(folder, data, work, max_seq_len)}
    share = float((theirs.argmax(1) == labels).mean())
    return {
        "sha256": hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest(),
        "rows": len(labels),
        "max_seq_len": max_seq_len,
        "standard_error": round(100 * math.sqrt(share * (1 - share) / len(labels)), 2),
        "results": [
            {
                "stage": name,
                "right": int((values.argmax(1) == labels).sum()),
                "accuracy": round(100 * float((values.argmax(1) == labels).mean()), 2),
                "differ": int((values.argmax(1) != theirs.argmax(1)).sum()),
                "max_abs": float(f"{np.abs(values - theirs).max():.2g}"),
            }
            for name, values in logits.items()
        ],
        "versions": versions() | _torch_versions(),
    }


def pytorch(folder: Path, data: Path, max_seq_len: int) -> tuple[np.ndarray, np.ndarray]:
    """Labels [row] and the logits [row, label] of `transformers`, its own tokenizer included."""
    import torch
    from transformers import BertForSequenceClassification, BertTokenizer

    with data.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    column = "text" if "text" in rows[0] else "sentence"
    texts = [row[column].strip() for row in rows]
    model = BertForSequenceClassification.from_pretrained(folder, dtype=torch.float32).eval()
    tokenizer = BertTokenizer.from_pretrained(folder)
    parts = []
    with torch.inference_mode():
        for start in range(0, len(texts), BATCH):
            settings = {"truncation": True, "max_length": max_seq_len, "padding": "max_length", "return_tensors": "pt"}
            parts.append(model(**tokenizer(texts[start : start + BATCH], **settings)).logits.numpy())
    return np.array([int(row["label"]) for row in rows]), np.concatenate(parts)


def ours(folder: Path, data: Path, work: Path, max_seq_len: int) -> dict[str, np.ndarray]:
    """Logits [row, label] of the Keras model as it was read, and of each file of a float32 export."""
    origin = checkpoint.load(folder, model="bert")
    tokenizer = Tokenizer.from_files(origin.tokenizer_files)
    feed = read_rows(CLASSIFICATION, data, tokenizer=tokenizer, labels=origin.labels, max_len=max_seq_len).inputs
    report = export(
        ExportRequest(
            model="bert",
            checkpoint=folder,
            quantize="float32",
            eval_data=data,
            eval_rows=BATCH,  # the export's own checks; all rows are run below
            max_seq_len=max_seq_len,
            output=work / "dense_bert",
            force=True,
        )
    )
    encoder = Encoder(origin.config, origin.head, origin.tensors)
    runners: dict[str, Any] = {"Keras": KerasRunner(encoder, inputs=tuple(feed), rows=BATCH)}
    names = tuple(report.model["inputs"])
    for file in report.model_files():
        runners[f"float32 {file.target}"] = load_runner(work / "dense_bert" / file.name, inputs=names)
    return {name: runner(feed)["logits"] for name, runner in runners.items()}


def _torch_versions() -> dict[str, str]:
    from importlib import metadata

    return {name: metadata.version(name) for name in ("torch", "transformers", "tokenizers")}


if __name__ == "__main__":
    main()
