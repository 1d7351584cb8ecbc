"""Weights that an .onnx file keeps in files beside it, as PyTorch's exporter does by default.

The onnx library reads them and guards the paths: nothing outside of the folder, no links. Leaves out models above 2 GB,
which no single file can hold.
"""

import warnings
from collections.abc import Iterator
from pathlib import Path

import onnx
from onnx.external_data_helper import ExternalDataInfo, load_external_data_for_model

from exporters.formats.onnx.walk import graphs_of

_MOST_BYTES = (1 << 31) - 1


def is_used(model: onnx.ModelProto) -> bool:
    return next(_outside(model), None) is not None


def read_beside(model: onnx.ModelProto, folder: Path) -> dict[str, int]:
    """Puts the weights into the model; returns the files with their bytes. Raises ValueError if one cannot be read."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about keys that the standard does not have
        try:
            sizes, total = dict[str, int](), 0
            for tensor in _outside(model):
                found = ExternalDataInfo(tensor)
                if found.location not in sizes:
                    sizes[found.location] = (folder / found.location).stat().st_size
                total += sizes[found.location] if found.length is None else int(found.length)
            if total > _MOST_BYTES:  # many tensors may name the same bytes
                raise ValueError(f"{total:,} bytes of weights in other files")
            load_external_data_for_model(model, str(folder))
        except (onnx.checker.ValidationError, OSError) as error:
            reason = " ".join(str(error).split())
            raise ValueError(f"weights in another file that cannot be read: {reason}") from error
    return sizes


def _outside(model: onnx.ModelProto) -> Iterator[onnx.TensorProto]:
    for _, graph in graphs_of(model.graph):
        for item in graph.initializer:
            if item.data_location == onnx.TensorProto.EXTERNAL:
                yield item
        for node in graph.node:
            for attribute in node.attribute:
                if attribute.HasField("t") and attribute.t.data_location == onnx.TensorProto.EXTERNAL:
                    yield attribute.t
