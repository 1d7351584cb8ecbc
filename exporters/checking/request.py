"""`CheckRequest`: everything that one check needs to know. The flags of the command are its fields."""

from dataclasses import dataclass, field
from pathlib import Path

from exporters.request_fields import check_fields
from models_tf.data import DEFAULT_SEPARATOR, check_separator, check_threshold
from models_tf.errors import InputError, naming_fields


@dataclass(frozen=True, kw_only=True)
class CheckRequest:
    """Score `model`, a model file or an export folder, on the labelled rows of `data`.

    `data` may be left out for an export of a bundled model, which brings its rows; `rows` uses only the first ones.
    `baseline` is a JSON file that an earlier check wrote with `update_baseline`; `against` is another model file or
    folder, for a comparison without a baseline. At most `max_drop` points may be lost beyond chance (default 0), or
    with `strict` on these very rows. `max_size_bytes` limits every file, `max_latency_ratio` its time as a multiple of
    the baseline's or the other file's. `label_threshold` is the probability from which a label counts, where a text may
    have several (default 0.5). A wrong type or combination is an InputError.
    """

    model: Path
    data: Path | None = None
    baseline: Path | None = None
    update_baseline: bool = False
    against: Path | None = None
    max_drop: float | None = field(default=None, metadata={"unit": "points"})
    strict: bool = False
    max_size_bytes: int | None = field(default=None, metadata={"unit": "bytes"})
    max_latency_ratio: float | None = None
    rows: int | None = None
    text_column: str | None = None
    text_pair_column: str | None = None
    label_column: str | None = None
    label_separator: str = DEFAULT_SEPARATOR
    label_threshold: float | None = None
    seed: int = 0

    @naming_fields()
    def __post_init__(self) -> None:
        check_fields(self)
        check_separator(self.label_separator)
        check_threshold(self.label_threshold)
        compared = self.baseline is not None or self.against is not None
        if self.baseline is not None and self.against is not None:
            raise InputError("A check takes --baseline or --against. Received: both.")
        if self.update_baseline and self.baseline is None:
            raise InputError("--update-baseline needs --baseline FILE to write to. Received: none.")
        for flag, given in (
            ("--max-drop", self.max_drop is not None),
            ("--strict", self.strict),
            ("--max-latency-ratio", self.max_latency_ratio is not None),
        ):
            if given and not compared:
                raise InputError(f"{flag} needs something to compare with: give --baseline or --against.")
            if given and self.update_baseline:
                raise InputError(f"--update-baseline accepts the files as they are. Received: {flag} beside it.")
        if self.max_drop is not None and not 0 <= self.max_drop <= 100:
            raise InputError(f"--max-drop must be from 0 to 100 points. Received: {self.max_drop:g}.")
        if self.max_latency_ratio is not None and not 0 < self.max_latency_ratio <= 1000:
            raise InputError(f"--max-latency-ratio must be above 0, such as 1.2. Received: {self.max_latency_ratio:g}.")
        if self.max_size_bytes is not None and self.max_size_bytes < 1:
            raise InputError(f"--max-size must be at least 1 byte. Received: {self.max_size_bytes}.")
        if self.rows is not None and self.rows < 1:
            raise InputError(f"--rows must be at least 1. Received: {self.rows}.")
