"""One BERT classifier quantized by plain tools at their defaults and by this library: bytes, rows right, latency ratios.

    python benchmarks/plain_tools.py CHECKPOINT EVAL_DATA CALIBRATION_DATA WORK_FOLDER --max-seq-len 64 --result FILE

All files of one run: the same rows measure, the same rows calibrate, and latency is taken in turns, so that a busy moment
hits all of them. The plain tools get what people write by hand: the network as it was read, without rewrites, with a mask of
-10000, and for static int8 also with the lowest float, which exports from PyTorch have. "Agreement" is with the float32 file
of the same runtime. A file that exists in WORK_FOLDER is not made again. Leaves out tuning of the plain tools.
"""

import argparse
import json
import math
import shlex
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from exporters import ExportRequest, export, rows, subject
from exporters.native_log import quiet
from exporters.runners import OnnxRunner, TfliteRunner
from exporters.to_onnx import to_onnx
from exporters.to_tflite import trace
from exporters.versions import cpu_name, versions

RECIPES = ("float32", "int8-dynamic", "int8")
TARGETS = ("tflite", "onnx")
OURS = "export-mobile"
MASKS = {"-10000": -10000.0, "lowest float": float(np.finfo(np.float32).min)}
PLAIN_MASK = "-10000"
# For the export's own checks; all rows are run here.
FEW_ROWS = 32
ROUNDS = 40
WARM_UP = 2

