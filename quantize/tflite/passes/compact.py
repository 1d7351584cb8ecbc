"""Pass: leave out of a .tflite file what no runtime reads.

The operators, their order and their values stay. Gone are the long names of inner tensors (they get short ones,
`name_tensors.py`), their shape signatures and those that equal the shape, tensors, buffers and operator codes that
nothing refers to, second copies of equal buffers, converter metadata and descriptions, and recorded minimum / maximum
values. Equal vectors and tables are then stored once by the writer. Operator codes are in both fields, as old readers
ask.

What stays, and why (tried in LiteRT 2.3 and tflite-runtime 2.14): a zero point for each scale, or the file is refused;
the scales of biases, one for each channel, or XNNPACK leaves the convolution out or fails. The weights' scales could
stand in for them, since these two runtimes do not look, but others do, and the file would be wrong.
"""

from collections.abc import Hashable, Sized

import numpy as np

from quantize.arrays import digest
from quantize.rewrite import rewrite
from quantize.tflite.conditions import in_order, nothing_unused
from quantize.tflite.flatbuffer import table_key
from quantize.tflite.graph import (
    Buffer,
    Graph,
    Model,
    OperatorCode,
    Tensor,
    builtin_code,
    old_code,
    schema,
    tensors_of,
)
from quantize.tflite.passes.name_tensors import name_tensors, strip_names


@rewrite(ensures=(in_order, nothing_unused))
def compact(model: Model, *, names: bool = True) -> None:
    """Edits the model in place. Without `names` inner tensors have none, so that equal ones are stored once."""
    model.description = None
    model.metadata = None
    model.metadataBuffer = None
    for graph in model.subgraphs:
        _drop_unused_tensors(model, graph)
        graph.name = None
        graph.debugMetadataIndex = -1
        outer = {*graph.inputs, *graph.outputs}
        for index, tensor in enumerate(graph.tensors):
            _strip_tensor(tensor, outer=index in outer)
        for operator in graph.operators:
            operator.debugMetadataIndex = -1
            if operator.builtinOptions2Type == 0:
                operator.builtinOptions2 = None
            if _is_empty(operator.intermediates):
                operator.intermediates = None
            if operator.mutatingVariableInputs is not None and not np.any(operator.mutatingVariableInputs):
                operator.mutatingVariableInputs = None
    _share_buffers(model)
    _drop_unused_codes(model)
    if names:
        name_tensors(model)
    else:
        strip_names(model)


def drop_unused(model: Model) -> None:
    """Removes what passes left behind, in place, and nothing else: tensors that no operator uses, and the data of
    buffers that no tensor refers to.
    """
    for graph in model.subgraphs:
        _drop_unused_tensors(model, graph)
    used = {tensor.buffer for graph in model.subgraphs for tensor in graph.tensors}
    used |= {entry.buffer for entry in model.metadata or ()}
    for position, buffer in enumerate(model.buffers):
        if position not in used:
            buffer.data = None


def _is_empty(value: Sized | None) -> bool:
    return value is None or len(value) == 0


def _strip_tensor(tensor: Tensor, *, outer: bool) -> None:
    if not outer or (tensor.shapeSignature is not None and list(tensor.shapeSignature) == tensor.shape):
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


def _drop_unused_tensors(model: Model, graph: Graph) -> None:
    used = {*graph.inputs, *graph.outputs}
    for operator in graph.operators:
        used.update(tensors_of(operator))
        used.update(map(int, operator.intermediates if operator.intermediates is not None else ()))
    kept = sorted(used)
    new = {old: position for position, old in enumerate(kept)} | {-1: -1}
    graph.tensors = [graph.tensors[old] for old in kept]
    graph.inputs = [new[i] for i in graph.inputs]
    graph.outputs = [new[i] for i in graph.outputs]
    for operator in graph.operators:
        operator.inputs = [new[i] for i in operator.inputs]
        operator.outputs = [new[i] for i in operator.outputs]
        if operator.intermediates is not None:
            operator.intermediates = [new[int(i)] for i in operator.intermediates]
    graph_index = next(i for i, other in enumerate(model.subgraphs) if other is graph)
    for signature in model.signatureDefs or ():
        if signature.subgraphIndex == graph_index:
            for entry in (*signature.inputs, *signature.outputs):
                entry.tensorIndex = new[entry.tensorIndex]


def _share_buffers(model: Model) -> None:
    """Keeps one buffer for each content; buffer 0 is the empty one by convention."""
    buffers: list[Buffer] = [schema.BufferT()]
    positions: dict[bytes, int] = {}
    for graph in model.subgraphs:
        for tensor in graph.tensors:
            data = model.buffers[tensor.buffer].data
            if _is_empty(data):
                tensor.buffer = 0
                continue
            key = digest(np.asarray(data, np.uint8))
            if key not in positions:
                positions[key] = len(buffers)
                buffers.append(model.buffers[tensor.buffer])
            tensor.buffer = positions[key]
    model.buffers = buffers


def _drop_unused_codes(model: Model) -> None:
    codes: list[OperatorCode] = []
    positions: dict[Hashable, int] = {}
    for graph in model.subgraphs:
        for operator in graph.operators:
            code = model.operatorCodes[operator.opcodeIndex]
            # ai-edge-quantizer leaves the old field at 0, which is ADD to those who read it.
            code.builtinCode = builtin_code(code)
            code.deprecatedBuiltinCode = old_code(code.builtinCode)
            key = table_key(code)
            if key not in positions:
                positions[key] = len(codes)
                codes.append(code)
            operator.opcodeIndex = positions[key]
    model.operatorCodes = codes
