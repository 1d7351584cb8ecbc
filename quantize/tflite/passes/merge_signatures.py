"""Pass: several models of one network, each with a batch size of its own, become one file that holds the weights once.

Requires: models with one subgraph and one signature each. Ensures: one subgraph and one signature for each of them, in
the given order (the first is what a runtime runs when no signature is named); a buffer with the same content exists
once, so equal weights cost their bytes once. Whether the weights are equal is the caller's business.
"""

import copy
from collections.abc import Mapping
from typing import Any

from quantize.tflite.flatbuffer import Model
from quantize.tflite.passes.compact import compact


def merge_signatures(models: Mapping[str, Model]) -> Model:
    """A new model from {signature name: model}; the given ones stay as they are."""
    if not models:
        raise ValueError("At least one model was expected. Received: none.")
    merged: Any = None
    for position, (name, source) in enumerate(models.items()):
        if len(source.subgraphs) != 1 or len(source.signatureDefs or ()) != 1:
            raise ValueError(f"Model {name!r} must have one signature. Received: {len(source.signatureDefs or ())}.")
        model = copy.deepcopy(source)
        signature = model.signatureDefs[0]
        signature.signatureKey = name
        signature.subgraphIndex = position
        if merged is None:
            merged = model
            continue
        for tensor in model.subgraphs[0].tensors:
            tensor.buffer += len(merged.buffers)
        for operator in model.subgraphs[0].operators:
            operator.opcodeIndex += len(merged.operatorCodes)
        merged.buffers = [*merged.buffers, *model.buffers]
        merged.operatorCodes = [*merged.operatorCodes, *model.operatorCodes]
        merged.subgraphs = [*merged.subgraphs, *model.subgraphs]
        merged.signatureDefs = [*merged.signatureDefs, signature]
    compact(merged)
    return merged
