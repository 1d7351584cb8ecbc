"""`ProfileRequest`: the input of one profile. Its fields are the flags of the command. Imports nothing heavy."""

from dataclasses import dataclass
from pathlib import Path

from exporters.request import ExportRequest
from exporters.request_choices import FOLDS, TARGETS
from exporters.request_fields import check_fields
from models_tf import registry
from models_tf.errors import InputError, naming_fields
from quantize.recipe import RECIPES

DEFAULT_RECIPE = "float32"
DEFAULT_ROUNDS = 30
# Five blocks need five rounds; the profiler of ONNX Runtime keeps a million events, some thousand per round.
MIN_ROUNDS, MAX_ROUNDS = 5, 200


@dataclass(frozen=True, kw_only=True)
class ProfileRequest:
    """One profile of a token model.

    Args:
        model: its name, as in `export-mobile models`; by default read from the checkpoint.
        checkpoint: a Hugging Face folder or hub id.
        random_init: untrained weights in the sizes of `preset` instead of a checkpoint.
        preset: which sizes; by default the model's first preset.
        task: what the model does; by default read from its head.
        quantize: the recipe, as in an export.
        target: the formats to measure.
        calibration_data: rows to calibrate static int8; `text_column` and `text_pair_column` name their columns.
        max_seq_len: tokens per input; by default 128, or all positions if fewer.
        fold: which exact rewrites: full, safe or off.
        rounds: how often each file is measured, 5 to 200.
        output: folder for report.md, report.json and profile.svg; by default nothing is written.
        force: replace an earlier output of export-mobile.
        seed: for `random_init` and made-up rows.

    Raises:
        InputError: a value of the wrong type, or one that cannot be profiled; in one line.
    """

    model: str | None = None
    checkpoint: Path | None = None
    random_init: bool = False
    preset: str | None = None
    task: str | None = None
    quantize: str = DEFAULT_RECIPE
    target: tuple[str, ...] = TARGETS
    calibration_data: Path | None = None
    text_column: str | None = None
    text_pair_column: str | None = None
    max_seq_len: int | None = None
    fold: str = FOLDS[0]
    rounds: int = DEFAULT_ROUNDS
    output: Path | None = None
    force: bool = False
    seed: int = 0

    @naming_fields()
    def __post_init__(self) -> None:
        export = self.as_export()  # checks the shared fields and orders the targets
        object.__setattr__(self, "target", export.target)
        check_fields(self)
        if export.kind != registry.TOKENS:
            received = f"the model {self.model}" if self.model else str(self.checkpoint or "neither of them")
            raise InputError(
                f"profile is for token models ({', '.join(registry.names(registry.TOKENS))}): give --model and "
                f"--checkpoint DIR or --random-init. Received: {received}."
            )
        if not MIN_ROUNDS <= self.rounds <= MAX_ROUNDS:
            raise InputError(f"--rounds must be {MIN_ROUNDS} to {MAX_ROUNDS}. Received: {self.rounds}.")
        if RECIPES[self.quantize].needs_calibration and not self.random_init and self.calibration_data is None:
            raise InputError(f"Recipe {self.quantize} needs example texts: give --calibration-data FILE.")

    def as_export(self) -> ExportRequest:
        """The export whose files are measured."""
        values = {name: value for name, value in vars(self).items() if name != "rounds"}
        return ExportRequest(**values)
