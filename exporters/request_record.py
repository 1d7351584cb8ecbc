"""An export's request as values that JSON can hold, for the report, and back: so that an export can be made again.

Leaves out where the export is written, and what the inputs hold.
"""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from exporters.request import ExportRequest
from models_tf.compress.settings import AS_REMOVED, Compression
from models_tf.errors import InputError

_PLACE = ("output", "force")


def to_record(request: ExportRequest) -> dict[str, Any]:
    """The fields by name; paths are as they were given."""
    return {
        field.name: _plain(getattr(request, field.name))
        for field in dataclasses.fields(request)
        if field.name not in _PLACE
    }


def from_record(record: Mapping[str, Any], *, output: Path) -> ExportRequest:
    """The request, for another output folder. An `InputError` says what cannot be read, or is no longer there."""
    fields = {field.name for field in dataclasses.fields(ExportRequest)} - set(_PLACE)
    unknown = sorted(set(record) - fields)
    if unknown:
        raise InputError(f"A request has the fields {', '.join(sorted(fields))}. Received: {str(unknown[0])[:100]}.")
    values = dict(record)
    if values.get("compression") is not None:
        values["compression"] = _compression(values["compression"])
    return ExportRequest(**values, output=output)


def _plain(value: Any) -> Any:
    if isinstance(value, Compression):
        return value.to_dict()
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, Path) else value


def _compression(record: Any) -> Compression:
    try:
        values = dict(record)
        heads = values.get("remove_heads") or {}
        values["remove_heads"] = tuple((int(layer), tuple(numbers)) for layer, numbers in heads.items())
        values["ghosts"] = AS_REMOVED if values.get("ghosts") == "as removed" else values.get("ghosts")
        values["retention"] = tuple(values.get("retention") or ())
        return Compression(**values)
    except (TypeError, ValueError, AttributeError) as error:
        raise InputError(f"`compression` must be the settings of a compression. Received: {record!r}.") from error
