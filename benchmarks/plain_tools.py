"""One BERT classifier quantized by plain tools at their defaults and by this library: bytes, accuracy, latency ratios.

    python benchmarks/plain_tools.py CHECKPOINT EVAL_DATA CALIBRATION_DATA WORK_FOLDER --max-seq-len 64 --result FILE

All files use the same rows to measure and to calibrate, and latency is taken in turns, so that a busy moment hits all
of them. Ours are the files of `export-mobile`, from one conversion. The plain tools get what people write by hand: the
network as read, without rewrites, with a mask of -10000. "Agreement" is with our float32 file of the same runtime.
Files and answers in WORK_FOLDER are reused, so a stopped run continues. Leaves out tuning of the plain tools, and the
checks that an export makes of its files.
"""

import argparse
import functools
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

from exporters import ExportRequest
from exporters.console.native_log import quiet
from exporters.data import rows
from exporters.formats import artifacts, base
from exporters.formats.graph import trace
from exporters.formats.onnx.convert import to_onnx
from exporters.report.versions import cpu_name, versions
from exporters.sources import base as sources
from quantize.recipe import RECIPES

OURS_RECIPES = ("float32", "int8-dynamic", "int8")
TARGETS = ("tflite", "onnx")
OURS = "export-mobile"
PLAIN_MASK = -10000.0
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
    source = sources.load(_request(options))
    data = source.rows(calibrate=True)
    files = {**ours(options.work, source, data), **plain(options.work, source, data)}
    document = {
        "command": f"python benchmarks/plain_tools.py {shlex.join(_shown(word) for word in sys.argv[1:])}",
        "max_seq_len": options.max_seq_len,
        "rows": len(data.evaluation),
        "calibration_rows": len(data.calibration or ()),
        **measure(files, data.evaluation),
        "latency": {
            "cpu": cpu_name(),
            "threads": 1,
            "clock": "processor time",
            "rounds": ROUNDS,
            "against": "float32 of the same runtime, ours",
        },
        "versions": versions(),
    }
    options.result.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    for entry in document["files"]:
        print(entry)


def _shown(word: str) -> str:
    """Leaves out folders, which mean nothing on another machine."""
    return Path(word).name if "/" in word else word


def _request(options: argparse.Namespace) -> ExportRequest:
    return ExportRequest(
        model="bert",
        checkpoint=options.checkpoint,
        eval_data=options.eval_data,
        calibration_data=options.calibration_data,
        max_seq_len=options.max_seq_len,
        quantize="int8",
        output=options.work / "out",
    )


# Files, each identified by tool, recipe and target.

Key = tuple[str, str, str]


def _file(path: Path, make: Callable[[], bytes]) -> Path:
    """Writes the file complete or not at all."""
    if not path.is_file():
        print("making", path.name, flush=True)
        partial = path.with_suffix(".partial")
        partial.write_bytes(make())
        partial.rename(path)
    return path


def ours(work: Path, source: Any, data: rows.Rows) -> dict[Key, Path]:
    @functools.cache
    def model() -> Any:
        return source.build(data)

    @functools.cache
    def converted(target: str) -> list[artifacts.Converted]:
        return artifacts.convert_all(model().graph, (target,))

    def content(recipe: str, target: str) -> bytes:
        graph = model().graph
        feeds = rows.calibration_feeds(data, graph.input_names)
        (made,) = artifacts.build(converted(target), RECIPES[recipe], feeds)
        return made.content

    return {
        (OURS, recipe, target): _file(work / f"ours_{recipe}.{target}", functools.partial(content, recipe, target))
        for target in TARGETS
        for recipe in OURS_RECIPES
    }


def plain(work: Path, source: Any, data: rows.Rows) -> dict[Key, Path]:
    network = _Plain(source, PLAIN_MASK)

    def feeds() -> Iterator[Feed]:
        given = rows.calibration_feeds(data, network.inputs)
        return iter(()) if given is None else (dict(feed) for feed in given())

    tflite = _file(work / "plain.tflite", lambda: tflite_float(network))
    onnx = _file(work / "plain.onnx", lambda: onnx_float(network))
    makers: dict[Key, Callable[[], bytes]] = {
        ("TFLiteConverter", "int8-dynamic", "tflite"): lambda: tflite_dynamic(network),
        ("TFLiteConverter", "int8", "tflite"): lambda: tflite_static(network, feeds),
        ("ai-edge-quantizer", "int8", "tflite"): lambda: ai_edge_static(tflite, feeds),
        ("onnxruntime", "int8-dynamic", "onnx"): lambda: ort_dynamic(onnx),
        ("onnxruntime", "int8", "onnx"): lambda: ort_static(onnx, feeds),
    }
    return {key: _file(work / f"{key[0]}_{key[1]}.{key[2]}", make) for key, make in makers.items()}