Feed = dict[str, np.ndarray]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("checkpoint", "eval_data", "calibration_data", "work"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--max-seq-len", type=int, default=128)
    parser.add_argument("--result", type=Path, required=True)
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    source = subject.load(_request(options, "int8"))
    data = source.rows(calibrate=True)
    files = {**ours(options), **plain(options, source, data)}
    document = {
        "command": f"python benchmarks/plain_tools.py {shlex.join(_shown(word) for word in sys.argv[1:])}",
        "max_seq_len": options.max_seq_len,
        "rows": len(data.evaluation),
        "calibration_rows": len(data.calibration or ()),
        **measure(files, data.evaluation),
        "latency": {"cpu": cpu_name(), "threads": 1, "rounds": ROUNDS, "against": "float32 of the same runtime, ours"},
        "versions": versions(),
    }
    options.result.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    for entry in document["files"]:
        print(entry)


def _shown(word: str) -> str:
    """Folders of one machine mean nothing on another."""
    return Path(word).name if "/" in word else word


def _request(options: argparse.Namespace, recipe: str, eval_rows: int | None = None) -> ExportRequest:
    return ExportRequest(
        model="bert",
        checkpoint=options.checkpoint,
        eval_data=options.eval_data,
        eval_rows=eval_rows,
        calibration_data=options.calibration_data if recipe == "int8" else None,
        max_seq_len=options.max_seq_len,
        quantize=recipe,
        output=options.work / recipe,
        force=True,
    )


# Files. Each is known by tool, recipe, mask and target.

Key = tuple[str, str, str, str]


def ours(options: argparse.Namespace) -> dict[Key, Path]:
    found: dict[Key, Path] = {}
    for recipe in RECIPES:
        paths = {target: options.work / recipe / f"model_{recipe.replace('-', '_')}.{target}" for target in TARGETS}
        if not all(path.is_file() for path in paths.values()):
            export(_request(options, recipe, FEW_ROWS))
        found |= {(OURS, recipe, "bounded", target): path for target, path in paths.items()}
    return found


def plain(options: argparse.Namespace, source: Any, data: rows.Rows) -> dict[Key, Path]:
    made: dict[Key, Path] = {}
    for mask in MASKS:
        made |= plain_with(mask, options.work, source, data)
    return made


def plain_with(mask: str, work: Path, source: Any, data: rows.Rows) -> dict[Key, Path]:
    """What each tool makes of the network with one mask; for static int8 with every mask, for dynamic with the usual one."""
    network = _Plain(source, MASKS[mask])

    def feeds() -> Iterator[Feed]:
        given = rows.calibration_feeds(data, network.inputs)
        return iter(()) if given is None else (dict(feed) for feed in given())

    def file(name: str, make: Callable[[Path], None]) -> Path:
        path = work / name.replace(" ", "_")
        if not path.is_file():
            print("making", path.name, flush=True)
            make(path)
        return path

    tflite = file(f"plain_{mask}.tflite", lambda path: tflite_float(network, path))
    onnx = file(f"plain_{mask}.onnx", lambda path: onnx_float(network, path))
    makers: dict[tuple[str, str, str], Callable[[Path], None]] = {
        ("TFLiteConverter", "int8", "tflite"): lambda path: tflite_static(network, feeds, path),
        ("ai-edge-quantizer", "int8", "tflite"): lambda path: ai_edge_static(tflite, feeds, path),
        ("onnxruntime", "int8", "onnx"): lambda path: ort_static(onnx, feeds, path),
    }
    if mask == PLAIN_MASK:
        makers["TFLiteConverter", "int8-dynamic", "tflite"] = lambda path: tflite_dynamic(network, path)
        makers["onnxruntime", "int8-dynamic", "onnx"] = lambda path: ort_dynamic(onnx, path)
    return {
        (tool, recipe, mask, target): file(f"{tool}_{recipe}_{mask}.{target}", make)
        for (tool, recipe, target), make in makers.items()
    }


class _Plain:
    """The network as it was read, as a function with the mask that people write."""

    def __init__(self, source: Any, mask_value: float) -> None:
        import tensorflow as tf

        from models_tf.encoder import forward
        from models_tf.encoder.graph import NetworkGraph
        from models_tf.encoder.network import Network
        from models_tf.encoder.rewrites.embedding import cut_positions

        origin = source.origin
        network = Network(config=origin.config, head=origin.head, tensors=origin.tensors)
        network = cut_positions(network, source.max_seq_len)  # a graph of fixed length needs it
        specs = NetworkGraph(network, source.max_seq_len, mask_value).inputs
        self.inputs = tuple(spec.name for spec in specs)
        self.owner = tf.Module()
        self.owner.table = {
            name.replace(".", "_"): tf.Variable(value, trainable=False) for name, value in network.tensors.items()
        }
        table = {name: self.owner.table[name.replace(".", "_")] for name in network.tensors}

        def function(**values: Any) -> dict[str, Any]:
            return forward.run(network.config, network.head, table, mask_value=mask_value, **values).outputs

        self.traced = trace(function, {spec.name: ((1, *spec.shape), spec.dtype) for spec in specs})

    def converter(self) -> Any:
        import tensorflow as tf

        return tf.lite.TFLiteConverter.from_concrete_functions([self.traced], self.owner)


Feeds = Callable[[], Iterator[Feed]]


def tflite_float(network: _Plain, path: Path) -> None:
    with quiet():
        path.write_bytes(network.converter().convert())


def tflite_dynamic(network: _Plain, path: Path) -> None:
    import tensorflow as tf

    with quiet():
        converter = network.converter()
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
        path.write_bytes(converter.convert())


def tflite_static(network: _Plain, feeds: Feeds, path: Path) -> None:
    import tensorflow as tf

    with quiet():
        converter = network.converter()
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
        converter.representative_dataset = feeds  # dictionaries by name: lists may be fed in another order
        converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
        path.write_bytes(converter.convert())


def ai_edge_static(float_file: Path, feeds: Feeds, path: Path) -> None:
    from ai_edge_quantizer import quantizer, recipe

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # its interpreter keeps all tensors, which the runtime remarks on
        engine = quantizer.Quantizer(float_file.read_bytes(), recipe.static_wi8_ai8())
        found = engine.calibrate({"serving_default": list(feeds())}, num_threads=1)
        result = engine.quantize(found, enable_progress_bar=False, enable_progress_report=False)
    if result.quantized_model is None:
        raise RuntimeError("ai-edge-quantizer returned no model.")
    path.write_bytes(bytes(result.quantized_model))


def onnx_float(network: _Plain, path: Path) -> None:
    path.write_bytes(to_onnx(network.traced).SerializeToString())


def ort_dynamic(float_file: Path, path: Path) -> None:
    from onnxruntime.quantization import quantize_dynamic

    quantize_dynamic(float_file, path)


def ort_static(float_file: Path, feeds: Feeds, path: Path) -> None:
    from onnxruntime.quantization import CalibrationDataReader, quantize_static

    class Reader(CalibrationDataReader):
        def __init__(self) -> None:
            self.rows = feeds()

        def get_next(self) -> Feed | None:
            return next(self.rows, None)

    quantize_static(float_file, path, Reader())


# Measuring.


def measure(files: Mapping[Key, Path], examples: Any) -> dict[str, Any]:
    feed = next(examples.chunks(len(examples)))
    labels = next(iter(examples.task_rows.targets.values()))
    runners = {key: _runner(path, tuple(feed)) for key, path in files.items()}
    logits = {}
    for key, runner in runners.items():
        print("running", *key, flush=True)
        logits[key] = runner(feed)["logits"]
    ratios = latency_ratios(runners, {name: np.asarray(values)[:1] for name, values in feed.items()})
    base = {target: logits[OURS, "float32", "bounded", target].argmax(1) for target in TARGETS}
    results = []
    for key, values in logits.items():
        tool, recipe, mask, target = key
        found = values.argmax(1)
        results.append(
            {
                "tool": tool,
                "recipe": recipe,
                "mask": mask,
                "target": target,
                "size_bytes": files[key].stat().st_size,
                "right": int((found == labels).sum()),
                "accuracy": round(100 * float((found == labels).mean()), 2),
                "agreement": int((found == base[target]).sum()),
                "latency_ratio": ratios[key],
            }
        )
    share = float((base["tflite"] == labels).mean())
    return {"standard_error": round(100 * math.sqrt(share * (1 - share) / len(labels)), 2), "files": results}


def _runner(path: Path, names: tuple[str, ...]) -> Any:
    """With the inputs that the file has: ours needs no segments where all texts are single."""
    if path.suffix == ".onnx":
        import onnx

        given = {value.name for value in onnx.load(path, load_external_data=False).graph.input}
        return OnnxRunner(path, inputs=tuple(name for name in names if name in given))
    from ai_edge_litert.interpreter import Interpreter

    given = set(Interpreter(model_path=str(path)).get_signature_runner().get_input_details())
    return TfliteRunner(path, inputs=tuple(name for name in names if name in given))


def latency_ratios(runners: Mapping[Key, Any], feed: Feed) -> dict[Key, dict[str, float]]:
    times: dict[Key, list[float]] = {key: [] for key in runners}
    for turn in range(ROUNDS + WARM_UP):
        for key, runner in runners.items():
            start = time.perf_counter()
            runner(feed)
            if turn >= WARM_UP:
                times[key].append(time.perf_counter() - start)
    found = {}
    for key, taken in times.items():
        base = times[OURS, "float32", "bounded", key[-1]]
        quartiles = np.percentile(np.array(taken) / np.array(base), (25, 50, 75))
        found[key] = {
            name: round(float(value), 3) for name, value in zip(("low", "median", "high"), quartiles, strict=True)
        }
    return found


if __name__ == "__main__":
    main()
