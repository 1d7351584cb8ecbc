"""What is compared with what: the runners of a run, in an order in which each reference comes first.

Projection models: Keras <- float features-in <- quantized features-in, and for each of them <- its further signatures,
<- text-in <- bytes-in, and <- the same file in another runtime, where one is installed. A file that takes any length
runs each row at its own; further signatures and text-in are compared with the same file on padded rows, since sums of
other lengths round otherwise. So do sums of a batch: bytes-in files take one row, and are compared with text-in row by
row.
Token models: Keras <- float, within float rounding; Keras <- quantized; <- the same file in another runtime.
"""

import functools
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from exporters.formats.artifacts import FLOAT, Placed
from exporters.formats.runners import ROW_BY_ROW, FromProbabilities, OneCall, Renamed, Runner
from exporters.formats.tensor_names import BYTES, FEATURES, INPUTS, MEDIAPIPE, SIGNATURE, TEXT
from exporters.verification.verify import Check
from models_tf.spec import IDS, MASK, SEGMENTS
from quantize.recipe import EXACT

# Rows of the second signature of features-in files, in formats whose files do not take any number of rows.
BATCH = 8
BATCH_SIGNATURE = f"batch_{BATCH}"
# A row of a token model costs a tenth of a second in each file. A float file that is not kept proves the conversion,
# for which this many rows are plenty; another runtime shows that it runs the file at all.
REFERENCE_ROWS = 256
PROBE_ROWS = 32
MEDIAPIPE_INPUTS = (IDS, MASK, SEGMENTS)
# Graphs, each behind those that it is compared with.
_ORDER = (FEATURES, TEXT, BYTES)


def for_projection(
    keras: Runner,
    references: Sequence[Placed],
    placed: Sequence[Placed],
    *,
    rows: int,
    activation: str | None = None,
) -> tuple[list[Check], list[Check]]:
    """Checks for all rows, and probes. `references` are not kept: float files, and those of other graphs that a file is
    compared with, which have no accuracy to report. `rows` of a batch. `activation` makes the probabilities of bytes-in
    files, if they have any.
    """
    plan = _Plan(keras, rows=rows, activation=activation)
    recipes, graphs = {one.recipe.name for one in placed}, {one.graph for one in placed}
    # Float files first, of each format those that others are compared with.
    formats = list(dict.fromkeys(one.format.name for one in (*references, *placed)))
    scratch = {id(one) for one in references if one.recipe.name in recipes}
    for one in sorted(
        (*references, *placed),
        key=lambda one: (one.recipe.name != FLOAT.name, formats.index(one.format.name), _ORDER.index(one.graph)),
    ):
        if id(one) in scratch and one.graph == TEXT and not graphs & {TEXT, BYTES}:
            continue  # nothing is compared with it
        plan.add(one, kept=id(one) not in scratch, against_bytes=BYTES in graphs and one.recipe.name in recipes)
    return plan.checks, plan.probes


