"""Every .onnx recipe of every family in ONNX's own reference implementation, compared with ONNX Runtime.

The reference follows the standard operator by operator, so a file that it runs holds nothing of one runtime alone.
"""

import numpy as np
import pytest
from onnx.reference import ReferenceEvaluator

from support import tiny_files
from support.conversions import EVERYWHERE, OF_TOKENS
from support.tiny_models import CONVERTED

TOKENS = ("mobilebert", "outliers", "albert", "significance", "first", "ghosts on heads", "ghosts on outputs")
ROWS = 4
# The reference rounds each QDQ pair in float where ONNX Runtime adds up integers: a value on the edge of a step goes to
# the next one, which is 1/255 of a tensor's range, and each of the ten to twenty tensors that lie one behind the other
# may do so. sqrt(20) * 2 / 255 = 0.035; a wrong operator is off by more than the 0.12 that int8 itself may lose.
SHARE = {"float32": 1e-5, "fp16": 1e-5, "int4": 0.02, "int8-dynamic": 0.02, "int8": 0.04}


def agrees(model, values, recipe):
    found = tiny_files.run_onnx(model, values)
    evaluator = ReferenceEvaluator(model)
    rows = [evaluator.run(list(found), row) for row in tiny_files.single_rows(values)]
    for (name, expected), answers in zip(found.items(), zip(*rows, strict=True), strict=True):
        assert np.abs(np.concatenate(answers) - expected).max() <= SHARE[recipe] * np.ptp(expected), name


def test_every_family_of_files_has_a_row():
    configs = [CONVERTED[name].config for name in TOKENS]
    assert any(config.use_bottleneck for config in configs)
    assert any(config.shared_layers for config in configs)
    assert any(config.retention for config in configs)
    assert any(config.ghost_heads for config in configs)
    assert {config.activation for config in configs} >= {"gelu", "gelu_tanh", "relu"}


@pytest.mark.slow
@pytest.mark.parametrize("recipe", OF_TOKENS)
@pytest.mark.parametrize("name", TOKENS)
def test_token_models_compute_the_same_in_the_reference(name, recipe):
    agrees(tiny_files.files(name).onnx(recipe), tiny_files.inputs(ROWS, seed=9), recipe)


@pytest.mark.parametrize("recipe", EVERYWHERE)
@pytest.mark.parametrize("kind", tiny_files.KINDS)
def test_projection_models_compute_the_same_in_the_reference(kind, recipe):
    agrees(tiny_files.projection_files(kind).onnx(recipe), {"features": tiny_files.features(ROWS, seed=9)}, recipe)
