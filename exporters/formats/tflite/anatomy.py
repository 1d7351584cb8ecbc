"""The parts of a .tflite file for an inspection: constants with their bytes and scales, operators, custom ones.

Works for files of any writer. Why an operator is in float: `float_reasons.py`.
"""

from collections import Counter
from collections.abc import Hashable, Iterator
from typing import Any

import numpy as np

from exporters.anatomy import parts as values
from exporters.anatomy.parts import Constant, CustomOp, GraphParts, Operator, Parts, Scales, digest_of, is_symmetric
from exporters.anatomy.users import users
from exporters.formats.model_file import is_weights, readable
from exporters.formats.texts import takes_bytes
from exporters.formats.tflite import float_reasons, tensors
from exporters.formats.tflite.file import MAIN, TfliteFile
from exporters.formats.tflite.metadata import archive_of, metadata_of
from quantize.tflite.graph import (
    builtin_code,
    called_graphs,
    is_constant,
    looks_up_positions,
    op_name,
    schema,
    tensor_name,
    text,
)

_FLEX = "Flex"
_STATED_RUNTIME = "min_runtime_version"
# Attributes of custom operators that are shown: enough to see what it is.
_MOST_ATTRIBUTES, _LONGEST_ATTRIBUTE = 32, 120


def parts(file: TfliteFile) -> Parts:
    with readable(file.format, file.name):
        model = file.model
        kinds = float_reasons.classify(model)
        return Parts(
            signatures=file.signatures,
            constants=tuple(_constants(file, kinds)),
            graphs=tuple(_graphs(model, kinds)),
            custom=tuple(_custom(model)),
            activations=kinds.activations,
            activation_type=kinds.activation_type,
            metadata_bytes=_metadata_bytes(file.content, model),
            facts=_facts(file.content, model),
        )


def _places(content: bytes, model: Any) -> list[tuple[int, int]]:
    """Where the data of each buffer starts in the file, and how many bytes it has. Equal ones may be stored once."""
    root = schema.Model.GetRootAs(content, 0)
    found = []
    for number, buffer in enumerate(model.buffers):
        size = 0 if buffer.data is None else len(buffer.data)
        stored = root.Buffers(number)
        slot = stored._tab.Offset(4)  # noqa: SLF001 - generated code gives the data, not its place
        start = stored._tab.Vector(slot) if slot and stored.DataLength() else stored.Offset()  # noqa: SLF001
        found.append((int(start), size))
    _check_apart({place for place in found if place[1]})
    return found


def _check_apart(places: set[tuple[int, int]]) -> None:
    """Data that overlaps is no writer's: a small file could claim any number of bytes."""
    end = 0
    for start, size in sorted(places):
        if start < end:
            raise ValueError(f"buffers that overlap at byte {start}")
        end = start + size


def _constants(file: TfliteFile, kinds: float_reasons.Kinds) -> Iterator[Constant]:
    model, places = file.model, _places(file.content, file.model)
    digests: dict[Hashable, bytes] = {}
    reads_bytes = any(takes_bytes(info) for one in file.signatures.values() for info in one.inputs)
    called = called_graphs(model)
    for number, graph in enumerate(model.subgraphs):
        numbers = set() if number in called else {*tensors.of_numbers(graph)}
        readers = users(
            [[index for index in operator.inputs if index >= 0] for operator in graph.operators],
            [operator.outputs for operator in graph.operators],
            {index for index, tensor in enumerate(graph.tensors) if is_constant(model, tensor)},
        )
        blocks = set(_block_scales(graph))
        for index, tensor in enumerate(graph.tensors):
            if not is_constant(model, tensor):
                continue
            own = [graph.operators[position] for position in readers.get(index, [])]
            place, dtype = places[tensor.buffer], tensors.kind(tensor).lower()
            names = tuple(op_name(model, operator) for operator in own)
            of_text = reads_bytes and index not in numbers
            if (place, dtype) not in digests:
                digests[place, dtype] = digest_of(dtype, np.asarray(model.buffers[tensor.buffer].data, np.uint8))
            yield Constant(
                name=tensor_name(tensor),
                dtype=dtype,
                shape=_shape(tensor),
                size_bytes=place[1],
                place=place,
                digest=digests[place, dtype],
                role=values.OTHER if of_text else _role(tensor, dtype, index in blocks),
                readers=names,
                users=tuple(readers.get(index, [])) if number == 0 else (),
                near=tuple(tensor_name(graph.tensors[i]) for operator in own for i in operator.outputs if i >= 0),
                scales=_scales(graph, tensor, dtype),
                reason=float_reasons.weight_reason(
                    names,
                    tensors.elements(tensor),
                    kinds,
                    holds_positions=any(looks_up_positions(model, graph, operator) for operator in own),
                ),
                of_text=of_text,
            )


def _role(tensor: Any, dtype: str, holds_scales: bool) -> str:
    if holds_scales:
        return values.SCALES
    return values.WEIGHTS if dtype in values.WEIGHT_TYPES and is_weights(tensor.shape) else values.OTHER


def _block_details(tensor: Any) -> Any:
    quantization = tensor.quantization
    if quantization is None or quantization.detailsType != schema.QuantizationDetails.BlockwiseQuantization:
        return None
    return quantization.details


