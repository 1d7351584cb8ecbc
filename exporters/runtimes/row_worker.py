"""Runs model files row by row in one runtime, in a process of its own: on this processor, or in the emulator.

    cd FOLDER; python row_worker.py

Imports nothing but numpy and the runtime, since the start of an emulated Python is slow. FOLDER/job.json has the name
of the runtime and a list of files with "path", "rows", "texts", "library", "counted" and "scales": `rows` is an .npz of
inputs (see `row_jobs.py`), `texts` are inputs that are strings, `library` is that of the projection op if the file
needs it, `counted` the row whose calls are marked for the plugin that counts instructions, and `scales` are those of
integer outputs, for runtimes that do not tell. The answers of file N go to FOLDER/N.npz, or its error to FOLDER/N.txt.
A line on stdout tells which file is begun, and a dot that a row is done.
"""

import contextlib
import ctypes
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

# Calls between two marks: their difference is free of what a mark itself costs.
FEW, MANY = 2, 6
_MARK = 0x7E57C0DE  # as in count_instructions.c
_QUANTIZED = (np.int8, np.uint8, np.int16)
_ORT_TYPES = {"tensor(float)": np.float32, "tensor(float16)": np.float16}


Row = dict[str, np.ndarray]


class Tflite:
    """A .tflite file in LiteRT or tflite-runtime, through its first signature."""

    def __init__(self, file: dict[str, Any], runtime: str) -> None:
        if runtime == "litert":
            from ai_edge_litert import interpreter as module
        else:
            from tflite_runtime import interpreter as module
        options = {"model_path": file["path"], "num_threads": 1}
        if file["library"]:
            add = ctypes.CDLL(file["library"]).ExportMobileAddToResolver
            add.argtypes = [ctypes.c_void_p]
            self.interpreter = module.InterpreterWithCustomOps(
                custom_op_registerers=[lambda resolver: add(resolver) and None], **options
            )
        else:
            self.interpreter = module.Interpreter(**options)
        # "serving_default" is the first in every file that has it; other files have one signature.
        names = list(self.interpreter.get_signature_list())
        self.runner = self.interpreter.get_signature_runner(
            "serving_default" if "serving_default" in names else names[0]
        )
        self.details = self.runner.get_input_details()
        self.quantization = {
            name: detail["quantization"] if detail["dtype"] in _QUANTIZED else (0.0, 0)
            for name, detail in self.runner.get_output_details().items()
        }

    def given(self, row: Row) -> dict[Any, Any]:
        return {name: as_type(values, self.details[name]["dtype"]) for name, values in row.items()}

    def run(self, given: dict[Any, Any]) -> Any:
        return self.runner(**given)

    def answers(self, found: Any) -> Row:
        made = {}
        for name, value in found.items():
            scale, zero_point = self.quantization[name]
            made[name] = value.astype(np.float32)
            if scale:
                made[name] = (made[name] - zero_point) * np.float32(scale)
        return made


class Onnx:
    """An .onnx file in ONNX Runtime."""

    def __init__(self, file: dict[str, Any], _: str) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        if file["library"]:
            options.register_custom_ops_library(file["library"])
        self.session = onnxruntime.InferenceSession(file["path"], options, providers=["CPUExecutionProvider"])
        self.types = {value.name: onnx_type(value.type) for value in self.session.get_inputs()}
        self.names = [value.name for value in self.session.get_outputs()]

    def given(self, row: Row) -> dict[Any, Any]:
        # Of Python's bytes it would print the form b'...'.
        return {
            name: np.array([text.decode() for text in values], object)
            if values.dtype == object
            else as_type(values, self.types[name])
            for name, values in row.items()
        }

    def run(self, given: dict[Any, Any]) -> Any:
        return self.session.run(self.names, given)

    def answers(self, found: Any) -> Row:
        return {name: np.asarray(value).astype(np.float32) for name, value in zip(self.names, found, strict=True)}


