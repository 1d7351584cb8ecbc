"""Sentence embeddings in int8 on pairs with scores: ours beside what sentence-transformers exports.

    python benchmarks/sentence_embeddings.py --checkpoint FOLDER --data STSB_FOLDER --peer-python PYTHON
        [--work FOLDER] [--result docs/results/sentence_embeddings.json]

The folder is one of sentence-transformers. train.tsv calibrates int8, dev.tsv measures: Spearman's correlation of
cosines with the scores, vectors and nearest neighbors beside those of PyTorch in float32. sentence-transformers
quantizes through optimum, which wants an older transformers than we do: PYTHON is that of an environment of its own,
made by `pip install torch==2.13.0 sentence-transformers==5.7.0 optimum-onnx[onnxruntime]==0.1.0`. Pooling is not part
of such a file.
"""

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from exporters import ExportRequest, export
from exporters.checking.paired import resampled
from exporters.formats.isolated import IsolatedRunner
from exporters.report.versions import cpu_name, versions
from exporters.shipped.model import model_files, open_one
from models_tf.spec import EMBEDDING, IDS, MASK
from models_tf.tasks import read_rows
from models_tf.tasks.embedding import EmbeddingRows
from models_tf.tasks.judged import STATISTICS
from models_tf.tokenizers.tokenizer import Tokenizer

RECIPES = ("int8", "int8-dynamic")
# Those for avx512 and avx512_vnni are, byte for byte, those for arm64.
THEIR_CONFIGS = ("arm64", "avx2")
LENGTH = 256  # as the model says
OURS, THEIRS = "export-mobile", "sentence-transformers"
_BATCH = 32
_PEER = """
import importlib.metadata, json, sys
from sentence_transformers import SentenceTransformer, export_dynamic_quantized_onnx_model
checkpoint, output, *configs = sys.argv[1:]
model = SentenceTransformer(checkpoint, backend="onnx", device="cpu", model_kwargs={"provider": "CPUExecutionProvider"})
for config in configs:
    export_dynamic_quantized_onnx_model(model, config, output)
names = ("sentence-transformers", "optimum", "optimum-onnx", "transformers", "onnxruntime", "onnx", "torch")
with open(output + "/versions.json", "w") as file:
    json.dump({name: importlib.metadata.version(name) for name in names}, file)
"""
_PEER_SECONDS = 600
Encode = Callable[[EmbeddingRows], np.ndarray]


def ours(args: argparse.Namespace, work: Path) -> Iterator[tuple[dict[str, Any], Encode]]:
    for recipe in RECIPES:
        folder = work / recipe
        if not folder.is_dir():
            export(
                ExportRequest(
                    checkpoint=args.checkpoint,
                    quantize=recipe,
                    eval_data=args.data / "dev.tsv",
                    eval_rows=100,
                    calibration_data=args.data / "train.tsv",
                    max_seq_len=LENGTH,
                    output=folder,
                )
            )
        for path in model_files(folder):
            yield {"tool": OURS, "file": path.name, "size_bytes": path.stat().st_size}, _in_file(path)


def _in_file(path: Path) -> Encode:
    def run(rows: EmbeddingRows) -> np.ndarray:
        shipped = open_one(path)
        with IsolatedRunner(path, inputs=shipped.inputs) as runner:
            return np.concatenate([runner(feed)[EMBEDDING] for feed in _feeds(rows)])

    return run


def theirs(args: argparse.Namespace, work: Path) -> Iterator[tuple[dict[str, Any], Encode]]:
    """The files that `export_dynamic_quantized_onnx_model` writes."""
    folder = _their_folder(work)
    if not (folder / "versions.json").is_file():
        folder.mkdir(exist_ok=True)
        command = [args.peer_python, "-c", _PEER, str(args.checkpoint), str(folder), *THEIR_CONFIGS]
        environment = {**os.environ, "HF_HUB_OFFLINE": "1"}
        subprocess.run(command, check=True, timeout=_PEER_SECONDS, env=environment)
    for path in sorted((folder / "onnx").glob("*.onnx")):
        yield {"tool": THEIRS, "file": path.name, "size_bytes": path.stat().st_size}, _encoder(path)


def _their_folder(work: Path) -> Path:
    return work / "theirs"


