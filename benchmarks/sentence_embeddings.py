"""Sentence embeddings in int8 on pairs with scores: ours beside what sentence-transformers exports.

    python benchmarks/sentence_embeddings.py --checkpoint FOLDER --data STSB_FOLDER [--work FOLDER]
        [--result docs/results/sentence_embeddings.json]

The folder is one of sentence-transformers. train.tsv calibrates int8, dev.tsv measures: Spearman's correlation of
cosines with the scores, vectors and nearest neighbors beside those of PyTorch in float32. sentence-transformers
quantizes through optimum, which hands a float ONNX file of the encoder to onnxruntime's dynamic quantizer; optimum is
not needed here: the same settings are handed to the same quantizer. Pooling is not part of such a file.
"""

import argparse
import json
import shlex
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
# optimum has the same settings for arm64, avx512 and avx512_vnni, and unsigned weights for avx2.
THEIR_WEIGHTS = {"qint8": "QInt8", "quint8_avx2": "QUInt8"}
LENGTH = 256  # as the model says
OURS, THEIRS = "export-mobile", "sentence-transformers"
_BATCH = 32
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
    """The encoder in ONNX, quantized as `export_dynamic_quantized_onnx_model` does."""
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from onnxruntime.quantization.registry import IntegerOpsRegistry

    plain = work / "encoder.onnx"
    if not plain.is_file():
        _to_onnx(args.checkpoint, plain)
    for name, weights in THEIR_WEIGHTS.items():
        path = work / f"model_{name}.onnx"
        if not path.is_file():
            quantize_dynamic(
                plain,
                path,
                op_types_to_quantize=list(IntegerOpsRegistry),
                per_channel=True,
                weight_type=QuantType[weights],
                extra_options={
                    "WeightSymmetric": True,
                    "ActivationSymmetric": False,
                    "EnableSubgraph": False,
                    "ForceSymmetric": False,
                    "MatMulConstBOnly": False,
                },
            )
        yield {"tool": THEIRS, "file": path.name, "size_bytes": path.stat().st_size}, _encoder(path)


def _to_onnx(folder: Path, path: Path) -> None:
    import torch
    from transformers import AutoModel

    names = ("input_ids", "attention_mask", "token_type_ids")

    class Encoder(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = AutoModel.from_pretrained(folder, attn_implementation="eager")

        def forward(self, *given: Any) -> Any:
            return self.model(**dict(zip(names, given, strict=True)), return_dict=True).last_hidden_state

    example = torch.ones((2, 16), dtype=torch.int64)
    torch.onnx.export(
        Encoder().eval(),
        (example, example, example * 0),
        str(path),
        input_names=list(names),
        output_names=["last_hidden_state"],
        dynamic_axes={name: {0: "batch", 1: "time"} for name in (*names, "last_hidden_state")},
        opset_version=17,
        dynamo=False,
    )


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
    found = {
        "command": shlex.join(["python", "benchmarks/sentence_embeddings.py", *_named(sys.argv[1:])]),
        "model": "all-MiniLM-L6-v2",
        "data": "STS-B dev",
        "n": len(rows) // rows.rows_each,
        "sentences": len(np.unique(rows.inputs[IDS], axis=0)),
        "max_seq_len": LENGTH,
        "cpu": cpu_name(),
        "versions": versions(),
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
    places = {"--checkpoint": "all-MiniLM-L6-v2", "--data": "stsb", "--result": "docs/results/sentence_embeddings.json"}
    return [part for flag, place in places.items() if flag in arguments for part in (flag, place)]


if __name__ == "__main__":
    main()
