"""Instructions of one inference of model files in emulated ARM runtimes; for `arm_instructions.sh`.

    python arm_calls.py RESULT.json LENGTH FILE...

Inputs are ones of the file's own types, `LENGTH` tokens without padding.
"""

import json
import sys
from pathlib import Path

import numpy as np

from exporters.runtimes import arm64, rules
from exporters.runtimes.row_jobs import Job
from exporters.shipped.inputs import first_signature, open_file


def main() -> None:
    result, length, paths = Path(sys.argv[1]), int(sys.argv[2]), [Path(name) for name in sys.argv[3:]]
    plugin = arm64.counting_plugin()
    if isinstance(plugin, str):
        sys.exit(plugin)
    found = {}
    for runtime in (rules.LITERT, rules.ONNXRUNTIME):
        own = [path for path in paths if rules.reads(runtime, open_file(path))]
        if own:
            jobs = [Job(path=path, rows=[ones(path, length)]) for path in own]
            for path, answer in zip(own, arm64.run_rows(jobs, runtime=runtime, plugin=plugin), strict=True):
                found[path.name] = answer.instructions or answer.error
                print(path.name, found[path.name])
    names = " ".join(path.name for path in paths)
    document = {
        "command": f"bash benchmarks/arm_instructions.sh {result.name} {length} {names}",
        "processor": "cortex-a76, emulated by qemu-aarch64",
        "threads": 1,
        "length": length,
        "instructions": found,
    }
    result.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


def ones(path: Path, length: int) -> dict[str, np.ndarray]:
    """Open axes: the first is the batch, any other the length."""
    return {
        info.name: np.ones(
            [
                size if isinstance(size, int) and size > 0 else (length if axis else 1)
                for axis, size in enumerate(info.shape)
            ],
            info.dtype,
        )
        for info in first_signature(open_file(path))[0]
    }


if __name__ == "__main__":
    main()
