"""What each exact rewrite gains: latency of the rewritten graph relative to the plain one, on LiteRT and ONNX Runtime.

    python benchmarks/rewrites.py [--layers 24] [--single-layers 6] [--runs 60] [--output docs/results/rewrites.json]

MobileBERT's published sizes with random weights (speed does not depend on them), float32, one thread, one row of 128
tokens. Every rewrite alone, on a network of fewer layers because each one is its own conversion, and all of them
together on the whole network. In each round every graph runs once, in changing order; ratios are taken within a round,
so that a slow spell of the machine slows down both sides. Reports the median and the middle half of the ratios. x86
figures rank the graphs; they do not predict a phone.
"""

import argparse
import json
import os
import platform
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from exporters.formats.graph import trace
from exporters.formats.onnx.convert import to_onnx
from exporters.formats.tflite.convert import to_tflite
from models_tf.encoder.config import EncoderConfig
from models_tf.encoder.graph import NetworkGraph
from models_tf.encoder.heads import Head
from models_tf.encoder.network import Network
from models_tf.encoder.rewrites import apply
from models_tf.encoder.rewrites.attention import drop_key_bias, move_value_bias, scale_query
from models_tf.encoder.rewrites.embedding import bake_segment, cut_positions, trigram_convolution
from models_tf.encoder.rewrites.fold_norms import fold_norms
from models_tf.encoder.rewrites.layers import first_token_only, fuse_input
from quantize.tflite.flatbuffer import read_model
from quantize.tflite.graph import op_name

TIME = 128
VOCABULARY = 1000  # the table is only looked up; a small one converts faster
MASK_VALUE = -30.0
WARM_UP = 3
PLAIN = "none"
# Positions: the converters already cut the table of a graph of fixed length, so the rewrite saves no time.
SINGLE: dict[str, Callable[[Network], Network]] = {
    PLAIN: lambda network: network,
    "fold_norms (full)": lambda network: fold_norms(network)[0],
    "fold_norms (safe)": lambda network: fold_norms(network, keep_skips=True)[0],
    "scale_query": scale_query,
    "drop_key_bias": drop_key_bias,
    "move_value_bias": move_value_bias,
    "trigram_convolution": trigram_convolution,
    "fuse_input": fuse_input,
    "first_token_only": first_token_only,
    "bake_segment": bake_segment,
    "cut_positions": lambda network: cut_positions(network, TIME),
}


def random_network(layers: int, seed: int = 0) -> Network:
    """MobileBERT as published, with a classifier of two labels. Gammas are near 1, with both signs."""
    config = EncoderConfig(
        vocab_size=VOCABULARY,
        embedding_size=128,
        hidden_size=512,
        num_layers=layers,
        num_heads=4,
        use_bottleneck=True,
        bottleneck_size=128,
        key_query_shared=True,
        intermediate_size=512,
        num_ffn=4,
        activation="relu",
        norm="no_norm",
        trigram=True,
        pooler=False,
    )
    head, rng = Head(kind="classification", num_labels=2), np.random.default_rng(seed)
    tensors = {}
    for name, shape in config.shapes(head).items():
        if name.endswith(".gamma"):
            values = rng.uniform(0.7, 1.2, shape) * rng.choice([-1, 1], shape)
        elif name.endswith((".bias", ".beta")):
            values = rng.normal(0, 0.1, shape)
        else:
            values = rng.normal(0, 0.5 / np.sqrt(shape[0]) if name.endswith(".kernel") else 1, shape)
        tensors[name] = values.astype(np.float32)
    return Network(config=config, head=head, tensors=tensors)


def all_together(network: Network, fold: str) -> Network:
    return apply(network, fold=fold, max_seq_len=TIME, one_segment=True)[0]


def row(seed: int = 1) -> dict[str, np.ndarray]:
    ids = np.random.default_rng(seed).integers(1, VOCABULARY, (1, TIME)).astype(np.int32)
    return {"ids": ids, "mask": np.ones_like(ids), "segments": np.zeros_like(ids)}


def graphs(network: Network) -> tuple[bytes, bytes]:
    """The .tflite and the .onnx file."""
    graph = NetworkGraph(network, TIME, MASK_VALUE)
    function = trace(graph, {spec.name: ((1, *spec.shape), spec.dtype) for spec in graph.inputs})
    return to_tflite(function), to_onnx(function).SerializeToString()


