"""Operators of ONNX and of ONNX Runtime that read quantized weights, and where their scales and zero points are."""

from typing import NamedTuple

MICROSOFT = "com.microsoft"


class Places(NamedTuple):
    """Positions among the inputs. -1: the scale is applied by a later operator."""

    weights: int
    scales: int
    zero_points: int


# By name with domain (`walk.full_name`); an operator may have several weights.
QUANTIZED = {
    "DequantizeLinear": (Places(0, 1, 2),),
    "MatMulInteger": (Places(1, -1, 3),),
    "ConvInteger": (Places(1, -1, 3),),
    "QLinearMatMul": (Places(3, 4, 5),),
    "QLinearConv": (Places(3, 4, 5),),
    f"{MICROSOFT}.DequantizeLinear": (Places(0, 1, 2),),
    f"{MICROSOFT}.QGemm": (Places(3, 4, 5),),
    f"{MICROSOFT}.DynamicQuantizeMatMul": (Places(1, 2, 3),),
    f"{MICROSOFT}.MatMulIntegerToFloat": (Places(1, 3, 5),),
    f"{MICROSOFT}.MatMulNBits": (Places(1, 2, 3),),
    f"{MICROSOFT}.GatherBlockQuantized": (Places(0, 2, 3),),
    f"{MICROSOFT}.QAttention": (Places(1, 4, 7),),
    f"{MICROSOFT}.DynamicQuantizeLSTM": (Places(1, 8, 9), Places(2, 10, 11)),
}
# Weights of fewer than eight bits, packed into bytes; the attribute says how many bits, 4 where it is left out.
PACKED = (f"{MICROSOFT}.MatMulNBits", f"{MICROSOFT}.GatherBlockQuantized")
# The scales of the activations are found while running.
DYNAMIC = (
    "DynamicQuantizeLinear",
    "MatMulInteger",
    "ConvInteger",
    f"{MICROSOFT}.DynamicQuantizeMatMul",
    f"{MICROSOFT}.MatMulIntegerToFloat",
    f"{MICROSOFT}.DynamicQuantizeLSTM",
    f"{MICROSOFT}.QAttention",
)
# Activations come as numbers with a fixed scale, beside the operators whose names start with QLinear.
STATIC = ("QuantizeLinear", f"{MICROSOFT}.QuantizeLinear", f"{MICROSOFT}.QGemm")
# Only turn float into integers or back.
BORDERS = ("QuantizeLinear", "DequantizeLinear", f"{MICROSOFT}.QuantizeLinear", f"{MICROSOFT}.DequantizeLinear")


def is_integer(name: str) -> bool:
    """Whether the operator computes with integers or with quantized weights, whatever surrounds it."""
    return name in QUANTIZED or name in DYNAMIC or name.removeprefix(f"{MICROSOFT}.").startswith("QLinear")
