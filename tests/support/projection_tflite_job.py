"""Projections through a TFLite runtime, here or in a process of its own.

tflite-runtime cannot share a process with TensorFlow, which other tests load, so its jobs go to a
subprocess: this module run as a program reads pickled jobs from stdin and writes pickled results.
"""

import pickle
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from models_tf.ops.projection.config import ProjectionConfig
from models_tf.ops.projection.tflite_loader import interpreter
from models_tf.ops.projection.tflite_model import OP_NAME, projection_model


@dataclass(frozen=True, kw_only=True)
class Job:
    config: ProjectionConfig | bytes  # bytes: raw custom options
    texts: tuple[bytes, ...]
    dtype: str = "int8"
    lengths: bool = True
    op_name: str = OP_NAME
    num_threads: int = 1


def run_job(runtime: str, job: Job) -> list[np.ndarray] | str:
    """Features and lengths, or the message of the error."""
    try:
        model = projection_model(job.config, dtype=job.dtype, lengths=job.lengths, op_name=job.op_name)
        runner = interpreter(model, runtime=runtime, num_threads=job.num_threads)
        text = runner.get_input_details()[0]["index"]
        runner.resize_tensor_input(text, [len(job.texts)])
        runner.allocate_tensors()
        # Of type object: numpy's bytes type drops NULs at the end.
        runner.set_tensor(text, np.array(job.texts, dtype=object))
        runner.invoke()
        return [runner.get_tensor(output["index"]) for output in runner.get_output_details()]
    except (ValueError, RuntimeError) as error:
        return str(error)


def run_jobs(runtime: str, jobs: list[Job]) -> list[Any]:
    if runtime != "tflite-runtime":
        return [run_job(runtime, job) for job in jobs]
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.projection_tflite_job", runtime],
        input=pickle.dumps([vars(job) for job in jobs]),
        cwd=root,
        capture_output=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"exit code {done.returncode}: {done.stderr.decode()}")
    return pickle.loads(done.stdout)


if __name__ == "__main__":
    received = [Job(**values) for values in pickle.loads(sys.stdin.buffer.read())]
    sys.stdout.buffer.write(pickle.dumps([run_job(sys.argv[1], job) for job in received]))