class _Plan:
    """Checks and probes as they are found, file by file."""

    def __init__(self, keras: Runner, *, rows: int, activation: str | None) -> None:
        self.checks, self.probes = [Check(runner=keras, against=None)], list[Check]()
        self._keras, self._rows, self._activation = keras, rows, activation
        self._features: dict[str, str] = {}  # format -> name of the features-in runner that came last
        self._padded: dict[str, str] = {}  # the same with padded rows
        self._texts: dict[str, str] = {}  # the text-in runner that came last, row by row

    def add(self, one: Placed, *, kept: bool, against_bytes: bool) -> None:
        """The next file. One that is not `kept` has no score. `against_bytes`: a bytes-in file is compared with it."""
        runner = one.runner(INPUTS[one.graph], rows=self._rows)
        if one.graph == FEATURES:
            self._add_features(one, runner, scored=kept)
        elif one.graph == TEXT:
            # The features-in graph with one op in front; on the same runtime there is nothing to differ.
            self._check(runner, self._padded[one.format.name], EXACT, scored=kept)
            if against_bytes:
                self._texts[one.format.name] = self._row_by_row(one, runner)
        else:
            # The same with builtin operators in front.
            self._check(runner, self._texts[one.format.name], EXACT, activation=self._activation)
        others = one.format.other_runtimes(one.path, inputs=INPUTS[one.graph]) if kept else []
        self.probes += [Check(runner=probe, against=runner.name, limit=one.recipe.atol) for probe in others]

    def _add_features(self, one: Placed, runner: Runner, *, scored: bool) -> None:
        recipe, name = one.recipe, one.format.name
        against = self._keras.name
        if recipe.name != FLOAT.name:
            against = self._features.get(name, against)
        self._check(runner, against, recipe.atol, scored=scored)
        self._features[name] = self._padded[name] = runner.name
        options = {"padded": True} if one.file.any_length else {}
        if one.file.any_length:
            same = one.format.runner(one.file, inputs=runner.inputs, rows=self._rows, padded=True)
            self._check(same, runner.name, recipe.atol, scored=False)
            self._padded[name] = same.name
        for signature in one.file.signatures:
            if signature != SIGNATURE:
                batched = one.format.runner(one.file, inputs=runner.inputs, signature=signature, **options)
                self._check(batched, self._padded[name], recipe.batch_atol, scored=scored)

    def _row_by_row(self, one: Placed, runner: Runner) -> str:
        """The name of the runner that takes one row at a time, as bytes-in files do: float sums in a batch are in
        another order.
        """
        first = one.file.signatures[SIGNATURE].inputs[0].shape[0]
        if self._rows == 1 or isinstance(first, int):
            return runner.name
        alone = one.format.runner(one.file, inputs=runner.inputs, rows=1)
        self._check(Renamed(alone, runner.name + ROW_BY_ROW), runner.name, one.recipe.batch_atol, scored=False)
        return runner.name + ROW_BY_ROW

    def _check(self, runner: Runner, against: str, limit: float | None, **options: Any) -> None:
        self.checks.append(Check(runner=runner, against=against, limit=limit, **options))


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

    def in_turn(one: Placed) -> Runner:
        load = functools.partial(one.format.written_runner, one.path, inputs=inputs)
        return OneCall(load, name=one.runner_name, inputs=inputs, turn=turn)

    checks, turn = [Check(runner=keras, against=None, precisions=precisions)], threading.Lock()
    checks += [check(one, in_turn(one), most=REFERENCE_ROWS, scored=False) for one in references]
    plain = [one for one in placed if one.graph != MEDIAPIPE]
    checks += [check(one, in_turn(one) if one.is_large else one.runner(inputs)) for one in plain]
    for one in placed:
        if one.graph == MEDIAPIPE:
            checks += _for_mediapipe(one, plain, inputs, check)
    probes = [
        Check(runner=probe, against=one.runner_name, limit=one.recipe.rtol, relative=True, most=PROBE_ROWS)
        for one in placed
        for given in [MEDIAPIPE_INPUTS if one.graph == MEDIAPIPE else inputs]
        for probe in map(FromProbabilities, one.format.other_runtimes(one.path, inputs=given))
    ]
    return checks, probes


def _for_mediapipe(
    one: Placed, plain: Sequence[Placed], inputs: tuple[str, ...], check: Callable[..., Check]
) -> Iterator[Check]:
    """The file answers the probabilities of the logits of the usual file, which is fed with padded rows as well."""
    (usual,) = [other for other in plain if other.format is one.format]
    logits = usual.runner(inputs)
    if usual.file.any_length:
        logits = usual.format.runner(usual.file, inputs=inputs, padded=True)
        yield check(usual, logits, most=REFERENCE_ROWS, scored=False)
    yield Check(runner=FromProbabilities(one.runner(MEDIAPIPE_INPUTS)), against=None, logits_of=logits.name)
