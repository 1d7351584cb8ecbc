"""`inspect`: looks into one model file, whoever wrote it. Needs the base install only."""

import contextlib
import hashlib
from typing import TYPE_CHECKING

from exporters.anatomy import layers, summary
from exporters.anatomy.partitions import runtime_plan
from exporters.anatomy.request import InspectRequest
from exporters.anatomy.result import Anatomy
from exporters.formats.base import get, open_model
from exporters.formats.model_file import ModelFile, readable
from exporters.request_fields import check_request
from models_tf.errors import InputError, naming_fields

if TYPE_CHECKING:
    from exporters.profiling.parts import OpGraph


@naming_fields()
def inspect(request: InspectRequest) -> Anatomy:
    """Say what a model file holds, and what the runtimes will do with it.

    Args:
        request: the file, and whether runtimes are asked.

    Raises:
        InputError: the file is not a model, or not whole; in one line.
    """
    check_request(request, InspectRequest)
    return anatomy(open_model(request.file), runtime=request.runtime)


def anatomy(file: ModelFile, *, runtime: bool = True) -> Anatomy:
    """The same for a file already opened."""
    parts = get(file.format).parts(file)
    with readable(file.format, file.name):
        stored = summary.stored(parts.constants)
        by_type = summary.weights(stored)
        kinds = summary.kinds(stored)
        constant_bytes = sum(kind.size_bytes for kind in kinds)
        found = summary.duplicates(stored)
        return Anatomy(
            file=file.name,
            format=file.format,
            sha256=hashlib.sha256(file.stored).hexdigest(),
            size_bytes=file.size_bytes,
            min_runtime=file.min_runtime,
            facts=parts.facts,
            scheme=summary.scheme(parts, by_type),
            signatures=parts.signatures,
            graphs=summary.operators(parts),
            custom=parts.custom,
            parameters=file.parameters,
            kinds=kinds,
            metadata_bytes=parts.metadata_bytes,
            structure_bytes=file.size_bytes - constant_bytes - parts.metadata_bytes,
            layers=summary.by_layer(stored, layers.layers(stored, _op_graph(file))),
            weights=by_type,
            quantized_share=summary.quantized_share(by_type),
            quantized=summary.quantized(stored),
            float_operators=summary.float_operators(parts),
            float_weights=summary.float_weights(parts, stored),
            duplicates=found,
            duplicated_bytes=sum(each.wasted_bytes for each in found),
            plan=runtime_plan(file) if runtime else None,
        )


def _op_graph(file: ModelFile) -> "OpGraph | None":
    """None where a stranger's operators have other operands than ours."""
    with contextlib.suppress(InputError, NotImplementedError), readable(file.format, file.name):
        return get(file.format).op_graph(file)
    return None
