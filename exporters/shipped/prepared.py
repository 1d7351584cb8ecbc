"""`Prepared`: an exported file with its rows and its tolerance, ready for any runtime; and its answers on this machine.

The reference of every other runtime is LiteRT for .tflite and ONNX Runtime for .onnx, on this machine's processor, in a
process of its own.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from exporters.checking.gates import recipe_of
from exporters.formats.model_file import ModelFile
from exporters.formats.texts import holds_projection
from exporters.runtimes import row_jobs, rules
from exporters.runtimes.row_jobs import Answer, Job
from exporters.shipped import inputs as shipped_inputs
from exporters.shipped.inputs import Feeds, Inputs, first_signature
from exporters.shipped.model import MODEL_FILE, PROJECTION_FILE
from models_tf.checkpoints.json_text import read_json_file
from models_tf.data import DEFAULT_SEPARATOR
from models_tf.errors import InputError
from models_tf.ops.projection.library import library_path
from models_tf.tasks.rows import GUESSED, Columns
from quantize.recipe import FLOAT_ATOL, RECIPES

# Of the range of the answers, for a file without examples.json. A wrong kernel or scale is off by more; kernels that
# round otherwise were seen to differ by 0.5 % (PRADO) to 1.3 % (MiniLM-L6) of it.
_SHARE = 0.02
_FLOAT32 = RECIPES["float32"]
OP_LIBRARIES = {"tflite": "tflite", "onnx": "ort"}
REFERENCES = {"tflite": rules.LITERT, "onnx": rules.ONNXRUNTIME}


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """`tolerance` is that of examples.json, None if there is none."""

    path: Path
    file: ModelFile
    feeds: Feeds
    inputs: Inputs
    tolerance: float | None
    multi_label: bool

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.file.stored).hexdigest()

    @property
    def needs_op(self) -> bool:
        return holds_projection(self.file.content)

    def job(self, library: Path | None = None) -> Job:
        outputs = first_signature(self.file)[1]
        return Job(
            path=self.path,
            rows=self.inputs.rows,
            texts=self.inputs.texts,
            library=library,
            counted=self.inputs.longest(),
            scales={one.name: (one.scale, one.zero_point) for one in outputs if one.scale is not None},
        )

    def here(self) -> Job:
        """For a runtime on this machine that may need the op."""
        return self.job(library_path(OP_LIBRARIES[self.file.format]) if self.needs_op else None)

    def limit(self, reference: Sequence[dict[str, np.ndarray]]) -> tuple[float, str]:
        """The largest difference allowed, and where it comes from."""
        if self.tolerance is not None:
            return self.tolerance, shipped_inputs.EXAMPLES_FILE
        if recipe_of(self.path.name) == _FLOAT32:
            return FLOAT_ATOL, "float32"
        spread = max((float(np.ptp(value)) for row in reference for value in row.values() if value.size), default=0.0)
        return max(_SHARE * spread, FLOAT_ATOL), f"{_SHARE:.0%} of the range of the answers"


def prepare(
    path: Path,
    *,
    data: Path | None,
    rows: int | None,
    columns: Columns = GUESSED,
    label_separator: str = DEFAULT_SEPARATOR,
) -> Prepared:
    """With the rows of a data file, else of examples.json."""
    file = shipped_inputs.open_file(path)
    if data is None:
        feeds = shipped_inputs.from_examples(path.parent, rows=rows)
    else:
        feeds = shipped_inputs.from_data(path, data, rows=rows, columns=columns, label_separator=label_separator)
    return Prepared(
        path=path,
        file=file,
        feeds=feeds,
        inputs=shipped_inputs.shaped(file, feeds),
        tolerance=shipped_inputs.tolerance_of(path),
        multi_label=_multi_label(path.parent),
    )


def references(files: Sequence[Prepared], step: Callable[[str], None] = lambda _: None) -> list[Answer]:
    """The answers of this machine. A file that does not run here is an InputError."""
    found: dict[int, Answer] = {}
    for name, runtime in REFERENCES.items():
        own = [number for number, one in enumerate(files) if one.file.format == name]
        answers = row_jobs.run_rows([files[number].here() for number in own], runtime=runtime, step=step)
        found |= dict(zip(own, answers, strict=True))
    for number, one in enumerate(files):
        if found[number].error:
            raise InputError(f"The file must run in its runtime. Received: {one.path.name}: {found[number].error}.")
    return [found[number] for number in range(len(files))]


def _multi_label(folder: Path) -> bool:
    for name in (MODEL_FILE, PROJECTION_FILE):
        if (folder / name).is_file():
            document = read_json_file(folder / name)
            return isinstance(document, dict) and document.get("multi_label") is True
    return False
