"""An inspection as text: the lines and tables that the command prints."""

from collections.abc import Iterator, Mapping
from typing import Any

from exporters.anatomy.parts import CustomOp
from exporters.anatomy.result import Anatomy
from exporters.anatomy.runtime_plan import RuntimePlan
from exporters.report.tables import Table

UNKNOWN = "unknown"
_MOST_LAYERS, _MOST_DUPLICATES, _MOST_NAMES = 40, 10, 4
_LONGEST_NAME = 60


def blocks(found: Anatomy) -> list[str | Table]:
    """What the command prints."""
    return [
        *_head(found),
        *_signatures(found),
        *_operators(found),
        *_bytes(found),
        *_layers(found),
        *_quantized(found),
        *_float(found),
        *_duplicates(found),
        *_runtime(found),
    ]


def _head(found: Anatomy) -> Iterator[str]:
    yield f"{found.file}: {found.size_bytes:,} bytes, {found.parameters:,} parameters"
    share = f"; {_percent(found.quantized_share)} of the weight bytes are quantized" if found.quantized_share else ""
    yield f"{found.scheme}{share}"
    facts = found.facts
    if "opsets" in facts:
        opsets = ", ".join(f"{name} {version}" for name, version in facts["opsets"].items())
        yield f"opset {opsets}; IR version {facts['ir_version']}; needs {found.min_runtime or f'{UNKNOWN} runtime'}"
        if facts["producer"]:
            yield f"written by {facts['producer']}"
    else:
        stated = facts.get("stated_min_runtime")
        states = f" (the file says {stated})" if stated else ""
        yield f"schema {facts['schema']}; needs {found.min_runtime or f'{UNKNOWN} runtime'}{states}"
    if "described" in facts:
        yield from _described(facts)


def _described(facts: Mapping[str, Any]) -> Iterator[str]:
    """What TFLite metadata say."""
    described = facts["described"]
    if "problem" in described:
        yield f"metadata that cannot be read: {_short(described['problem'])}"
        return
    graphs = described.get("subgraph_metadata", [])
    sides = []
    for side in ("input", "output"):
        names = [_short(one.get("name", "")) for graph in graphs for one in graph.get(f"{side}_tensor_metadata", [])]
        sides += [f"{side} {', '.join(names)}"] if names else []
    units = [
        unit["options"][0] for graph in graphs for unit in graph.get("input_process_units", []) if "options" in unit
    ]
    yield "; ".join([f"metadata: {_short(described.get('name', '')) or 'no name'}", *sides, *units])
    files = [f"{_short(name)} ({size:,} bytes)" for name, size in facts.get("associated_files", {}).items()]
    if files:
        yield f"packed into the file: {', '.join(files[:_MOST_NAMES])}"


def _short(text: str) -> str:
    return " ".join(text.split())[:_LONGEST_NAME]


def _signatures(found: Anatomy) -> Iterator[str | Table]:
    for name, signature in found.signatures.items():
        rows = []
        for side, infos in (("input", signature.inputs), ("output", signature.outputs)):
            for info in infos:
                scale = "" if info.scale is None else f"{info.scale:.6g}"
                point = "" if info.scale is None else str(info.zero_point)
                rows.append((side, info.name, info.dtype, _shape(info.shape), scale, point))
        yield ""
        yield f"signature {name}"
        yield Table(header=("", "name", "type", "shape", "scale", "zero point"), rows=rows, numbers=False)


def _operators(found: Anatomy) -> Iterator[str | Table]:
    plan = found.plan if found.plan is not None and not found.plan.problem else None
    seen: dict[tuple[tuple[str, int], ...], str] = {}
    for number, graph in enumerate(found.graphs):
        key = tuple(graph.operators.items())
        yield ""
        total = sum(graph.operators.values())
        if key in seen:
            yield f"{total} operators of {graph.name}: the same as in {seen[key]}"
            continue
        seen[key] = graph.name
        yield f"{total} operators of {graph.name}"
        delegate = plan.delegate if plan is not None and number == 0 else ""
        header = ("operator", "count", *((f"{delegate} takes",) if delegate else ()))
        rows = [
            (name, str(count), *((str(plan.delegated.get(name, 0)),) if plan is not None and delegate else ()))
            for name, count in graph.operators.items()
        ]
        yield Table(header=header, rows=rows)
    if found.custom:
        yield ""
        yield "custom operators, which a plain runtime does not have"
        yield from (f"  {_custom(each)}" for each in found.custom)


def _custom(each: CustomOp) -> str:
    attributes = ", ".join(f"{name}={value}" for name, value in each.attributes.items())
    kind = "" if each.kind == "custom" else f" ({each.kind})"
    return f"{each.count} {each.name}{kind}{': ' if attributes else ''}{attributes}"