def _encoder(path: Path) -> Encode:
    import onnxruntime

    def run(rows: EmbeddingRows) -> np.ndarray:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        session = onnxruntime.InferenceSession(str(path), options)
        known, found = {one.name for one in session.get_inputs()}, []
        # One row at a time without padding, as the files of ours run: activations have one scale for a whole batch.
        for ids, mask in zip(rows.inputs[IDS], rows.inputs[MASK], strict=True):
            row = ids[None, : mask.sum()].astype(np.int64)
            given = {"input_ids": row, "attention_mask": np.ones_like(row), "token_type_ids": np.zeros_like(row)}
            hidden = session.run(["last_hidden_state"], {name: given[name] for name in known})[0]
            found.append(hidden[0].mean(0))
        return np.stack(found)

    return run


def _feeds(rows: EmbeddingRows) -> Iterator[dict[str, np.ndarray]]:
    for start in range(0, len(rows), 256):
        yield {name: values[start : start + 256] for name, values in rows.inputs.items()}


def reference(args: argparse.Namespace, rows: EmbeddingRows) -> np.ndarray:
    """PyTorch in float32, by sentence-transformers itself."""
    import torch
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(1)
    model = SentenceTransformer(str(args.checkpoint), device="cpu")
    model.max_seq_length = LENGTH
    return np.asarray(model.encode(list(rows.sentences), batch_size=_BATCH, show_progress_bar=False))


def measure(rows: EmbeddingRows, vectors: np.ndarray, wanted: np.ndarray) -> dict[str, Any]:
    outputs, expected = {EMBEDDING: vectors}, {EMBEDDING: wanted}
    score, compared = rows.score(outputs), rows.compared(outputs, expected)
    judged, before = rows.judge(outputs), rows.judge(expected)
    drop = resampled(before.counts, judged.counts, STATISTICS[judged.metric])
    return {
        "spearman": score.value,
        "interval": list(score.interval or ()),
        "drop": drop.points,
        "drop_interval": [drop.low, drop.high],
        **compared,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--checkpoint", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--peer-python", required=True, help="of an environment with sentence-transformers and optimum")
    parser.add_argument("--work", type=Path)
    parser.add_argument("--result", type=Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        work = args.work or Path(scratch)
        work.mkdir(parents=True, exist_ok=True)
        tokenizer = Tokenizer.from_folder(args.checkpoint)
        rows = read_rows("embedding", args.data / "dev.tsv", tokenizer=tokenizer, max_len=LENGTH)
        if not isinstance(rows, EmbeddingRows):
            raise TypeError("Pairs were expected.")
        wanted = _kept(work / "reference.npy", lambda: reference(args, rows))
        files = [{"tool": THEIRS, "file": "PyTorch, float32", "size_bytes": None, **measure(rows, wanted, wanted)}]
        for make in (ours, theirs):
            for about, run in make(args, work):
                vectors = _kept(work / f"{about['file']}.npy", lambda run=run: run(rows))
                files.append({**about, **measure(rows, vectors, wanted)})
                print(json.dumps(files[-1]), flush=True)
        their_versions = json.loads((_their_folder(work) / "versions.json").read_text(encoding="utf-8"))
    found = {
        "command": shlex.join(["python", "benchmarks/sentence_embeddings.py", *_named(sys.argv[1:])]),
        "model": "all-MiniLM-L6-v2",
        "data": "STS-B dev",
        "n": len(rows) // rows.rows_each,
        "sentences": len(np.unique(rows.inputs[IDS], axis=0)),
        "max_seq_len": LENGTH,
        "cpu": cpu_name(),
        "versions": versions(),
        "their_versions": their_versions,
        "files": files,
    }
    if args.result is not None:
        args.result.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def _kept(path: Path, make: Callable[[], np.ndarray]) -> np.ndarray:
    """Vectors that an earlier run left in the work folder, or new ones."""
    if not path.is_file():
        np.save(path, make())
    return np.asarray(np.load(path, allow_pickle=False))


def _named(arguments: list[str]) -> list[str]:
    """The command with names in place of this machine's paths."""
    places = {
        "--checkpoint": "all-MiniLM-L6-v2",
        "--data": "stsb",
        "--peer-python": "peer/bin/python",
        "--result": "docs/results/sentence_embeddings.json",
    }
    return [part for flag, place in places.items() if flag in arguments for part in (flag, place)]


if __name__ == "__main__":
    main()
