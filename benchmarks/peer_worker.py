"""One model of a comparison in a process of its own: loads it, answers, and tells the processor time of each call.

Runtimes that share a process get in each other's way (threads, memory, symbols), and the time of one would hold what
another does. `Candidate` says what to load; `Worker` is the process that has it. Rows are int32 arrays [1, length] by
the names ids, mask and segments. A runtime that takes one length only gets its rows padded to it.
"""

import multiprocessing
import os
import time
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

Row = dict[str, np.ndarray]
# What exporters of other projects call the same inputs.
ALIASES = {"input_ids": "ids", "attention_mask": "mask", "token_type_ids": "segments"}


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """`files` by the length that a file takes; key 0 holds one that takes any. `kind` names the runtime."""

    name: str
    recipe: str
    kind: str
    files: dict[int, Path] = field(hash=False)

    @property
    def longest(self) -> int:
        """0 for any length."""
        return 0 if 0 in self.files else max(self.files)

    @property
    def parts(self) -> list[Path]:
        """What a user would ship: the longest file, and its weights where they lie beside it or in a folder."""
        path = self.files[self.longest]
        if path.is_dir():
            return sorted(part for part in path.iterdir() if part.suffix in (".safetensors", ".bin"))
        return [part for part in (path, path.with_suffix(".bin")) if part.is_file()]

    @property
    def size_bytes(self) -> int:
        return sum(part.stat().st_size for part in self.parts)

    def file_for(self, length: int) -> tuple[int, Path]:
        """The shortest file that holds this length."""
        if 0 in self.files:
            return 0, self.files[0]
        fits = min(taken for taken in self.files if taken >= length)
        return fits, self.files[fits]


class Worker:
    """A process with one candidate loaded."""

    def __init__(self, candidate: Candidate) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, other = context.Pipe()
        self._process = context.Process(target=_serve, args=(candidate, other), daemon=True)
        self._process.start()
        other.close()
        self._receive()

    def answers(self, rows: list[Row]) -> np.ndarray:
        """Logits, one line for each row."""
        return self._ask(("answers", rows))

    def times(self, rows: list[Row]) -> list[float]:
        """Processor time of each row in milliseconds."""
        return self._ask(("times", rows))

    def close(self) -> None:
        self._pipe.close()
        self._process.join(timeout=10)

    def _ask(self, request: Any) -> Any:
        self._pipe.send(request)
        return self._receive()

    def _receive(self) -> Any:
        try:
            kind, value = self._pipe.recv()
        except EOFError:
            raise RuntimeError("the process ended") from None
        if kind == "error":
            raise RuntimeError(value)
        return value


def _serve(candidate: Candidate, pipe: Any) -> None:
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = "1"
    try:
        run = _KINDS[candidate.kind](candidate)
        pipe.send(("ready", None))
        while True:
            question, rows = pipe.recv()
            if question == "answers":
                pipe.send(("answers", np.concatenate([np.asarray(run(row)).reshape(1, -1) for row in rows])))
            else:
                pipe.send(("times", [_time(run, row) for row in rows]))
    except EOFError:
        pass
    except Exception:  # noqa: BLE001 - the other side prints it, and the comparison goes on without this candidate
        pipe.send(("error", traceback.format_exc().strip().splitlines()[-1]))


def _time(run: Any, row: Row) -> float:
    start = time.process_time()
    run(row)
    return 1000 * (time.process_time() - start)


def padded(row: Row, length: int) -> Row:
    """The row with zeros behind it; 0 stands for any length."""
    missing = length - row["ids"].shape[1]
    return row if not length or not missing else {name: np.pad(v, ((0, 0), (0, missing))) for name, v in row.items()}


class _LiteRt:
    """.tflite in LiteRT. A file that can be resized is, whenever the length changes."""

    def __init__(self, candidate: Candidate) -> None:
        self._candidate = candidate
        self._loaded: dict[int, Any] = {}

    def __call__(self, row: Row) -> np.ndarray:
        length, path = self._candidate.file_for(row["ids"].shape[1])
        if length not in self._loaded:
            self._loaded[length] = _LiteRtFile(path)
        return self._loaded[length](row)


