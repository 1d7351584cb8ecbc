"""Pass: leave out of a .tflite file what no runtime reads.

Requires: static shapes where a shape signature is present and equal to the shape.
Ensures: the same operators on the same values in the same order. Gone are the names of inner tensors (inputs and
outputs keep theirs), tensors, buffers and operator codes that nothing refers to, second copies of equal buffers,
converter metadata and descriptions, and recorded minimum / maximum values. Equal vectors and tables are then stored
once by the writer.

What stays, and why (tried in LiteRT 2.3 and tflite-runtime 2.14): a zero point for each scale, or the file is refused;
the scales of biases, one for each channel, or XNNPACK leaves the convolution out or fails. The weights' scales could stand
in for them, since these two runtimes do not look, but others do, and the file would be wrong.
"""

from typing import Any

import numpy as np

from quantize.tflite.flatbuffer import Model, schema, table_key


def compact(model: Model) -> None:
    """Edits the model in place."""
    model.description = None
    model.metadata = None
    model.metadataBuffer = None
    for graph in model.subgraphs:
        _drop_unused_tensors(model, graph)
        outer = {int(index) for index in (*graph.inputs, *graph.outputs)}
        graph.name = None
        graph.debugMetadataIndex = -1
        for index, tensor in enumerate(graph.tensors):
            _strip_tensor(tensor, keep_name=index in outer)
        for operator in graph.operators:
            operator.debugMetadataIndex = -1
            if operator.builtinOptions2Type == 0:
                operator.builtinOptions2 = None
            operator.intermediates = None if _is_empty(operator.intermediates) else operator.intermediates
            operator.mutatingVariableInputs = (
                None if not np.any(operator.mutatingVariableInputs) else operator.mutatingVariableInputs
            )
    _share_buffers(model)
    _drop_unused_codes(model)


def _is_empty(value: Any) -> bool:
    return value is None or len(value) == 0


def _strip_tensor(tensor: Any, *, keep_name: bool) -> None:
    if not keep_name:
        tensor.name = None
    if tensor.shapeSignature is not None and list(tensor.shapeSignature) == list(tensor.shape):
        tensor.shapeSignature = None
    # `hasRank` matters to a converter that imports the file; a runtime takes the shape as it stands. It is needed
    # only to tell a scalar from a shape that is not known.
    if not _is_empty(tensor.shape):
        tensor.hasRank = False
    quantization = tensor.quantization
    if quantization is None:
        return
    quantization.min = None
    quantization.max = None
    if _is_empty(quantization.scale) and quantization.detailsType == 0:
        tensor.quantization = None


def _drop_unused_tensors(model: Model, graph: Any) -> None:
    used = {int(i) for i in (*graph.inputs, *graph.outputs)}
    for operator in graph.operators:
        used.update(int(i) for i in (*operator.inputs, *operator.outputs) if i >= 0)
        if not _is_empty(operator.intermediates):
            used.update(int(i) for i in operator.intermediates)
    kept = sorted(used)
    new = {old: position for position, old in enumerate(kept)} | {-1: -1}
    graph.tensors = [graph.tensors[old] for old in kept]
    graph.inputs = [new[int(i)] for i in graph.inputs]
    graph.outputs = [new[int(i)] for i in graph.outputs]
    for operator in graph.operators:
        operator.inputs = [new[int(i)] for i in operator.inputs]
        operator.outputs = [new[int(i)] for i in operator.outputs]
        if not _is_empty(operator.intermediates):
            operator.intermediates = [new[int(i)] for i in operator.intermediates]
    graph_index = next(i for i, other in enumerate(model.subgraphs) if other is graph)
    for signature in model.signatureDefs or ():
        if signature.subgraphIndex == graph_index:
            for entry in (*signature.inputs, *signature.outputs):
                entry.tensorIndex = new[int(entry.tensorIndex)]


def _share_buffers(model: Model) -> None:
    """Keeps one buffer for each content; buffer 0 is the empty one by convention."""
    empty = schema.BufferT()
    buffers, positions = [empty], {}
    for graph in model.subgraphs:
        for tensor in graph.tensors:
            data = model.buffers[tensor.buffer].data
            if _is_empty(data):
                tensor.buffer = 0
                continue
            key = np.asarray(data, np.uint8).tobytes()
            if key not in positions:
                positions[key] = len(buffers)
                buffers.append(model.buffers[tensor.buffer])
            tensor.buffer = positions[key]
    model.buffers = buffers


def _drop_unused_codes(model: Model) -> None:
    codes: list[Any] = []
    positions: dict[Any, int] = {}
    for graph in model.subgraphs:
        for operator in graph.operators:
            code = model.operatorCodes[operator.opcodeIndex]
            key = table_key(code)
            if key not in positions:
                positions[key] = len(codes)
                codes.append(code)
            operator.opcodeIndex = positions[key]
    model.operatorCodes = codes
