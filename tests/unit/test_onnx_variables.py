"""A traced function loses its variables: small ones become constants, matrices that inputs meet become inputs."""

import numpy as np
import onnxruntime
import pytest
import tensorflow as tf

from exporters.formats.graph import trace
from exporters.formats.onnx import variables
from exporters.formats.onnx.convert import to_onnx
from exporters.formats.onnx.variables import without_variables

RANDOM = np.random.default_rng(0)
TABLE, KERNEL, OTHER = (tf.Variable(RANDOM.normal(size=(64, 64)).astype(np.float32)) for _ in range(3))
BIAS = tf.Variable(RANDOM.normal(size=64).astype(np.float32))
FACTOR = tf.constant(RANDOM.normal(size=64).astype(np.float32))
IDS = RANDOM.integers(0, 64, (2, 3)).astype(np.int32)


def looked_up_and_multiplied(ids):
    return tf.gather(TABLE, ids) @ KERNEL + BIAS * FACTOR


def read_otherwise(ids):
    """The matrix is transposed, which is computed ahead."""
    return tf.matmul(tf.reshape(tf.gather(TABLE, ids), (-1, 64)), tf.transpose(KERNEL) * 2.0)


def looked_up_at_known_places(ids):
    return tf.gather(TABLE, ids) + tf.gather(OTHER, tf.constant([5, 4, 3]))


def read_twice(ids):
    flat = tf.reshape(tf.gather(TABLE, ids), (-1, 64))
    return tf.matmul(tf.nn.relu(tf.matmul(flat, KERNEL)), KERNEL)


CASES = [
    (looked_up_and_multiplied, 2),
    (read_otherwise, 1),
    (looked_up_at_known_places, 1),
    (read_twice, 2),
]


@pytest.mark.parametrize(("function", "matrices"), CASES, ids=[function.__name__ for function, _ in CASES])
def test_the_answers_stay_and_only_matrices_that_inputs_meet_are_taken_out(function, matrices):
    traced = trace(function, {"ids": ((None, 3), "int32")})
    definition, taken = without_variables(traced)
    assert len(taken) == matrices
    assert not {node.op for node in definition.node} & {"ReadVariableOp", "ResourceGather", "VarHandleOp"}
    model = to_onnx(traced)
    assert [value.name for value in model.graph.input] == ["ids"]
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    np.testing.assert_allclose(session.run(None, {"ids": IDS})[0], function(IDS).numpy(), rtol=1e-4, atol=1e-4)


def with_a_bias_of_zeros(ids):
    return tf.matmul(tf.reshape(tf.gather(TABLE, ids), (-1, 64)), KERNEL) + tf.zeros(64)


@pytest.mark.parametrize("function", [looked_up_and_multiplied, read_twice, with_a_bias_of_zeros])
def test_the_model_is_the_one_that_constants_would_give(function, monkeypatch):
    def model():
        return to_onnx(trace(function, {"ids": ((None, 3), "int32")})).SerializeToString(deterministic=True)

    without_matrices = model()
    monkeypatch.setattr(variables, "_LARGE", TABLE.shape.num_elements() + 1)
    assert model() == without_matrices


def test_small_matrices_are_constants():
    small = tf.Variable(RANDOM.normal(size=(64, 8)).astype(np.float32))
    traced = trace(lambda x: x @ small, {"x": ((None, 64), "float32")})
    definition, taken = without_variables(traced)
    assert not taken
    assert not [node for node in definition.node if node.op == "Placeholder" and node.name != "x"]


def test_a_function_that_calls_another_is_refused():
    inner = tf.function(lambda x: x @ KERNEL)
    traced = trace(lambda x: inner(x), {"x": ((None, 64), "float32")})  # noqa: PLW0108 - it must be called
    with pytest.raises(ValueError, match=r"must call no other\. Received: .*PartitionedCall"):
        without_variables(traced)
