"""What the tests of layers that share weights measure: stored weights, their uses, and the error of a file."""

import numpy as np

from support import tiny_files
from support.tiny_models import CONVERTED

BYTES = {"float32": 4, "fp16": 2, "int8-dynamic": 1, "int8": 1}
VALUES = tiny_files.inputs(40, seed=9)
# Limits of `error`. float16: a step of 2**-11 of each weight, through all layers. int8: as without sharing, where
# queries and keys are rounded by about 1/60 and give scores of about 6 units: 0.1 in a score is a tenth of an attention
# weight, in every layer; twice that is allowed.
ALLOWED = {"float32": 1e-4, "fp16": 0.02, "int8-dynamic": 0.2, "int8": 0.2}


def matrices(name: str) -> int:
    """Elements of all matrices and tables that the network stores."""
    return sum(values.size for values in tiny_files.graph(name).network.tensors.values() if values.ndim == 2)


def uses(name: str) -> int:
    """How many layers use the weights of one."""
    config = CONVERTED[name].config
    return config.num_layers // len(config.first_uses)


def layers(name: str) -> int:
    """Elements of the matrices of one layer."""
    tensors = tiny_files.graph(name).network.tensors
    return sum(values.size for key, values in tensors.items() if values.ndim == 2 and key.startswith("layers.0."))


def error(found: dict[str, np.ndarray], name: str) -> float:
    """Root mean square over that of the float answers, around their mean of all rows."""
    (expected,) = tiny_files.graph(name).predict(VALUES).values()
    (answers,) = found.values()
    size = np.sqrt(np.mean(np.square(expected - expected.mean(axis=0))))
    return float(np.sqrt(np.mean(np.square(answers - expected))) / size)
