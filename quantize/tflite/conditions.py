"""Conditions that passes over TFLite models require or ensure: what is wrong with a model, structure only."""

from collections.abc import Iterator

from quantize.tflite.graph import Model, called_graphs, has_scale, is_constant, op_name, tensor_name, tensors_of


def in_order(model: Model) -> Iterator[str]:
    """Each operator reads inputs, constants, variables and what operators before it made."""
    for graph in model.subgraphs:
        known = {*graph.inputs, *(index for index, tensor in enumerate(graph.tensors) if tensor.isVariable)}
        for operator in graph.operators:
            for index in operator.inputs:
                if index >= 0 and index not in known and not is_constant(model, graph.tensors[index]):
                    name = tensor_name(graph.tensors[index])
                    yield f"{op_name(model, operator)} reads tensor {index} {name!r} before it is made."
            known.update(operator.outputs)
        for index in graph.outputs:
            if index not in known and not is_constant(model, graph.tensors[index]):
                yield f"output {tensor_name(graph.tensors[index])!r} is not made."


def in_float(model: Model) -> Iterator[str]:
    """No operator makes a quantized tensor; inputs may be small whole numbers."""
    for graph in model.subgraphs:
        for operator in graph.operators:
            if any(has_scale(graph.tensors[index]) for index in operator.outputs):
                yield f"a float graph was expected. Received: {op_name(model, operator)} with a quantized result."


def one_signature(model: Model) -> Iterator[str]:
    found = len(model.signatureDefs or ())
    if len(model.subgraphs) != 1 or found != 1:
        graphs = len(model.subgraphs)
        yield f"a model with one signature was expected. Received: {graphs} subgraphs, {found} signatures."


def nothing_unused(model: Model) -> Iterator[str]:
    """Every tensor, buffer and operator code is referred to; buffer 0 is the empty one by convention."""
    buffers, codes = {0}, set()
    for graph in model.subgraphs:
        used = {*graph.inputs, *graph.outputs}
        for operator in graph.operators:
            used.update(tensors_of(operator))
            used.update(() if operator.intermediates is None else operator.intermediates)
            codes.add(operator.opcodeIndex)
        if len(used) < len(graph.tensors):
            yield f"{len(graph.tensors) - len(used)} tensors are unused."
        buffers.update(tensor.buffer for tensor in graph.tensors)
    if len(buffers) < len(model.buffers):
        yield f"{len(model.buffers) - len(buffers)} buffers are unused."
    if len(codes) < len(model.operatorCodes):
        yield f"{len(model.operatorCodes) - len(codes)} operator codes are unused."


def calls_exist(model: Model) -> Iterator[str]:
    """Operators call graphs that are there, and never the first one."""
    for index in called_graphs(model):
        if not 0 < index < len(model.subgraphs):
            yield f"an operator calls graph {index} of {len(model.subgraphs)}."
