"""Which operators of a .tflite file XNNPACK takes, and in how many partitions: asked of LiteRT.

LiteRT applies XNNPACK when it allocates the tensors. Each partition is then one more node behind those of the file; the
nodes that it stands for are found from its outputs back to its inputs. Loads the file in this process, which may
crash: `exporters/anatomy/partitions.py` has one for it. Leaves out all graphs but the first.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from exporters.anatomy.runtime_plan import RuntimePlan
from exporters.formats.tflite.file import open_tflite
from exporters.formats.tflite.runner import LITERT
from models_tf.ops.projection import tflite_loader
from quantize.tflite.graph import op_name
from quantize.tflite.passes.prepend_projection import CUSTOM_OP

RUNTIME, DELEGATE = "LiteRT", "XNNPACK"


def runtime_plan(content: bytes) -> RuntimePlan:
    model = open_tflite(content).model
    names = [op_name(model, operator) for operator in model.subgraphs[0].operators]
    every = {op_name(model, operator) for graph in model.subgraphs for operator in graph.operators}
    version = tflite_loader.installed_version(LITERT) or ""
    try:
        nodes = _nodes(content, projection=CUSTOM_OP in every)
    except (RuntimeError, ValueError) as error:
        return RuntimePlan(runtime=RUNTIME, version=version, problem=_first_sentence(str(error)))
    partitions = nodes[len(names) :]
    taken = delegated(nodes[: len(names)], partitions)
    return RuntimePlan(
        runtime=RUNTIME,
        version=version,
        delegate=DELEGATE,
        partitions=len(partitions),
        delegated=_counts(name for place, name in enumerate(names) if place in taken),
        kept=_counts(name for place, name in enumerate(names) if place not in taken),
    )


Node = tuple[list[int], list[int]]  # the tensors that it reads and writes


def delegated(nodes: list[Node], partitions: list[Node]) -> set[int]:
    """The nodes that stand between the inputs and the outputs of a partition."""
    makers = {tensor: place for place, (_, outputs) in enumerate(nodes) for tensor in outputs}
    found = set[int]()
    for inputs, outputs in partitions:
        waiting, borders = list(outputs), set(inputs)
        while waiting:
            place = makers.get(waiting.pop())
            if place is not None and place not in found:
                found.add(place)
                waiting += [tensor for tensor in nodes[place][0] if tensor not in borders]
    return found


def _nodes(content: bytes, *, projection: bool) -> list[Node]:
    if projection:
        interpreter: Any = tflite_loader.interpreter(content, runtime=LITERT)
    else:
        interpreter = tflite_loader.import_interpreter(LITERT).Interpreter(model_content=content, num_threads=1)
    interpreter.allocate_tensors()
    details = interpreter._get_ops_details()  # noqa: SLF001 - LiteRT has no public list of its nodes
    return [tuple([int(index) for index in node[side]] for side in ("inputs", "outputs")) for node in details]  # type: ignore[misc]


def _counts(names: Iterable[str]) -> dict[str, int]:
    return dict(Counter(names).most_common())


def _first_sentence(message: str) -> str:
    """LiteRT adds advice and the node's number to what is wrong."""
    first = message.strip().splitlines()[0] if message.strip() else "no reason given"
    return first.partition(" See instructions")[0].rstrip(". ")
