"""One .tflite for the stand-in of org.tensorflow.lite.Interpreter: model and inputs on stdin, outputs on stdout."""

import struct
import sys

import numpy as np
from ai_edge_litert.interpreter import Interpreter

TYPES = {"float32": "FLOAT32", "int32": "INT32", "uint8": "UINT8", "int64": "INT64", "int8": "INT8", "bool": "BOOL"}
source, target = sys.stdin.buffer, sys.stdout.buffer


def number() -> int:
    return struct.unpack(">i", exactly(4))[0]


def exactly(count: int) -> bytes:
    found = source.read(count)
    if len(found) != count:
        sys.exit(0)  # the other side is gone
    return found


def text() -> str:
    return exactly(struct.unpack(">H", exactly(2))[0]).decode()


def write_text(value: str) -> None:
    data = value.encode()[:60000]
    target.write(struct.pack(">H", len(data)) + data)


def write_infos(details: dict) -> None:
    target.write(struct.pack(">i", len(details)))
    for name, info in details.items():
        write_text(name)
        write_text(TYPES.get(np.dtype(info["dtype"]).name, "STRING"))
        shape, (scale, zero_point) = info["shape"].tolist(), info["quantization"]
        target.write(struct.pack(f">i{len(shape)}ifi", len(shape), *shape, scale, zero_point))


def main() -> None:
    content = exactly(number())
    try:
        interpreter = Interpreter(model_content=content, num_threads=1)
        runners = {key: interpreter.get_signature_runner(key) for key in interpreter.get_signature_list()}
    except (ValueError, RuntimeError) as error:
        write_text(str(error))
        target.flush()
        return
    write_text("")
    target.write(struct.pack(">i", len(runners)))
    for key, runner in runners.items():
        write_text(key)
        write_infos(runner.get_input_details())
        write_infos(runner.get_output_details())
    target.flush()
    while True:
        runner = runners[text()]
        inputs = {}
        for _ in runner.get_input_details():
            name = text()
            shape = [number() for _ in range(number())]
            inputs[name] = np.frombuffer(exactly(number()), runner.get_input_details()[name]["dtype"]).reshape(shape)
        try:
            outputs = runner(**inputs)
        except (ValueError, RuntimeError) as error:
            write_text(str(error) or "cannot run")
            target.flush()
            continue
        write_text("")
        for name, values in outputs.items():
            write_text(name)
            data = np.ascontiguousarray(values).tobytes()
            target.write(struct.pack(">i", len(data)) + data)
        target.flush()


main()
