"""The gates of a check: size, accuracy, latency, and whether the file is what its name says."""

from exporters.checking.paired import Drop
from exporters.checking.request import CheckRequest
from exporters.checking.result import Timing, Verdict
from exporters.errors import AccuracyError, LatencyError, SchemeError, SizeError
from exporters.shipped.model import Shipped
from quantize.recipe import RECIPES, Recipe


def judge(request: CheckRequest, shipped: Shipped, drop: Drop | None, timing: Timing | None) -> tuple[Verdict, ...]:
    """A verdict for every gate that applies."""
    found = [_scheme(shipped), _accuracy(request, drop), _size(request, shipped), _latency(request, timing)]
    return tuple(verdict for verdict in found if verdict is not None)


def recipe_of(name: str) -> Recipe | None:
    """The recipe in a file's name, as the export writes it; None if the file was renamed."""
    stem = name.rpartition(".")[0]
    found = [recipe for recipe in RECIPES.values() if stem.endswith(f"_{recipe.name.replace('-', '_')}")]
    return max(found, key=lambda recipe: len(recipe.name), default=None)


def _scheme(shipped: Shipped) -> Verdict | None:
    recipe = recipe_of(shipped.path.name)
    if recipe is None:
        return None
    problems = shipped.file.audit(recipe)
    if not problems:
        return Verdict(gate=SchemeError.gate, passed=True, message=f"holds {recipe.name} throughout")
    message = f"expected {recipe.name}, as the name says. Received: {problems[0]}"
    return Verdict(gate=SchemeError.gate, passed=False, message=message)


def _accuracy(request: CheckRequest, drop: Drop | None) -> Verdict | None:
    if drop is None:
        return None
    failed = drop.is_more if request.strict else drop.is_real
    how = "on these rows" if request.strict else "beyond chance"
    message = f"expected a drop of at most {drop.limit:g} points {how}. Received: {describe(drop)}"
    return Verdict(gate=AccuracyError.gate, passed=not failed, message=message)


def describe(drop: Drop) -> str:
    """The drop with its interval and its test."""
    rows = "" if drop.worse is None else f"{drop.worse} rows worse, {drop.better} better; "
    word = f"a drop of {drop.points:.2f}" if drop.points >= 0 else f"a gain of {-drop.points:.2f}"
    return f"{word} (95 %: {drop.low:.2f} to {drop.high:.2f}; {rows}{drop.method}, p = {drop.p:.2g})"


def _size(request: CheckRequest, shipped: Shipped) -> Verdict | None:
    limit, size = request.max_size_bytes, shipped.file.size_bytes
    if limit is None:
        return None
    message = f"expected at most {limit:,} bytes. Received: {size:,}"
    return Verdict(gate=SizeError.gate, passed=size <= limit, message=message)


def _latency(request: CheckRequest, timing: Timing | None) -> Verdict | None:
    limit = request.max_latency_ratio
    if limit is None or timing is None or timing.ratio is None:
        return None
    message = (
        f"expected at most {limit:g} times the time. "
        f"Received: {timing.ratio:.2f} (quartiles {timing.low:.2f} to {timing.high:.2f})"
    )
    return Verdict(gate=LatencyError.gate, passed=timing.ratio <= limit, message=message)