class _LiteRtFile:
    def __init__(self, path: Path) -> None:
        from ai_edge_litert.interpreter import Interpreter

        self._interpreter = Interpreter(model_path=str(path), num_threads=1)
        self._interpreter.allocate_tensors()
        signature = self._interpreter.get_signature_runner()
        self._inputs = {_known(name): detail for name, detail in signature.get_input_details().items()}
        (self._output,) = signature.get_output_details().values()
        first = next(iter(self._inputs.values()))
        self._length = int(first["shape"][1])
        self._fixed = 0 if first["shape_signature"][1] == -1 else self._length

    def __call__(self, row: Row) -> np.ndarray:
        row = padded(row, self._fixed)
        interpreter, length = self._interpreter, row["ids"].shape[1]
        if length != self._length:
            for detail in self._inputs.values():
                interpreter.resize_tensor_input(detail["index"], [1, length], strict=True)
            interpreter.allocate_tensors()
            self._length = length
        for name, detail in self._inputs.items():
            interpreter.set_tensor(detail["index"], row[name].astype(detail["dtype"]))
        interpreter.invoke()
        found = interpreter.get_tensor(self._output["index"])
        scale, zero_point = self._output["quantization"]
        return found if found.dtype == np.float32 else (found.astype(np.float32) - zero_point) * scale


class _OnnxRuntime:
    """.onnx in ONNX Runtime, on the CPU."""

    def __init__(self, candidate: Candidate) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        self._session = onnxruntime.InferenceSession(candidate.files[0], options, providers=["CPUExecutionProvider"])
        self._inputs = {
            value.name: np.int64 if value.type == "tensor(int64)" else np.int32 for value in self._session.get_inputs()
        }
        length = self._session.get_inputs()[0].shape[1]
        self._fixed = length if isinstance(length, int) else 0

    def __call__(self, row: Row) -> np.ndarray:
        row = padded(row, self._fixed)
        feed = {name: row[_known(name)].astype(kind) for name, kind in self._inputs.items()}
        return self._session.run(None, feed)[0]


class _OpenVino:
    """OpenVINO's own form, or any file that it reads, on the CPU."""

    def __init__(self, candidate: Candidate) -> None:
        import openvino

        settings = {"INFERENCE_NUM_THREADS": 1, "PERFORMANCE_HINT": "LATENCY", "ENABLE_CPU_PINNING": False}
        self._model = openvino.Core().compile_model(str(candidate.files[0]), "CPU", settings)
        self._names = [port.get_any_name() for port in self._model.inputs]

    def __call__(self, row: Row) -> np.ndarray:
        return self._model({name: row[_known(name)].astype(np.int64) for name in self._names})[0]


class _Torch:
    """The checkpoint in PyTorch; `compiled` by torch.compile."""

    def __init__(self, candidate: Candidate, *, compiled: bool = False) -> None:
        import torch
        from transformers import AutoModelForSequenceClassification

        torch.set_num_threads(1)
        self._torch = torch
        model = AutoModelForSequenceClassification.from_pretrained(candidate.files[0], dtype=torch.float32).eval()
        self._run = torch.compile(model, dynamic=True) if compiled else model

    def __call__(self, row: Row) -> np.ndarray:
        feed = {name: self._torch.from_numpy(row[known].astype(np.int64)) for name, known in ALIASES.items()}
        with self._torch.inference_mode():
            return self._run(**feed).logits.numpy()


def _known(name: str) -> str:
    return ALIASES.get(name, name)


class _Products:
    """The products of the network alone, at the length of the row; what the row holds does not count."""

    def __init__(self, candidate: Candidate) -> None:
        import product_floor

        self._runs = {length: product_floor.runner(path, length) for length, path in candidate.files.items()}

    def __call__(self, row: Row) -> Any:
        return self._runs[row["ids"].shape[1]]()


def _compiled(candidate: Candidate) -> _Torch:
    return _Torch(candidate, compiled=True)


_KINDS = {
    "LiteRT": _LiteRt,
    "ONNX Runtime": _OnnxRuntime,
    "OpenVINO": _OpenVino,
    "products": _Products,
    "PyTorch": _Torch,
    "torch.compile": _compiled,
}
