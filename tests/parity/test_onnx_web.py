"""Every .onnx recipe of every family in ONNX Runtime Web, compared with ONNX Runtime.

WebAssembly multiplies bytes in another way than x86 without VNNI: files whose 16-bit sums saturate there differ here.
"""

import numpy as np
import pytest

from support import ort_web, tiny_files
from support.conversions import EVERYWHERE, OF_TOKENS

TOKENS = ("mobilebert", "outliers", "albert", "significance", "ghosts on heads", "ghosts on outputs")
ROWS = 4
# The same integers, and float sums in another order; where these are rounded to a step a value on its edge goes to the
# next one, as in test_onnx_reference.py.
SHARE = {"float32": 1e-5, "fp16": 1e-5, "int4": 0.02, "int8-dynamic": 0.02, "int8": 0.02}

pytestmark = [
    pytest.mark.exhaustive,
    pytest.mark.skipif(bool(ort_web.missing()), reason=f"needs {ort_web.missing()}"),
]


@pytest.mark.parametrize("recipe", OF_TOKENS)
def test_all_families_compute_the_same_in_the_web(recipe, tmp_path):
    made = [(name, tiny_files.files(name), tiny_files.inputs(ROWS, seed=9)) for name in TOKENS]
    if recipe in EVERYWHERE:
        made += [(k, tiny_files.projection_files(k), {"features": tiny_files.features(ROWS)}) for k in tiny_files.KINDS]
    models = [files.onnx(recipe) for _, files, _ in made]
    rows = [tiny_files.single_rows(values) for *_, values in made]
    answers = ort_web.run(models, rows, tmp_path)
    for (name, _, values), model, found in zip(made, models, answers, strict=True):
        for output, expected in tiny_files.run_onnx(model, values).items():
            web = np.concatenate([row[output] for row in found])
            assert np.abs(web - expected).max() <= SHARE[recipe] * np.ptp(expected), (name, output)