class OpenVino:
    """A .tflite or .onnx file in OpenVINO, on the processor. Inputs are bound by name where the file has them."""

    def __init__(self, file: dict[str, Any], _: str) -> None:
        # It sends events at its import if it finds this package, and works without.
        sys.modules["openvino_telemetry"] = None  # type: ignore[assignment] # stands for "not installed"
        import openvino

        core = openvino.Core()
        # Without its own 8-bit kernels, which overflow on x86 processors without VNNI: what the file says is computed.
        settings = {"INFERENCE_NUM_THREADS": 1, "INFERENCE_PRECISION_HINT": "f32", "LP_TRANSFORMS_MODE": False}
        self.model = core.compile_model(core.read_model(file["path"]), "CPU", settings)
        self.ports: dict[str, Any] = {}
        self.scales: dict[str, Any] = file["scales"]

    def given(self, row: Row) -> dict[Any, Any]:
        if not self.ports:
            self.ports = {name: self._port(name, place) for place, name in enumerate(row)}
        return {
            self.ports[name]: as_type(values, self.ports[name].get_element_type().to_dtype())
            for name, values in row.items()
        }

    def _port(self, name: str, place: int) -> Any:
        """TFLiteConverter's names are those of the signature with something around them, MediaPipe's are its own."""
        wanted = (name, "segment_ids") if name == "segments" else (name,)
        for port in self.model.inputs:
            if any(one in wanted or plain(one) in wanted for one in port.get_names()):
                return port
        if len(self.model.inputs) == 1:
            return self.model.inputs[0]
        raise ValueError(f"no input is called {name}, number {place + 1}")

    def run(self, given: dict[Any, Any]) -> Any:
        return self.model(given)

    def answers(self, found: Any) -> Row:
        made = {}
        for number, (port, value) in enumerate(found.items()):
            names = [plain(name) for name in port.get_names()]
            name = next((name for name in names if name in self.scales), next(iter(names), str(number)))
            scale, zero_point = self.scales.get(name) or (0.0, 0)
            made[name] = np.asarray(value).astype(np.float32)
            if scale and value.dtype in _QUANTIZED:
                made[name] = (made[name] - zero_point) * np.float32(scale)
        return made


RUNTIMES: dict[str, Any] = {"litert": Tflite, "tflite-runtime": Tflite, "onnxruntime": Onnx, "openvino": OpenVino}


def plain(name: str) -> str:
    return name.removeprefix("serving_default_").partition(":")[0]


def onnx_type(name: str) -> Any:
    return _ORT_TYPES.get(name, name.removeprefix("tensor(").removesuffix(")") if name != "tensor(string)" else object)


def as_type(values: np.ndarray, kind: Any) -> np.ndarray:
    """Features and ids are whole numbers, which every type of an input holds."""
    return values if values.dtype == object else values.astype(kind)


def read_rows(path: str, texts: list[str]) -> Iterator[Row]:
    """The inverse of `row_jobs.write_rows`."""
    with np.load(path, allow_pickle=False) as arrays:
        names = [name for name in arrays.files if not name.endswith(".shapes")]
        columns = {name: (arrays[name], arrays[f"{name}.shapes"]) for name in names}
    places = dict.fromkeys(names, 0)
    for number in range(len(next(iter(columns.values()))[1])):
        row = {}
        for name, (values, shapes) in columns.items():
            size = int(np.prod(shapes[number]))
            row[name] = values[places[name] : places[name] + size].reshape(shapes[number])
            places[name] += size
            if name in texts:
                row[name] = np.array([row[name].tobytes(), b""], object)[:-1]
        yield row


def main() -> None:
    folder = Path()
    job = json.loads((folder / "job.json").read_text())
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # the runtime may print
    for file in job["files"]:
        number = file["number"]
        out.write(f"file {number}\n")
        try:
            model = RUNTIMES[job["runtime"]](file, job["runtime"])
            columns: dict[str, list[np.ndarray]] = {}
            for place, row in enumerate(read_rows(file["rows"], file["texts"])):
                given = model.given(row)
                for name, value in model.answers(model.run(given)).items():
                    columns.setdefault(name, []).append(value)
                out.write(".\n")
                if place == file["counted"]:
                    count(model, given)
            arrays = {}
            for name, values in columns.items():
                arrays[name] = np.concatenate([value.ravel() for value in values])
                arrays[f"{name}.shapes"] = np.array([value.shape for value in values])
            np.savez(folder / f"{number}.npz", **arrays)
        except Exception as error:  # noqa: BLE001 - whatever a runtime raises is one line to the parent
            message = " ".join(str(error).split()) or type(error).__name__
            (folder / f"{number}.txt").write_text(message[:2000])
        model = None


def count(model: Any, given: dict[Any, Any]) -> None:
    """Three marks, with few and with many calls between them."""
    mark()
    for calls in (FEW, MANY):
        for _ in range(calls):
            model.run(given)
        mark()


def mark() -> None:
    with contextlib.suppress(OSError):
        os.getpgid(_MARK)


if __name__ == "__main__":
    main()
