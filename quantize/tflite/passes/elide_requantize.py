"""Pass: a QUANTIZE that changes nothing is left out.

Requires: any graph. Ensures: no QUANTIZE from int8 to int8 with the same scale and zero point is left (a quantizer writes
them behind a GATHER on a quantized table); its readers read what it read. Not one value changes.
"""

from quantize.tflite.flatbuffer import Model, op_name


def elide_requantize(model: Model) -> None:
    """Edits every subgraph of the model in place."""
    for graph in model.subgraphs:
        replaced: dict[int, int] = {}
        kept = []
        outputs = {int(i) for i in graph.outputs}
        for operator in graph.operators:
            operator.inputs = [replaced.get(int(i), int(i)) for i in operator.inputs]
            if op_name(model, operator) == "QUANTIZE" and int(operator.outputs[0]) not in outputs:
                source, target = (graph.tensors[int(i)] for i in (operator.inputs[0], operator.outputs[0]))
                if source.type == target.type and _parameters(source) == _parameters(target):
                    replaced[int(operator.outputs[0])] = int(operator.inputs[0])
                    continue
            kept.append(operator)
        graph.operators = kept


def _parameters(tensor: object) -> tuple[list[float], list[int]]:
    quantization = tensor.quantization  # type: ignore[attr-defined]
    return list(map(float, quantization.scale)), list(map(int, quantization.zeroPoint))
