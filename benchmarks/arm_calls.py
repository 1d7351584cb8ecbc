"""Loads a model file in its runtime and calls it some times, with one thread; for `arm_instructions.sh`.

    python arm_calls.py FILE LENGTH CALLS

Runs with the runtimes and numpy alone. Inputs are ones of the file's own types, `LENGTH` tokens without padding.
"""

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np


def main() -> None:
    file, length, calls = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    run = (onnx if file.suffix == ".onnx" else tflite)(file, length)
    for _ in range(calls):
        run()


def tflite(file: Path, length: int) -> Callable[[], object]:
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(model_path=str(file), num_threads=1)
    given = interpreter.get_input_details()
    for detail in given:
        if -1 in detail["shape_signature"]:
            sizes = [length if size == -1 else size for size in detail["shape_signature"]]
            interpreter.resize_tensor_input(detail["index"], sizes)
    interpreter.allocate_tensors()
    for detail in interpreter.get_input_details():
        interpreter.set_tensor(detail["index"], np.ones(detail["shape"], detail["dtype"]))
    return interpreter.invoke


def onnx(file: Path, length: int) -> Callable[[], object]:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])
    kinds = {"tensor(int8)": np.int8, "tensor(int32)": np.int32, "tensor(int64)": np.int64, "tensor(float)": np.float32}
    feed = {}
    for value in session.get_inputs():
        # Unknown axes: the first is the batch, any other the length.
        sizes = [size if isinstance(size, int) else (length if axis else 1) for axis, size in enumerate(value.shape)]
        feed[value.name] = np.ones(sizes, kinds[value.type])
    return lambda: session.run(None, feed)


if __name__ == "__main__":
    main()
