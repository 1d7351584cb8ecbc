"""What the operators of ONNX do, as far as quantizers and audits ask: one table for all of them.

Kinds overlap, since each says one thing about an operator.
"""

import onnx

from quantize import significance

# Products with weights, and their operands: values, weights, bias.
DENSE = ("Gemm", "MatMul")
WEIGHTED = ("Conv", *DENSE)
WEIGHTS, BIAS = 1, 2
MATRIX = 2  # axes; weights of a MatMul with more are several, as those of heads
# Looks up rows of a constant, or picks rows of something computed.
LOOKUP = "Gather"

# The same values in another shape or order: the range in front is the range behind.
REARRANGES = ("Identity", "Reshape", "Squeeze", "Transpose", "Unsqueeze")
# Values of the first input, none changed; some may be left out.
MOVES = (*REARRANGES, "Slice")
# What comes out has the scale of what went in: moves, with one or several results, and Pad, whose zero every scale has.
SCALE_KEEPING = (*MOVES, "Flatten", "Pad", "Split")

# Other operators that compute in integers between two quantizations.
INTEGER_KERNEL = ("Add", "Concat", "Mul", "ReduceMean", "Relu", "Sigmoid")
# No integer kernel in ONNX Runtime 1.31.
WITHOUT_KERNEL = (
    *("Abs", "Div", "Erf", "Exp", "Gelu", "LayerNormalization", "Log", "Neg", "Pow", "Reciprocal", "ReduceSum", "Sqrt"),
    *("Sub", "Tanh"),
)
# With one that takes several times as long as the float kernel (ONNX Runtime 1.31: 0.6 against 0.13 ms in MiniLM).
SLOW_KERNEL = ("Softmax",)
# With one, but of no use beside the others.
REGION_NEIGHBORS = ("Add", "Mul", "ReduceMean", "ReduceMin")
# How operators take part in the ranking of tokens.
RANKING = {
    "TopK": significance.TOP,
    "Softmax": significance.SOFTMAX,
    "Add": significance.ADD,
    "Mul": significance.ELEMENT,
    "Sub": significance.ELEMENT,
    "ReduceMean": significance.MEAN,
    "Cast": significance.CAST,
    **dict.fromkeys((LOOKUP, *MOVES), significance.MOVE),
}

# Both take (values, scale, zero point).
LINEAR = ("QuantizeLinear", "DequantizeLinear")
# Products whose scales are found while running.
DYNAMIC = ("ConvInteger", "MatMulInteger")


def is_grouped(node: onnx.NodeProto) -> bool:
    """A convolution of groups of channels, as a depthwise one is.

    It has few weights, and in integers ONNX Runtime 1.31 multiplies group by group: several times as long as in float.
    """
    return node.op_type == "Conv" and any(item.name == "group" and item.i > 1 for item in node.attribute)
