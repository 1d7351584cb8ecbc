"""Asks a runtime what it does with a file: which operators a delegate takes and in how many partitions, what is fused.

The file is loaded, never run, in a process of its own (`worker.py`): a runtime may crash or hang on a stranger's file.
Whatever happens there is a `RuntimePlan`, with a `problem` where the runtime could not load the file.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

from exporters.anatomy.runtime_plan import RuntimePlan
from exporters.anatomy.worker import FORMAT
from exporters.formats.base import get, open_model
from exporters.formats.model_file import ModelFile
from models_tf.processes import tied

_SECONDS = 180
_WORKER = "exporters.anatomy.worker"


def runtime_plan(source: Path | ModelFile, *, seconds: float = _SECONDS) -> RuntimePlan:
    """What the runtime of its format does with a file.

    Args:
        source: the file, or the same file opened.
        seconds: give up after so long.

    Raises:
        InputError: the file is not a model.
    """
    file = source if isinstance(source, ModelFile) else open_model(source)
    runtime = get(file.format).runtime
    try:
        done = subprocess.run(
            tied([sys.executable, "-m", _WORKER]),
            input=file.content,
            capture_output=True,
            timeout=seconds,
            check=False,
            cwd=_import_root(),
            env=os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3", FORMAT: file.format},
        )
    except subprocess.TimeoutExpired:
        return RuntimePlan(runtime=runtime, version="", problem=f"{runtime} did not load it in {seconds:g} s")
    if done.returncode < 0:
        problem = f"{runtime} crashed while loading it (signal {-done.returncode})"
        return RuntimePlan(runtime=runtime, version="", problem=problem)
    try:
        return RuntimePlan(**json.loads(done.stdout))
    except (TypeError, ValueError):
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        problem = lines[-1] if lines else f"the process ended with {done.returncode}"
        return RuntimePlan(runtime=runtime, version="", problem=f"{runtime} could not load it: {problem}")


def _import_root() -> Path:
    """Where the packages are: the worker must find the same ones from any current folder."""
    return Path(__file__).resolve().parents[2]
