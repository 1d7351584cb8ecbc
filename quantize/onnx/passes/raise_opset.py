"""Pass: the same graph in a newer opset, for operators that the converter cannot write.

An operator may stay as it is if its definition did not change between the two versions, or if newer ones only take more
types or have new attributes whose defaults say what was meant before (`_SAME`, by the operators' change logs up to
opset 21). Any other is an error: nothing is guessed. Leaves out operators of other domains.
"""

import onnx

from quantize.onnx.conditions import in_order
from quantize.rewrite import rewrite

# 13 to 21: Cast and CastLike got `saturate` for float8 targets, Pad the mode "wrap" and optional axes; the others took
# new types, QuantizeLinear and DequantizeLinear `block_size` (0: none) as well. Checked for opset 21.
_SAME = (
    *("Cast", "CastLike", "Constant", "ConstantOfShape", "DequantizeLinear", "Equal", "Flatten", "Identity", "Pad"),
    *("QuantizeLinear", "ReduceMax", "ReduceMin", "Reshape", "Shape", "Size", "Squeeze", "Transpose", "Unsqueeze"),
)
NEWEST = 21


@rewrite(requires=(in_order,))
def raise_opset(model: onnx.ModelProto, version: int) -> None:
    """Edits the model in place. Its IR version becomes the one that came with the opset."""
    if version > NEWEST:
        raise ValueError(f"Operators are known up to opset {NEWEST}. Received: {version}.")
    entry = next(item for item in model.opset_import if item.domain == "")
    for node in model.graph.node:
        if node.domain:
            continue
        before, after = (onnx.defs.get_schema(node.op_type, of, "").since_version for of in (entry.version, version))
        if before != after and node.op_type not in _SAME:
            raise ValueError(f"{node.op_type} has another meaning in opset {version} than in opset {entry.version}.")
    entry.version = max(entry.version, version)
    model.ir_version = max(model.ir_version, onnx.helper.find_min_ir_version_for(model.opset_import))
