"""Loads one file in its runtime, in its own process, and answers with what the runtime made of it.

`partitions.py` starts it with `python -m`. The environment names the format, stdin holds the file; stdout gets a
`RuntimePlan` as JSON. A file that the runtime refuses is an answer, too; a crash is for the caller to see.
"""

import contextlib
import json
import os
import sys

from exporters.anatomy.runtime_plan import RuntimePlan
from exporters.formats.base import get
from models_tf.errors import InputError

FORMAT = "EXPORT_MOBILE_WORKER_FORMAT"
# A damaged file may ask for any amount of memory. What a runtime needs to load a file: its libraries, the weights a few
# times over (packed for the processor, too), and the activations.
_BASE_BYTES, _TIMES_FILE = 6 << 30, 8
# Of the processor: ends a worker whose caller is gone.
_SECONDS = 300
_LONGEST = 300


def main() -> int:
    answer = os.dup(1)
    os.dup2(2, 1)  # the runtime may print; stdout belongs to the answer
    found = get(os.environ[FORMAT])
    content = sys.stdin.buffer.read()
    _limit(_BASE_BYTES + _TIMES_FILE * len(content))
    try:
        plan = found.runtime_plan(content)
    except (InputError, MemoryError, OSError, RuntimeError, ValueError) as error:
        plan = RuntimePlan(runtime=found.runtime, version="", problem=_reason(error))
    except Exception as error:
        if type(error).__module__.partition(".")[0] != "onnxruntime":  # whose errors have no base of their own
            raise
        plan = RuntimePlan(runtime=found.runtime, version="", problem=_reason(error))
    with os.fdopen(answer, "w", encoding="utf-8") as pipe:
        json.dump(plan.to_dict(), pipe)
        pipe.flush()
        os._exit(0)  # at once: a runtime may crash when it gives back what a damaged file made


def _reason(error: Exception) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text[:_LONGEST].rstrip(".")


def _limit(size_bytes: int) -> None:
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (size_bytes, resource.getrlimit(resource.RLIMIT_AS)[1]))
        resource.setrlimit(resource.RLIMIT_CPU, (_SECONDS, _SECONDS))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


if __name__ == "__main__":
    sys.exit(main())
