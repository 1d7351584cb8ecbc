"""Bytes by layer: they add up to the file, and each constant belongs to the layer that reads it first."""

import numpy as np
import onnx

from exporters.formats.base import get
from exporters.formats.layers import layers
from exporters.profiling.parts import CONVOLUTION, MATMUL, OTHER, Op, OpGraph


def named(graph: OpGraph, size: int) -> dict[str, int]:
    return {layer.name: layer.bytes for layer in layers(graph, size)}


def test_biases_and_dequantized_weights_belong_to_their_layer_and_shared_ones_to_the_first():
    graph = OpGraph(
        ops=(
            Op(kind=OTHER, reads=("table", "ids"), writes=("x",)),
            Op(kind=OTHER, reads=("w", "scale"), writes=("dequantized",)),
            Op(kind=MATMUL, reads=("x", "dequantized"), writes=("y",), factors=("x", "dequantized")),
            Op(kind=OTHER, reads=("y", "bias"), writes=("z",)),
            Op(kind=MATMUL, reads=("z", "z"), writes=("scores",), factors=("z", "z")),
            Op(kind=CONVOLUTION, reads=("scores", "kernel"), writes=("c",)),
            Op(kind=MATMUL, reads=("c", "dequantized"), writes=("out",), factors=("c", "dequantized")),
        ),
        constants={"table": 1000, "w": 400, "scale": 4, "bias": 40, "kernel": 90},
    )
    assert named(graph, 1700) == {"embedding": 1000, "dense 1": 444, "convolution 1": 90, "graph": 166}


def onnx_file() -> bytes:
    generator = np.random.default_rng(0)
    weights = {f"w{i}": generator.normal(size=(32, 32)).astype(np.float32) for i in range(3)}
    nodes = [onnx.helper.make_node("MatMul", [f"x{i}", f"w{i}"], [f"x{i + 1}"]) for i in range(3)]
    ports = [onnx.helper.make_tensor_value_info(name, 1, (1, 32)) for name in ("x0", "x3")]
    constants = [onnx.numpy_helper.from_array(values, name) for name, values in weights.items()]
    graph = onnx.helper.make_graph(nodes, "g", ports[:1], ports[1:], constants)
    return onnx.helper.make_model(graph).SerializeToString()


def test_the_layers_of_a_file_add_up_to_it():
    file = get("onnx").open(onnx_file())
    found = named(get("onnx").op_graph(file), file.size_bytes)
    assert list(found) == ["dense 1", "dense 2", "dense 3", "graph"]
    assert sum(found.values()) == file.size_bytes
    assert sum(size for name, size in found.items() if name != "graph") >= 3 * 32 * 32 * 4
