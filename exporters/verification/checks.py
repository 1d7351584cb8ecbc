"""What is compared with what: the runners of a run, in an order in which each reference comes first.

Projection models: Keras <- float features-in <- quantized features-in, and for each of them <- its further signatures,
<- text-in, and <- the same file in another runtime, where one is installed. A file that takes any length runs each row
at its own; further signatures and text-in are compared with the same file on padded rows, since sums of other lengths
round otherwise.
Token models: Keras <- float, within float rounding; Keras <- quantized; <- the same file in another runtime.
"""

import functools
import threading
from collections.abc import Iterable, Sequence
from typing import Any

from exporters.formats.artifacts import FLOAT, Placed
from exporters.formats.runners import OneCall, Runner
from exporters.formats.tensor_names import FEATURES, SIGNATURE
from exporters.verification.verify import Check
from quantize.recipe import EXACT

# Rows of the second signature of features-in files, in formats whose files do not take any number of rows.
BATCH = 8
BATCH_SIGNATURE = f"batch_{BATCH}"
# A row of a token model costs a tenth of a second in each file. A float file that is not kept proves the conversion,
# for which this many rows are plenty; another runtime shows that it runs the file at all.
REFERENCE_ROWS = 256
PROBE_ROWS = 32


def for_projection(keras: Runner, placed: Iterable[Placed], *, rows: int) -> tuple[list[Check], list[Check]]:
    """Checks for all rows, and probes. Float files come first in `placed`; `rows` of a batch."""
    checks, probes = [Check(runner=keras, against=None)], []
    features: dict[str, str] = {}  # format -> name of the features-in runner that came last
    padded: dict[str, str] = {}  # the same with padded rows
    for one in placed:
        inputs, recipe = (one.graph,), one.recipe
        runner = one.runner(inputs, rows=rows)
        if one.graph == FEATURES:
            against = keras.name if recipe.name == FLOAT.name else features.get(one.format.name, keras.name)
            checks.append(Check(runner=runner, against=against, limit=recipe.atol))
            features[one.format.name] = padded[one.format.name] = runner.name
            options = {"padded": True} if one.file.any_length else {}
            if one.file.any_length:
                same = one.format.runner(one.file, inputs=inputs, rows=rows, padded=True)
                checks.append(Check(runner=same, against=runner.name, limit=recipe.atol, scored=False))
                padded[one.format.name] = same.name
            for signature in one.file.signatures:
                if signature != SIGNATURE:
                    batched = one.format.runner(one.file, inputs=inputs, signature=signature, **options)
                    checks.append(Check(runner=batched, against=padded[one.format.name], limit=recipe.batch_atol))
        else:
            # The features-in graph with one op in front; on the same runtime there is nothing to differ.
            checks.append(Check(runner=runner, against=padded[one.format.name], limit=EXACT))
        others = one.format.other_runtimes(one.path, inputs=inputs)
        probes += [Check(runner=probe, against=runner.name, limit=recipe.atol) for probe in others]
    return checks, probes


def for_tokens(
    keras: Runner,
    references: Sequence[Placed],
    placed: Sequence[Placed],
    *,
    inputs: tuple[str, ...],
    precisions: tuple[tuple[Runner, Runner], ...] = (),
) -> tuple[list[Check], list[Check]]:
    """Checks and probes. The float files differ from Keras by rounding only, so what a quantized file differs by from
    Keras is its quantization. `references` are not kept: some rows suffice, and they have no accuracy to report.
    `precisions` are the Keras model and the network that is exported, each in float32 and in float64.
    """

    def check(one: Placed, runner: Runner, **options: Any) -> Check:
        return Check(runner=runner, against=keras.name, limit=one.recipe.rtol, relative=True, **options)

    checks, turn = [Check(runner=keras, against=None, precisions=precisions)], threading.Lock()
    for one in references:
        name = f"{one.name} on {one.format.runtime}"
        load = functools.partial(one.format.written_runner, one.path, inputs=inputs)
        runner = OneCall(load, name=name, inputs=inputs, turn=turn)
        checks.append(check(one, runner, most=REFERENCE_ROWS, scored=False))
    checks += [check(one, one.runner(inputs)) for one in placed]
    probes = [
        Check(runner=probe, against=one.runner(inputs).name, limit=one.recipe.rtol, relative=True, most=PROBE_ROWS)
        for one in placed
        for probe in one.format.other_runtimes(one.path, inputs=inputs)
    ]
    return checks, probes
