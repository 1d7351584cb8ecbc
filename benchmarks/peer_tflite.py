"""What a user gets from TensorFlow's converter and ai-edge-quantizer at their defaults, for a network written by hand.

These files have one length. A user would ship one that holds the longest text; for the times at shorter lengths they
are made for each of them.
"""

import warnings
from collections.abc import Callable, Iterator
from typing import Any

from peer_task import Task
from peer_worker import ALIASES, Row, padded

from exporters.console.native_log import quiet

# What people write by hand.
PLAIN_MASK = -10000.0


class _Plain:
    """The network as read, with the mask that people usually write, at one length."""

    def __init__(self, task: Task, length: int) -> None:
        import tensorflow as tf

        from exporters import ExportRequest
        from exporters.formats.graph import trace
        from exporters.sources import base as sources
        from models_tf.encoder import forward
        from models_tf.encoder.graph import NetworkGraph
        from models_tf.encoder.network import Network
        from models_tf.encoder.rewrites.embedding import cut_positions

        request = ExportRequest(model="bert", checkpoint=task.checkpoint, max_seq_len=length, output=task.work / "out")
        read = sources.load(request).checkpoint
        network = cut_positions(Network(config=read.config, head=read.head, tensors=read.tensors), length)
        specs = NetworkGraph(network, length, PLAIN_MASK).inputs
        self.owner = tf.Module()
        self.owner.table = {
            name.replace(".", "_"): tf.Variable(value, trainable=False) for name, value in network.tensors.items()
        }
        table = {name: self.owner.table[name.replace(".", "_")] for name in network.tensors}

        def function(**values: Any) -> dict[str, Any]:
            options = forward.Options(mask_value=PLAIN_MASK)
            return forward.run(network.config, network.head, table, options=options, **values).outputs

        self.inputs = tuple(spec.name for spec in specs)
        self.traced = trace(function, {spec.name: ((1, length), spec.dtype) for spec in specs})

    def converter(self) -> Any:
        import tensorflow as tf

        return tf.lite.TFLiteConverter.from_concrete_functions([self.traced], self.owner)


def _rows(task: Task, length: int, names: tuple[str, ...]) -> Iterator[Row]:
    """Calibration rows that fit, padded; by name, since lists may be fed in another order."""
    for row in task.calibration:
        if row["ids"].shape[1] <= length:
            yield {name: values for name, values in padded(row, length).items() if name in names}


def _converter_float(task: Task, length: int) -> bytes:
    with quiet():
        return bytes(_Plain(task, length).converter().convert())


def _converter_dynamic(task: Task, length: int) -> bytes:
    import tensorflow as tf

    with quiet():
        converter = _Plain(task, length).converter()
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
        return bytes(converter.convert())


def _converter_static(task: Task, length: int) -> bytes:
    import tensorflow as tf

    plain = _Plain(task, length)
    with quiet():
        converter = plain.converter()
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
        converter.representative_dataset = lambda: _rows(task, length, plain.inputs)
        converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
        return bytes(converter.convert())


def _ai_edge_dynamic(task: Task, length: int) -> bytes:
    from ai_edge_quantizer import quantizer, recipe

    engine = quantizer.Quantizer(_float_file(task, length), recipe.dynamic_wi8_afp32())
    return _content(engine.quantize(enable_progress_bar=False, enable_progress_report=False))


def _ai_edge_static(task: Task, length: int) -> bytes:
    from ai_edge_quantizer import quantizer, recipe

    with quiet(), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # about its interpreter, which keeps all tensors
        engine = quantizer.Quantizer(_float_file(task, length), recipe.static_wi8_ai8())
        names = tuple(ALIASES.values())
        found = engine.calibrate({"serving_default": list(_rows(task, length, names))}, num_threads=1)
        return _content(engine.quantize(found, enable_progress_bar=False, enable_progress_report=False))


def _float_file(task: Task, length: int) -> bytes:
    return (task.work / f"TFLiteConverter_float32_{length}.tflite").read_bytes()


def _content(result: Any) -> bytes:
    if result.quantized_model is None:
        raise RuntimeError("ai-edge-quantizer returned no model.")
    return bytes(result.quantized_model)


MAKERS: dict[tuple[str, str], Callable[[Task, int], bytes]] = {
    ("TFLiteConverter", "float32"): _converter_float,
    ("TFLiteConverter", "int8-dynamic"): _converter_dynamic,
    ("TFLiteConverter", "int8"): _converter_static,
    ("ai-edge-quantizer", "int8-dynamic"): _ai_edge_dynamic,
    ("ai-edge-quantizer", "int8"): _ai_edge_static,
}