def litert(content: bytes) -> Callable[[], np.ndarray]:
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(model_content=content, num_threads=1)
    interpreter.allocate_tensors()
    values = row()
    for detail in interpreter.get_input_details():
        interpreter.set_tensor(detail["index"], values[detail["name"]])
    output = interpreter.get_output_details()[0]["index"]

    def run() -> np.ndarray:
        interpreter.invoke()
        return interpreter.get_tensor(output)

    return run


def onnx_runtime(content: bytes) -> Callable[[], np.ndarray]:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    given = {value.name: row()[value.name] for value in session.get_inputs()}
    return lambda: session.run(None, given)[0]


def operators(tflite: bytes, content: bytes) -> dict[str, dict[str, int]]:
    model = read_model(tflite)
    counts = Counter(op_name(model, operator) for operator in model.subgraphs[0].operators)
    nodes = Counter(node.op_type for node in onnx.load_from_string(content).graph.node)
    return {"tflite": dict(counts.most_common()), "onnx": dict(nodes.most_common())}


def interleaved(runs: Mapping[str, Callable[[], np.ndarray]], rounds: int) -> dict[str, list[float]]:
    """Seconds of each graph in each round."""
    order, rng = list(runs), random.Random(0)
    for run in runs.values():
        for _ in range(WARM_UP):
            run()
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        rng.shuffle(order)
        for name in order:
            start = time.perf_counter()
            runs[name]()
            seconds[name].append(time.perf_counter() - start)
    return seconds


def measure(variants: Mapping[str, Network], rounds: int) -> dict[str, Any]:
    """For each variant and runtime: latency relative to `PLAIN`, and the difference of the outputs."""
    files = {}
    for name, network in variants.items():
        print(f"converting: {name}", file=sys.stderr, flush=True)
        files[name] = graphs(network)
    found: dict[str, Any] = {name: {"operators": operators(*files[name])} for name in variants}
    for runtime, index, start in (("litert", 0, litert), ("onnxruntime", 1, onnx_runtime)):
        runs = {name: start(content[index]) for name, content in files.items()}
        expected = runs[PLAIN]()
        seconds = interleaved(runs, rounds)
        for name in variants:
            ratios = np.asarray(seconds[name]) / np.asarray(seconds[PLAIN])
            low, middle, high = np.percentile(ratios, (25, 50, 75))
            found[name][runtime] = {
                "ratio": round(float(middle), 3),
                "middle_half": [round(float(low), 3), round(float(high), 3)],
                "median_ms": round(1000 * float(np.median(seconds[name])), 2),
                "relative_error": float(np.abs(runs[name]() - expected).max() / np.abs(expected).max()),
            }
            print(runtime, name, found[name][runtime], file=sys.stderr, flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", type=int, default=24, help="layers of the network with all rewrites")
    parser.add_argument("--single-layers", type=int, default=6, help="layers of the network with one rewrite each")
    parser.add_argument("--runs", type=int, default=60, help="rounds in which every graph runs once")
    parser.add_argument("--output", type=Path, default=Path("docs/results/rewrites.json"))
    arguments = parser.parse_args()
    network = random_network(arguments.layers)
    together = {
        PLAIN: network,
        "all (full)": all_together(network, "full"),
        "all (safe)": all_together(network, "safe"),
    }
    small = random_network(arguments.single_layers)
    single = {name: rewrite(small) for name, rewrite in SINGLE.items()} | {"all (full)": all_together(small, "full")}
    load_before = os.getloadavg()[0]
    result = {
        "command": "python benchmarks/rewrites.py " + " ".join(sys.argv[1:]),
        "what": f"float32, one thread, one row of {TIME} tokens, MobileBERT's sizes, random weights; "
        "ratio: latency as a share of the graph without rewrites, median over the rounds; "
        "middle_half: quartiles of the ratios",
        "rounds": arguments.runs,
        "together": {"layers": arguments.layers, "variants": measure(together, arguments.runs)},
        "single": {"layers": arguments.single_layers, "variants": measure(single, arguments.runs)},
        "machine": {
            "processor": platform.machine(),
            "cores": os.cpu_count(),
            "load_before": round(load_before, 2),
            "load_after": round(os.getloadavg()[0], 2),
        },
    }
    arguments.output.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