class _Plain:
    """The network as read, as a function with the mask that people usually write."""

    def __init__(self, source: Any, mask_value: float) -> None:
        import tensorflow as tf

        from models_tf.encoder import forward
        from models_tf.encoder.graph import NetworkGraph
        from models_tf.encoder.network import Network
        from models_tf.encoder.rewrites.embedding import cut_positions

        read = source.checkpoint
        network = Network(config=read.config, head=read.head, tensors=read.tensors)
        network = cut_positions(network, source.max_seq_len)  # a graph of fixed length needs it
        specs = NetworkGraph(network, source.max_seq_len, mask_value).inputs
        self.inputs = tuple(spec.name for spec in specs)
        self.owner = tf.Module()
        self.owner.table = {
            name.replace(".", "_"): tf.Variable(value, trainable=False) for name, value in network.tensors.items()
        }
        table = {name: self.owner.table[name.replace(".", "_")] for name in network.tensors}

        def function(**values: Any) -> dict[str, Any]:
            options = forward.Options(mask_value=mask_value)
            return forward.run(network.config, network.head, table, options=options, **values).outputs

        self.traced = trace(function, {spec.name: ((1, *spec.shape), spec.dtype) for spec in specs})

    def converter(self) -> Any:
        import tensorflow as tf

        return tf.lite.TFLiteConverter.from_concrete_functions([self.traced], self.owner)


Feeds = Callable[[], Iterator[Feed]]


def tflite_float(network: _Plain) -> bytes:
    with quiet():
        return bytes(network.converter().convert())


def tflite_dynamic(network: _Plain) -> bytes:
    import tensorflow as tf

    with quiet():
        converter = network.converter()
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
        return bytes(converter.convert())


def tflite_static(network: _Plain, feeds: Feeds) -> bytes:
    import tensorflow as tf

    with quiet():
        converter = network.converter()
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
        converter.representative_dataset = feeds  # dictionaries by name: lists may be fed in another order
        converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
        return bytes(converter.convert())


def ai_edge_static(float_file: Path, feeds: Feeds) -> bytes:
    from ai_edge_quantizer import quantizer, recipe

    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", UserWarning
        )  # its interpreter keeps all tensors, and the runtime warns about that
        engine = quantizer.Quantizer(float_file.read_bytes(), recipe.static_wi8_ai8())
        found = engine.calibrate({"serving_default": list(feeds())}, num_threads=1)
        result = engine.quantize(found, enable_progress_bar=False, enable_progress_report=False)
    if result.quantized_model is None:
        raise RuntimeError("ai-edge-quantizer returned no model.")
    return bytes(result.quantized_model)


def onnx_float(network: _Plain) -> bytes:
    return bytes(to_onnx(network.traced).SerializeToString())


def ort_dynamic(float_file: Path) -> bytes:
    from onnxruntime.quantization import quantize_dynamic

    return _written(float_file, lambda path: quantize_dynamic(float_file, path))


def ort_static(float_file: Path, feeds: Feeds) -> bytes:
    from onnxruntime.quantization import CalibrationDataReader, quantize_static

    class Reader(CalibrationDataReader):
        def __init__(self) -> None:
            self.rows = feeds()

        def get_next(self) -> Feed | None:
            return next(self.rows, None)

    return _written(float_file, lambda path: quantize_static(float_file, path, Reader()))


def _written(beside: Path, write: Callable[[Path], None]) -> bytes:
    """The output of a tool that only writes files."""
    path = beside.with_name("written.onnx")
    write(path)
    content = path.read_bytes()
    path.unlink()
    return content


# Measuring.


def measure(files: Mapping[Key, Path], examples: Any) -> dict[str, Any]:
    feed = next(examples.chunks(len(examples)))
    labels = next(iter(examples.task_rows.targets.values()))
    runners = {key: _runner(path, tuple(feed)) for key, path in files.items()}
    logits = {key: _answers(files[key], runner, feed) for key, runner in runners.items()}
    ratios = latency_ratios(runners, {name: np.asarray(values)[:1] for name, values in feed.items()})
    base = {target: logits[OURS, "float32", target].argmax(1) for target in TARGETS}
    results = []
    for key, values in logits.items():
        tool, recipe, target = key
        found = values.argmax(1)
        results.append(
            {
                "tool": tool,
                "recipe": recipe,
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


def _answers(path: Path, runner: Any, feed: Feed) -> np.ndarray:
    """Logits of all rows, stored beside the file."""
    kept = path.with_name(f"{path.name}.npy")
    if not kept.is_file() or kept.stat().st_mtime < path.stat().st_mtime:
        print("running", path.name, flush=True)
        partial = kept.with_suffix(".partial.npy")
        np.save(partial, runner(feed)["logits"], allow_pickle=False)
        partial.rename(kept)
    return np.load(kept, allow_pickle=False)


def _runner(path: Path, names: tuple[str, ...]) -> Any:
    """A runner with the inputs of the file: ours has no segments if all texts are single."""
    owner = base.get(path.suffix.removeprefix("."))
    file = owner.open(path)
    given = {info.name for signature in file.signatures.values() for info in signature.inputs}
    return owner.runner(file, inputs=tuple(name for name in names if name in given))


def latency_ratios(runners: Mapping[Key, Any], feed: Feed) -> dict[Key, dict[str, float]]:
    """Ratios of processor time: with one thread, what a call takes on an idle machine."""
    times: dict[Key, list[float]] = {key: [] for key in runners}
    for turn in range(ROUNDS + WARM_UP):
        for key, runner in runners.items():
            start = time.process_time()
            runner(feed)
            if turn >= WARM_UP:
                times[key].append(time.process_time() - start)
    found = {}
    for key, taken in times.items():
        base = times[OURS, "float32", key[-1]]
        quartiles = np.percentile(np.array(taken) / np.array(base), (25, 50, 75))
        found[key] = {
            name: round(float(value), 3) for name, value in zip(("low", "median", "high"), quartiles, strict=True)
        }
    return found


if __name__ == "__main__":
    main()
