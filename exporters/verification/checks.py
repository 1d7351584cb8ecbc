"""What is held against what: the runners of a run, in an order in which each reference comes first.

Projection models: Keras <- float features-in <- quantized features-in, and for each of them <- its batched signature,
<- text-in, and <- the same file in tflite-runtime, where that is installed.
Token models: Keras <- float, within float rounding; Keras <- quantized; <- the same file in tflite-runtime.
"""

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from exporters.formats.artifacts import FLOAT, Artifact
from exporters.formats.runners import OnnxRunner, Runner, TfliteRunner, TfliteRuntimeRunner
from exporters.formats.tensor_names import FEATURES
from exporters.verification.parity import EXACT, FLOAT_ATOL, FLOAT_RTOL
from exporters.verification.verify import Check

Placed = tuple[Artifact, Path]

# Rows of the second signature of features-in .tflite files; .onnx files take any number of rows.
BATCH = 8
BATCH_SIGNATURE = f"batch_{BATCH}"
# One row alone and the same row among others. Integers add up the same in any order. Float sums do not, and where they
# are quantized again (int8-dynamic) a value on the edge may go one of 255 steps further: logits some ten wide move by a
# few hundredths, while a signature that computes something else is off by units.
_DYNAMIC_ATOL = 0.1
_BATCH_LIMITS = {"float32": FLOAT_ATOL, "fp16": FLOAT_ATOL, "int8-dynamic": _DYNAMIC_ATOL, "int8": EXACT}
# A row of a token model costs a tenth of a second in each file. A float file that is not kept proves the conversion,
# for which this many rows are plenty; another runtime shows that it runs the file at all.
REFERENCE_ROWS = 256
PROBE_ROWS = 32


def for_projection(keras: Runner, placed: Iterable[Placed], *, rows: int) -> tuple[list[Check], list[Check]]:
    """Checks for all rows, and probes. `placed` are artifacts with their files, float ones first; `rows` of a batch."""
    checks, probes = [Check(runner=keras, against=None)], []
    features: dict[str, str] = {}  # target -> name of the features-in runner that came last
    for artifact, path in placed:
        runner = _runner(artifact, path, (artifact.graph,), rows=rows)
        is_float = artifact.recipe == FLOAT.name
        if artifact.graph == FEATURES:
            against = keras.name if is_float else features.get(artifact.target, keras.name)
            checks.append(Check(runner=runner, against=against, limit=FLOAT_ATOL if is_float else None))
            features[artifact.target] = runner.name
            if artifact.target == "tflite":
                batched = TfliteRunner(path, inputs=(FEATURES,), signature=BATCH_SIGNATURE)
                checks.append(Check(runner=batched, against=runner.name, limit=_BATCH_LIMITS[artifact.recipe]))
        else:
            checks.append(Check(runner=runner, against=features[artifact.target], limit=EXACT))
        if artifact.target == "tflite" and TfliteRuntimeRunner.installed():
            probe = TfliteRuntimeRunner(path, inputs=(artifact.graph,))
            probes.append(Check(runner=probe, against=runner.name, limit=FLOAT_ATOL if is_float else None))
    return checks, probes


def for_tokens(
    keras: Runner,
    references: Sequence[Placed],
    placed: Sequence[Placed],
    *,
    runner: Callable[[Artifact, Path], Runner],
) -> tuple[list[Check], list[Check]]:
    """Checks and probes. The float files differ from Keras by rounding only, so what a quantized file differs by from
    Keras is its quantization. `references` are not kept: some rows suffice, and they have no accuracy to report.
    """
    checks, probes = [Check(runner=keras, against=None)], []
    for artifact, path in references:
        proof = Check(runner=runner(artifact, path), against=keras.name, limit=FLOAT_RTOL, relative=True)
        checks.append(dataclasses.replace(proof, most=REFERENCE_ROWS, scored=False))
    for artifact, path in placed:
        limit = FLOAT_RTOL if artifact.recipe == FLOAT.name else None
        file = runner(artifact, path)
        checks.append(Check(runner=file, against=keras.name, limit=limit, relative=True))
        if artifact.target == "tflite" and TfliteRuntimeRunner.installed():
            probe = TfliteRuntimeRunner(path, inputs=file.inputs)
            probes.append(Check(runner=probe, against=file.name, limit=limit, relative=True, most=PROBE_ROWS))
    return checks, probes


def _runner(artifact: Artifact, path: Path, inputs: tuple[str, ...], *, rows: int) -> Runner:
    if artifact.target == "tflite":
        return TfliteRunner(path, inputs=inputs)
    return OnnxRunner(path, inputs=inputs, rows=rows)
