"""Pass: several models of one network, each with a batch size of its own, become one file that holds the weights once.

Requires models with one signature each. The result has a subgraph and a signature for each of them, in the given order
(the first is what a runtime runs when no signature is named), and a buffer with the same content once. Whether the
weights are equal is up to the caller.
"""

import copy
from collections.abc import Mapping

from quantize.tflite.conditions import one_signature
from quantize.tflite.graph import Model
from quantize.tflite.passes.compact import compact


def merge_signatures(models: Mapping[str, Model]) -> Model:
    """A new model from {signature name: model}; the given ones stay as they are."""
    if not models:
        raise ValueError("At least one model was expected. Received: none.")
    copies: list[Model] = []
    for position, (name, source) in enumerate(models.items()):
        for problem in one_signature(source):
            raise ValueError(f"Signature {name!r}: {problem}")
        model = copy.deepcopy(source)
        for signature in model.signatureDefs or ():
            signature.signatureKey, signature.subgraphIndex = name, position
        copies.append(model)
    merged, *others = copies
    for model in others:
        for tensor in model.subgraphs[0].tensors:
            tensor.buffer += len(merged.buffers)
        for operator in model.subgraphs[0].operators:
            operator.opcodeIndex += len(merged.operatorCodes)
        merged.buffers = [*merged.buffers, *model.buffers]
        merged.operatorCodes = [*merged.operatorCodes, *model.operatorCodes]
        merged.subgraphs = [*merged.subgraphs, *model.subgraphs]
        merged.signatureDefs = [*(merged.signatureDefs or ()), *(model.signatureDefs or ())]
    compact(merged)
    return merged