def _block_scales(graph: Any) -> Iterator[int]:
    """Tensors that hold the scales of others."""
    for tensor in graph.tensors:
        details = _block_details(tensor)
        if details is not None:
            yield from (int(details.scales), int(details.zeroPoints))


def _scales(graph: Any, tensor: Any, dtype: str) -> Scales | None:
    if dtype in values.FLOATS:
        return None
    details = _block_details(tensor)
    if details is not None:
        # Zero points are a tensor of their own; writers leave it out for symmetric weights.
        symmetric = not 0 < int(details.zeroPoints) < len(graph.tensors)
        return Scales(granularity=values.BY_BLOCK, symmetric=symmetric)
    found, points = tensors.scales(tensor), tensors.zero_points(tensor)
    if not found.size:
        return None
    low, high = (int(points.min()), int(points.max())) if points.size else (0, 0)
    return Scales(
        granularity=values.BY_TENSOR if found.size == 1 else values.BY_CHANNEL,
        symmetric=is_symmetric(dtype, low, high),
        lowest_zero_point=low,
        highest_zero_point=high,
    )


def _graphs(model: Any, kinds: float_reasons.Kinds) -> Iterator[GraphParts]:
    names: dict[int, list[str]] = {}
    for signature in model.signatureDefs:
        names.setdefault(signature.subgraphIndex, []).append(text(signature.signatureKey))
    for number, graph in enumerate(model.subgraphs):
        own = text(graph.name) or (MAIN if number == 0 else f"graph {number}")
        operators = [
            Operator(name=op_name(model, operator), in_float=reason is not None, reason=reason or "")
            for operator, reason in zip(graph.operators, float_reasons.reasons(model, graph, kinds), strict=True)
        ]
        yield GraphParts(name=", ".join(names.get(number, [])) or own, operators=tuple(operators))


def _custom(model: Any) -> Iterator[CustomOp]:
    found: dict[str, list[Any]] = {}
    for graph in model.subgraphs:
        for operator in graph.operators:
            if builtin_code(model.operatorCodes[operator.opcodeIndex]) == schema.BuiltinOperator.CUSTOM:
                found.setdefault(op_name(model, operator), []).append(operator)
    for name, operators in found.items():
        flex = name.startswith(_FLEX)
        attributes = {} if flex else _attributes(operators[0].customOptions)
        yield CustomOp(name=name, kind="flex" if flex else "custom", count=len(operators), attributes=attributes)


def _attributes(options: Any) -> dict[str, Any]:
    """Simple values of the options, where they are in TFLite's usual form, or their text; else nothing is known."""
    from flatbuffers import flexbuffers

    data = b"" if options is None else np.asarray(options, np.uint8).tobytes()
    if data.isascii() and data.decode("ascii").isprintable():
        return {"options": data.decode("ascii")[:_LONGEST_ATTRIBUTE]} if data else {}
    found: dict[str, Any] = {}
    try:
        root = flexbuffers.GetRoot(data)
        if not root.IsMap or len(root.AsMap) > _MOST_ATTRIBUTES:
            return {}
        for key, value in zip(root.AsMap.Keys, root.AsMap.Values, strict=False):
            if value.IsString or value.IsNumeric or value.IsBool:
                shown = value.Value
                found[key.AsKey] = shown[:_LONGEST_ATTRIBUTE] if isinstance(shown, str) else shown
    except (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError):
        return {}
    return found


def _metadata_bytes(content: bytes, model: Any) -> int:
    places = _places(content, model)
    used = {places[tensor.buffer] for graph in model.subgraphs for tensor in graph.tensors}
    archive, end = archive_of(content), max((start + size for start, size in places), default=0)
    behind = len(content) - archive.start if archive is not None and archive.start >= end else 0
    return behind + sum(size for place, size in {(place, place[1]) for place in places} if place not in used)


def _facts(content: bytes, model: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"schema": int(model.version), "description": text(model.description)}
    names = []
    for entry in model.metadata or ():
        names.append(text(entry.name))
        if names[-1] == _STATED_RUNTIME and 0 <= entry.buffer < len(model.buffers):
            data = model.buffers[entry.buffer].data
            found["stated_min_runtime"] = (
                "" if data is None else np.asarray(data, np.uint8).tobytes().rstrip(b"\0").decode("ascii", "replace")
            )
    found["metadata"] = names
    found |= _described(content, model)
    versions = Counter[tuple[str, int]]()
    for graph in model.subgraphs:
        for operator in graph.operators:
            versions[op_name(model, operator), int(model.operatorCodes[operator.opcodeIndex].version)] += 1
    newest: dict[str, int] = {}
    for name, version in versions:
        newest[name] = max(version, newest.get(name, 0))
    found["operator_versions"] = dict(sorted(newest.items()))
    return found


def _described(content: bytes, model: Any) -> dict[str, Any]:
    """What TFLite metadata say, for libraries that call the model. Broken ones leave the model as it is."""
    try:
        described = metadata_of(model)
    except (ValueError, UnicodeError) as error:
        return {"described": {"problem": str(error)}}
    archive = archive_of(content) if described is not None else None
    files = {} if archive is None else {"associated_files": archive.sizes}
    return {} if described is None else {"described": described, **files}


def _shape(tensor: Any) -> tuple[int, ...]:
    return () if tensor.shape is None else tuple(int(size) for size in tensor.shape)
