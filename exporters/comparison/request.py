"""`CompareRequest`: which reports are compared, and within which limits a file is picked."""

import math
from dataclasses import dataclass, field
from pathlib import Path

from exporters.request_fields import check_fields
from models_tf.errors import InputError, naming_fields


@dataclass(frozen=True, kw_only=True)
class CompareRequest:
    """`reports` are export folders or their report.json. Picks are files within all limits that are given.

    `target` keeps the files of these formats only; empty means all.
    """

    reports: tuple[Path, ...]
    target: tuple[str, ...] = ()
    max_size_bytes: int | None = field(default=None, metadata={"unit": "bytes"})
    max_latency_ms: float | None = field(default=None, metadata={"unit": "milliseconds"})
    min_accuracy: float | None = field(default=None, metadata={"unit": "points"})

    @naming_fields()
    def __post_init__(self) -> None:
        check_fields(self)
        if not self.reports:
            raise InputError("compare needs export folders or their report.json. Received: none.")
        if self.max_size_bytes is not None and self.max_size_bytes < 1:
            raise InputError(f"--max-size must be at least 1 byte. Received: {self.max_size_bytes}.")
        if self.max_latency_ms is not None and not 0 < self.max_latency_ms < math.inf:
            raise InputError(
                f"--max-latency must be a number of milliseconds above 0. Received: {self.max_latency_ms}."
            )
        if self.min_accuracy is not None and not -100 <= self.min_accuracy <= 100:
            raise InputError(f"--min-accuracy must be -100 to 100 points. Received: {self.min_accuracy}.")