def _bytes(found: Anatomy) -> Iterator[str | Table]:
    rows = [
        (
            kind.dtype,
            f"{kind.count:,}",
            f"{kind.size_bytes:,}",
            f"{kind.weight_bytes:,}",
            _share(kind.size_bytes, found),
        )
        for kind in found.kinds
    ]
    for name, size in (("metadata", found.metadata_bytes), ("structure", found.structure_bytes)):
        if size:
            rows.append((name, "", f"{size:,}", "", _share(size, found)))
    rows.append(("all", "", f"{found.size_bytes:,}", f"{sum(found.weights.values()):,}", "100 %"))
    yield ""
    yield Table(header=("bytes by type", "constants", "bytes", "weights", "share"), rows=rows, total=True)


def _layers(found: Anatomy) -> Iterator[str | Table]:
    listed = list(found.layers.items())
    rows = [(name[:_LONGEST_NAME], f"{size:,}", _share(size, found)) for name, size in listed[:_MOST_LAYERS]]
    rest = sum(size for _, size in listed[_MOST_LAYERS:])
    if rest:
        rows.append((f"{len(listed) - _MOST_LAYERS} more", f"{rest:,}", _share(rest, found)))
    if rows:
        yield ""
        yield Table(header=("bytes by layer", "bytes", "share"), rows=rows)


def _quantized(found: Anatomy) -> Iterator[str]:
    if found.quantized:
        yield ""
        yield "quantized weights"
    for each in found.quantized:
        points = str(each.lowest_zero_point)
        if each.highest_zero_point != each.lowest_zero_point:
            points = f"{each.lowest_zero_point} to {each.highest_zero_point}"
        how = "symmetric" if each.symmetric else f"not symmetric: {_names(each.names, each.count)}"
        yield f"  {each.count} {each.dtype}, scales {each.granularity}, zero point {points}, {how}"


def _float(found: Anatomy) -> Iterator[str | Table]:
    if found.float_weights:
        rows = [
            (each.operator, str(each.count), f"{each.size_bytes:,}", each.reason or UNKNOWN)
            for each in found.float_weights
        ]
        yield ""
        yield Table(header=("weights left in float", "constants", "bytes", "why"), rows=rows, numbers=False)
    if found.float_operators:
        kinds = [(each.operator, str(each.count), each.reason or UNKNOWN) for each in found.float_operators]
        yield ""
        yield Table(header=("operators left in float", "count", "why"), rows=kinds, numbers=False)


def _duplicates(found: Anatomy) -> Iterator[str]:
    yield ""
    if not found.duplicates:
        yield "no constant is stored twice"
        return
    yield f"constants stored more than once: {found.duplicated_bytes:,} bytes too many"
    for each in found.duplicates[:_MOST_DUPLICATES]:
        yield f"  {len(each.names)} times {each.size_bytes:,} bytes: {_names(each.names, len(each.names))}"
    if len(found.duplicates) > _MOST_DUPLICATES:
        yield f"  and {len(found.duplicates) - _MOST_DUPLICATES} more"


def _runtime(found: Anatomy) -> Iterator[str]:
    plan = found.plan
    if plan is None:
        return
    yield ""
    if plan.problem:
        yield f"{plan.runtime} {plan.version} cannot load it: {plan.problem}".replace("  ", " ")
    elif plan.delegate:
        yield from _delegated(plan)
    else:
        yield from _optimized(plan)


def _delegated(plan: RuntimePlan) -> Iterator[str]:
    taken, kept = sum(plan.delegated.values()), sum(plan.kept.values())
    pieces = "1 partition" if plan.partitions == 1 else f"{plan.partitions} partitions"
    yield f"{plan.runtime} {plan.version}: {plan.delegate} takes {taken} of {taken + kept} operators, in {pieces}"
    if plan.kept:
        yield f"  the runtime's own kernels run {_counted(plan.kept)}"


def _optimized(plan: RuntimePlan) -> Iterator[str]:
    yield f"{plan.runtime} {plan.version} runs {sum(plan.kept.values())} operators after its optimizations"
    if plan.fused:
        yield f"  put in: {_counted(plan.fused)}"
    if plan.replaced:
        yield f"  taken out: {_counted(plan.replaced)}"


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items())


def _names(names: tuple[str, ...], count: int) -> str:
    shown = [name[:_LONGEST_NAME] for name in names[:_MOST_NAMES]]
    return ", ".join(shown) + (", …" if count > len(shown) else "")


def _shape(shape: tuple[int | str, ...]) -> str:
    return "[" + ", ".join(map(str, shape)) + "]"


def _share(size: int, found: Anatomy) -> str:
    return _percent(size / found.size_bytes)


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
