"""What the operators of TFLite do, as far as quantizers and audits ask: one table for all of them.

Kinds overlap, since each says one thing about an operator. Leaves out versions (`passes/set_versions.py`).
"""

from typing import NamedTuple

from quantize import significance

DENSE = "FULLY_CONNECTED"
# Of two activations.
PRODUCT = "BATCH_MATMUL"
# Looks up rows of a constant, or picks rows of something computed.
LOOKUP = "GATHER"
SPLITS = ("SPLIT", "SPLIT_V")
JOIN = "CONCATENATION"
DEPTHWISE = "DEPTHWISE_CONV_2D"
# Sums and products of two operands, by the names of `attention_scores.Interval`.
ARITHMETIC = {"ADD": "add", "SUB": "sub", "MUL": "mul"}

# The same values in another shape.
RESHAPES = ("EXPAND_DIMS", "RESHAPE", "SQUEEZE")
# The same values in another shape or order: the range in front is the range behind.
REARRANGES = (*RESHAPES, "TRANSPOSE")
# Values of the first input, none changed; some may be left out.
MOVES = (*REARRANGES, LOOKUP, "SLICE", "STRIDED_SLICE")
# Moves that a float region takes along when one of its operators made what they move. Not TRANSPOSE, which arranges
# values for a product of matrices, and that is in int8.
REGION_MOVES = (LOOKUP, "RESHAPE", "STRIDED_SLICE")

# What only a layer norm has, the GELU, the softmax, and the convolutions of ghosts.
REGION_SEEDS = (DEPTHWISE, "GELU", "RSQRT", "SOFTMAX")
# Part of a float region where connected with a seed: the rest of the norm, the skip connection, factors of channels and
# the pooling of an embedding behind the last norm.
REGION_NEIGHBORS = ("ADD", "MEAN", "MUL", "REDUCE_MIN", "SQUARED_DIFFERENCE", "SUB")
# How operators take part in the ranking of tokens.
RANKING = {
    "TOPK_V2": significance.TOP,
    "SOFTMAX": significance.SOFTMAX,
    "ADD": significance.ADD,
    "MUL": significance.ELEMENT,
    "SUB": significance.ELEMENT,
    "MEAN": significance.MEAN,
    "CAST": significance.CAST,
    **dict.fromkeys((*RESHAPES, *REGION_MOVES), significance.MOVE),
}


class Weights(NamedTuple):
    """Where an operator has its weights: position among the inputs, axis of the output channels."""

    position: int
    axis: int


WEIGHTED = {"CONV_2D": Weights(1, 0), DENSE: Weights(1, 0), DEPTHWISE: Weights(1, 3)}
# Position of the bias of all of these.
BIAS = 2
# Weights that int8-dynamic and int8 leave in float: few, XNNPACK has no kernel for them with dynamic activations, and
# see `regions.py`.
DYNAMIC_FLOAT = (DEPTHWISE,)
