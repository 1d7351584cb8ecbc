"""examples.json: sixteen inputs and what each written file answered, in one form for every model.

The form is `examples.schema.json` beside this module. A reader compares its own features or ids, then its own answers,
within the tolerance of the file.
"""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from exporters.formats.artifacts import Placed
from exporters.formats.tensor_names import LABEL
from exporters.report.json_lists import short_lists
from exporters.self_test.example import Worked
from exporters.self_test.tolerance import tolerances
from exporters.verification.parity import Parity
from models_tf.spec import EMBEDDING, END_LOGITS, HIDDEN, POOLED, START_LOGITS

FILE = "examples.json"
FORMAT = "export-mobile-examples/1"
_ABOUT = (
    "Compute `inputs` from the text, run a file with the inputs it takes, and compare. `features` are int8 of `shape`, "
    "zero after the last token: `sha256` is of all their bytes in row-major order, `rows` are the rows of the tokens, "
    "deflated (zlib) and in base64. Ids, mask and segments are given up to the last token; pad with 0. `outputs` hold "
    "the beginning of each answer, int8 as (q - zero_point) * scale: the same corner of yours must not differ by more "
    "than `tolerance`."
)
# Few enough numbers for an app: all logits of a row, of questions the first tokens, of tags and vectors some of each.
_SHOWN_PLACES, _SHOWN_TOKENS, _SHOWN_LABELS, _SHOWN_CHANNELS = 32, 4, 256, 8
_DIGITS = 6


def examples_file(
    worked: Worked, placed: Sequence[Placed], parities: Sequence[Parity], *, model: Mapping[str, Any]
) -> str:
    """The text of examples.json. `model` is the report's description, `parities` are those of the placed files."""
    limits, answers = tolerances(placed, parities), {}
    for one in placed:
        answers[one.name] = one.runner(worked.inputs[one.graph])(worked.feed)
        one.forget()
    document = {
        "format": FORMAT,
        "about": _ABOUT,
        "model": {name: model[name] for name in ("name", "task", "max_seq_len") if name in model},
        "files": {
            one.name: {
                "inputs": list(worked.inputs[one.graph]),
                "runtime": one.format.runtime,
                "tolerance": limits[one.name],
            }
            for one in placed
        },
        "examples": [
            {
                **example.to_dict(),
                "outputs": {
                    file: {
                        name: shown(name, values[row], example.inputs["tokens"])
                        for name, values in outputs.items()
                        if name != LABEL  # it follows from the logits, and may be another where two are nearly equal
                    }
                    for file, outputs in answers.items()
                },
            }
            for row, example in enumerate(worked.examples)
        ],
    }
    return short_lists(json.dumps(document, indent=2, ensure_ascii=False)) + "\n"


def shown(name: str, values: np.ndarray, tokens: int) -> list[Any]:
    """The corner of one answer that is written down."""
    if name in (START_LOGITS, END_LOGITS):
        values = values[: min(tokens, _SHOWN_PLACES)]
    elif values.ndim == 2:
        values = values[: min(tokens, _SHOWN_TOKENS)]
    values = values[..., : _SHOWN_CHANNELS if name in (HIDDEN, POOLED, EMBEDDING) else _SHOWN_LABELS]
    return _numbers(np.round(values.astype(np.float64), _DIGITS).tolist())


def _numbers(values: list[Any]) -> list[Any]:
    """JSON has no infinity: null stands for it."""
    return [_numbers(v) if isinstance(v, list) else v if math.isfinite(v) else None for v in values]
