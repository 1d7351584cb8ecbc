"""What a user gets from PyTorch's exporter and the tools of ONNX Runtime: float, fused, dynamic int8, static int8.

The exporter gets dynamic axes. Its graph names shapes that are wrong once weights are transposed, so the quantizers
refuse it; they get it without them. The transformer optimizer knows attention only as PyTorch's older exporter, by
tracing, writes it, so it gets that. "Tuned" is what the guides name for x86 without VNNI: a scale for each channel and
7 bits. A static file that is tuned quantizes products and look-ups only, which leaves the mask alone.
"""

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from peer_task import Task, feed, made
from peer_worker import ALIASES, Row

TRACED_OPSET = 17
TUNED = {"per_channel": True, "reduce_range": True}


def exported(task: Task) -> Path:
    return made(task.work / "torch.onnx", lambda path: _export(task.checkpoint, path))


def _export(checkpoint: Path, path: Path) -> None:
    import torch

    model, row = _network(checkpoint)
    axes = {0: torch.export.Dim("batch"), 1: torch.export.Dim("length", max=512)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            model,
            (),
            path,
            kwargs=row,
            output_names=["logits"],
            dynamic_shapes=dict.fromkeys(row, axes),
            external_data=False,
            dynamo=True,
        )


def _export_traced(checkpoint: Path, path: Path) -> None:
    import torch

    model, row = _network(checkpoint)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            model,
            tuple(row.values()),
            path,
            input_names=list(row),
            output_names=["logits"],
            dynamic_axes={name: {0: "batch", 1: "length"} for name in row},
            opset_version=TRACED_OPSET,
            dynamo=False,
        )


def _network(checkpoint: Path) -> tuple[Any, dict[str, Any]]:
    """The network, and a row for each input: one tensor for all would become one input."""
    import torch
    from transformers import AutoModelForSequenceClassification

    # A checkpoint may be stored in float16; its numbers are what is exported.
    model = AutoModelForSequenceClassification.from_pretrained(
        checkpoint, attn_implementation="eager", dtype=torch.float32
    )
    return model.eval(), {name: torch.ones((2, 16), dtype=torch.int64) for name in ALIASES}


def _prepared(task: Task) -> Path:
    return made(task.work / "torch_prepared.onnx", lambda path: _prepare(exported(task), path))


def _prepare(source: Path, path: Path) -> None:
    """What onnxruntime asks for before it quantizes, on a graph without the shapes that its checks refuse."""
    import onnx
    from onnxruntime.quantization.shape_inference import quant_pre_process

    model = onnx.load(source)
    del model.graph.value_info[:]
    bare = path.with_name("bare.onnx")
    onnx.save(model, bare)
    quant_pre_process(bare, path, skip_symbolic_shape=True)  # which gives up on this graph
    bare.unlink()


def _fused(task: Task) -> Path:
    traced = made(task.work / "torch_traced.onnx", lambda path: _export_traced(task.checkpoint, path))
    return made(task.work / "fused.onnx", lambda path: _fuse(task.checkpoint, traced, path))


def _fuse(checkpoint: Path, source: Path, path: Path) -> None:
    from onnxruntime.transformers.optimizer import optimize_model

    config = json.loads((checkpoint / "config.json").read_text(encoding="utf-8"))
    heads, width = config["num_attention_heads"], config["hidden_size"]
    fused = optimize_model(str(source), model_type="bert", num_heads=heads, hidden_size=width)
    fused.save_model_to_file(str(path))


def _dynamic(source: Path, path: Path, **options: Any) -> None:
    import onnx
    from onnxruntime.quantization import quantize_dynamic

    # The type of what fused operators return, which shape inference does not know.
    extra = {"DefaultTensorType": onnx.TensorProto.FLOAT}
    quantize_dynamic(source, path, extra_options=extra, **options)


def _static(task: Task, path: Path, *, tuned: bool = False) -> None:
    from onnxruntime.quantization import CalibrationDataReader, QuantType, quantize_static

    class Reader(CalibrationDataReader):
        def __init__(self) -> None:
            self.rows = iter(task.calibration)

        def get_next(self) -> Row | None:
            row = next(self.rows, None)
            return row and feed(row)

    options: dict[str, Any] = {}
    if tuned:
        kinds = {"activation_type": QuantType.QUInt8, "weight_type": QuantType.QInt8}
        options = {**TUNED, **kinds, "op_types_to_quantize": ["MatMul", "Gemm", "Gather"]}
    quantize_static(_prepared(task), path, Reader(), **options)


def _file(name: str, make: Callable[[Task, Path], None]) -> Callable[[Task], Path]:
    return lambda task: made(task.work / f"{name}.onnx", lambda path: make(task, path))


# (tool, recipe) -> file
MAKERS: dict[tuple[str, str], Callable[[Task], Path]] = {
    ("PyTorch's exporter", "float32"): exported,
    ("transformer optimizer", "float32"): _fused,
    ("quantize_dynamic", "int8-dynamic"): _file("dynamic", lambda task, path: _dynamic(_prepared(task), path)),
    ("quantize_dynamic, tuned", "int8-dynamic"): _file(
        "dynamic_tuned", lambda task, path: _dynamic(_prepared(task), path, **TUNED)
    ),
    ("transformer optimizer, quantize_dynamic, tuned", "int8-dynamic"): _file(
        "fused_dynamic_tuned", lambda task, path: _dynamic(_fused(task), path, **TUNED)
    ),
    ("quantize_static", "int8"): _file("static", _static),
    ("quantize_static, tuned", "int8"): _file("static_tuned", lambda task, path: _static(task, path, tuned=True)),
}
