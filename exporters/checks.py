"""What is held against what: the runners of a run, in an order in which each reference comes first.

Keras <- float features-in <- quantized features-in, and for each of them <- its batched signature, <- text-in, and
<- the same file in tflite-runtime, where that is installed.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from exporters.artifacts import BATCH_SIGNATURE, FLOAT, Artifact
from exporters.parity import EXACT, FLOAT_ATOL
from exporters.runners import KerasRunner, OnnxRunner, Runner, TfliteRunner, TfliteRuntimeRunner, batch_rows
from exporters.tensor_names import FEATURES
from exporters.verify import Check

Placed = tuple[Artifact, Path]

# One row alone and the same row among others. Integers add up the same in any order. Float sums do not, and where they
# are quantized again (int8-dynamic) a value on the edge may go one of 255 steps further: logits some ten wide move by a
# few hundredths, while a signature that computes something else is off by units.
_DYNAMIC_ATOL = 0.1
_BATCH_LIMITS = {"float32": FLOAT_ATOL, "fp16": FLOAT_ATOL, "int8-dynamic": _DYNAMIC_ATOL, "int8": EXACT}


def plan(model: Any, placed: Iterable[Placed]) -> tuple[list[Check], list[Check]]:
    """Checks for all rows, and probes. `placed` are artifacts with their files, float ones first."""
    keras = KerasRunner(model)
    rows = batch_rows(model.config.max_seq_len * model.config.projection.feature_size)
    checks, probes = [Check(runner=keras, against=None)], []
    features: dict[str, str] = {}  # target -> name of the features-in runner that came last
    for artifact, path in placed:
        runner = _runner(artifact, path, rows)
        is_float = artifact.recipe == FLOAT.name
        if artifact.graph == FEATURES:
            against = keras.name if is_float else features.get(artifact.target, keras.name)
            checks.append(Check(runner=runner, against=against, limit=FLOAT_ATOL if is_float else None))
            features[artifact.target] = runner.name
            if artifact.target == "tflite":
                batched = TfliteRunner(path, takes=FEATURES, signature=BATCH_SIGNATURE)
                checks.append(Check(runner=batched, against=runner.name, limit=_BATCH_LIMITS[artifact.recipe]))
        else:
            checks.append(Check(runner=runner, against=features[artifact.target], limit=EXACT))
        if artifact.target == "tflite" and TfliteRuntimeRunner.installed():
            probe = TfliteRuntimeRunner(path, takes=artifact.graph)
            probes.append(Check(runner=probe, against=runner.name, limit=FLOAT_ATOL if is_float else None))
    return checks, probes


def _runner(artifact: Artifact, path: Path, rows: int) -> Runner:
    if artifact.target == "tflite":
        return TfliteRunner(path, takes=artifact.graph)
    return OnnxRunner(path, takes=artifact.graph, rows=rows)
