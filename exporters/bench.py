"""Latency of the files: one row, one thread, median, at several sequence lengths.

Shapes in the files are static, so for another length a copy of the features-in graph is made in memory with that
length. Its logits mean nothing (the dense layer is scaled for the old length); its work is that of the length.
This is the time of the machine that exports. It ranks files; it is no phone's.
"""

import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from exporters.artifacts import FEATURES, Artifact
from exporters.report import Latency
from exporters.runners import Values, onnx_input, onnx_session, tflite_input, tflite_interpreter
from models_tf.ops.projection.config import ProjectionConfig

LENGTHS = (32, 128, 512)
_WARM_UP = 3
_MIN_RUNS, _MAX_RUNS = 5, 100
_SECONDS = 0.15  # for one file and length: the whole table costs some seconds


def latencies(artifacts: Iterable[Artifact], *, config: ProjectionConfig, text: bytes) -> tuple[Latency, ...]:
    """Features-in files at `LENGTHS` and their own length, text-in files at their own, on `text`."""
    rows, seq_len, feature_size = [], config.pad_to, config.feature_size
    for artifact in artifacts:
        lengths = sorted({*LENGTHS, seq_len}) if artifact.graph == FEATURES else [seq_len]
        for length in lengths:
            run = _runner(artifact, seq_len, length, feature_size, text)
            median, runs = _median_ms(run)
            rows.append(Latency(file=artifact.name, seq_len=length, median_ms=median, runs=runs))
    return tuple(rows)


def _median_ms(run: Callable[[], Any]) -> tuple[float, int]:
    for _ in range(_WARM_UP):
        run()
    times: list[float] = []
    end = time.perf_counter() + _SECONDS
    while len(times) < _MIN_RUNS or (len(times) < _MAX_RUNS and time.perf_counter() < end):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return 1000 * float(np.median(times)), len(times)


def _runner(artifact: Artifact, own: int, length: int, feature_size: int, text: bytes) -> Callable[[], Any]:
    content, takes = artifact.content, artifact.graph
    row: Values = [text] if takes != FEATURES else _features(length, feature_size)
    if artifact.target == "onnx":
        values = onnx_input(row)
        session = onnx_session(content if length == own else _onnx_of_length(content, own, length), takes=takes)
        return lambda: session.run(None, {takes: values})
    interpreter = tflite_interpreter(content if length == own else _tflite_of_length(content, own, length), takes=takes)
    values, index = tflite_input(row), interpreter.get_input_details()[0]["index"]
    if takes == FEATURES:
        interpreter.resize_tensor_input(index, values.shape)
    interpreter.allocate_tensors()
    interpreter.set_tensor(index, values)
    return interpreter.invoke


def _features(length: int, feature_size: int) -> np.ndarray:
    """Random ternary rows, all of them real tokens."""
    features = np.random.default_rng(0).integers(-1, 2, (1, length, feature_size), dtype=np.int8)
    features[:, :, 0] = 1
    return features


def _new_shape(shape: np.ndarray, own: int, length: int) -> np.ndarray:
    """The first axis after the batch that has the old length is time; channels come later."""
    shape = shape.copy()
    found = np.flatnonzero(shape[1:] == own)
    if len(found):
        shape[1 + found[0]] = length
    return shape


def _tflite_of_length(content: bytes, own: int, length: int) -> bytes:
    """Only RESHAPE names the length; the runtime works out all other shapes from the input's."""
    from quantize.flatbuffer import buffer_bytes, op_name, read_model, schema, write_model

    model = read_model(content)
    graph = model.subgraphs[0]
    for operator in graph.operators:
        if op_name(model, operator) != "RESHAPE":
            continue
        tensor = graph.tensors[operator.inputs[1]]
        data = buffer_bytes(model, tensor)
        if data is None:
            continue
        buffer = schema.BufferT()
        shape = _new_shape(np.frombuffer(data, np.int32), own, length)
        buffer.data = np.frombuffer(shape.tobytes(), np.uint8)
        model.buffers = [*model.buffers, buffer]
        tensor.buffer = len(model.buffers) - 1
        operator.builtinOptions, operator.builtinOptionsType = None, 0  # may repeat the old shape
    return write_model(model)


def _onnx_of_length(content: bytes, own: int, length: int) -> bytes:
    import onnx

    model = onnx.load_from_string(content)
    model.graph.input[0].type.tensor_type.shape.dim[1].dim_value = length
    shapes = {node.input[1] for node in model.graph.node if node.op_type == "Reshape"}
    for constant in model.graph.initializer:
        if constant.name in shapes:
            shape = _new_shape(onnx.numpy_helper.to_array(constant), own, length)
            constant.CopyFrom(onnx.numpy_helper.from_array(shape, constant.name))
    return model.SerializeToString()
