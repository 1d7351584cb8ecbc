"""Which scales the kernels of LiteRT and XNNPACK take, operator by operator, and what is wrong with those of a model.

A kernel of LiteRT aborts the process on scales that it does not take, and XNNPACK refuses the whole file, so no file
may be written with them. The smallest scale of a result follows from those of the inputs: finer steps would hold
nothing, since a single step of the inputs is already hundreds of them. So a range that is widened to it loses nothing.
The limits were found by trial with files of one operator, and a test tries both sides of each.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from quantize.arrays import Array
from quantize.errors import RecipeError
from quantize.tflite.graph import Graph, Model, Operator, Tensor, has_scale, op_name, schema, tensor_name
from quantize.tflite.operators import DENSE, DEPTHWISE

_FLOAT32 = np.finfo(np.float32)


@dataclass(frozen=True, kw_only=True)
class Limit:
    """Of one operator: `above`, from the largest scale of each input, is what the scale of the result must exceed;
    `times` is what a kernel multiplies the latter with, in float32.
    """

    above: Callable[[Sequence[float]], float] = lambda _: 0.0
    times: float = 1.0


# XNNPACK: input scale * weight scale / output scale is below 2**8.
_PRODUCT = Limit(above=lambda scales: scales[0] * scales[1] / 2**8)
LIMITS = {
    # LiteRT adds in steps of 2**-20 of twice the larger scale: the multiplier back to the output must be below 1.
    "ADD": Limit(above=lambda scales: 2 * max(scales) / 2**20, times=2.0**20),
    "SUB": Limit(times=2.0**20),
    # The same with 7 bits, squared.
    "SQUARED_DIFFERENCE": Limit(above=lambda scales: (2 * max(scales)) ** 2 / 2**14, times=2.0**14),
    "CONV_2D": _PRODUCT,
    DEPTHWISE: _PRODUCT,
    DENSE: _PRODUCT,
}


def too_fine(model: Model) -> dict[str, float]:
    """Names of results whose scale is too small for a kernel, and what it must exceed."""
    return {
        tensor_name(result): least
        for graph in model.subgraphs
        for _, result, least in _results(model, graph)
        if _largest(result) <= least
    }


def check_scales(model: Model) -> None:
    """Refuses a model with scales that a runtime does not take; the line names tensor and scale."""
    for problem in problems(model):
        raise RecipeError(problem)


def problems(model: Model) -> Iterator[str]:
    """What is wrong, a line each."""
    for graph in model.subgraphs:
        for tensor in graph.tensors:
            if has_scale(tensor) and not _is_normal(_scales(tensor)):
                found = next(float(scale) for scale in _scales(tensor) if not _is_normal(np.array([scale])))
                yield (
                    f"The values of tensor {tensor_name(tensor)!r} are too extreme for 8 bits: expected scales from "
                    f"{_FLOAT32.tiny:.1e} to {_FLOAT32.max:.1e}. Received: {found:g}."
                )
        for operator, result, least in _results(model, graph):
            name, scale = op_name(model, operator), _largest(result)
            if scale <= least:
                yield (
                    f"Tensor {tensor_name(result)!r} must have a scale above {least:g}, which {name} takes with these "
                    f"inputs. Received: {scale:g}, since its inputs are so much larger."
                )
            elif scale * LIMITS[name].times > _FLOAT32.max:
                yield (
                    f"Tensor {tensor_name(result)!r} must have a scale below {_FLOAT32.max / LIMITS[name].times:g}, "
                    f"which {name} takes. Received: {scale:g}."
                )


def _results(model: Model, graph: Graph) -> Iterator[tuple[Operator, Tensor, float]]:
    """Quantized results of operators with a limit, and what their scale must exceed."""
    for operator in graph.operators:
        limit = LIMITS.get(op_name(model, operator))
        result = graph.tensors[operator.outputs[0]]
        if limit is None or not has_scale(result) or result.type != schema.TensorType.INT8:
            continue
        inputs = [graph.tensors[index] for index in operator.inputs[:2]]
        if all(has_scale(tensor) for tensor in inputs):
            yield operator, result, limit.above([_largest(tensor) for tensor in inputs])


def _scales(tensor: Tensor) -> Array:
    quantization = tensor.quantization
    return np.zeros(0) if quantization is None else np.asarray(quantization.scale, np.float64)


def _largest(tensor: Tensor) -> float:
    return float(_scales(tensor).max())


def _is_normal(scales: Array) -> bool:
    return bool(((scales >= _FLOAT32.tiny) & (scales <= _FLOAT32.max)).all())
