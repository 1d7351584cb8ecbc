"""`TrainResult`: the outcome of a training, as a value, as JSON and as one line."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from models_tf.tasks.score import metric_title, metric_unit


@dataclass(frozen=True, kw_only=True)
class TrainResult:
    """`output` holds the checkpoint of `best_epoch`, out of `epochs` trained. `dev_score` is in the unit of `metric`:
    accuracy and F1 in percent. `record` is what `--json` prints, with extras of the kind of model.
    """

    output: Path
    best_epoch: int
    epochs: int
    seconds: float
    metric: str
    dev_score: float
    dev_rows: int
    dev_standard_error: float
    record: Mapping[str, Any]

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> "TrainResult":
        names = ("best_epoch", "epochs", "seconds", "dev_rows")
        # Projection models with one label per text record a share.
        factor = 100 if "dev_accuracy" in record else 1
        return cls(
            output=Path(record["output"]),
            metric=record.get("metric", "accuracy"),
            dev_score=factor * record["dev_accuracy" if "dev_accuracy" in record else "dev_score"],
            dev_standard_error=factor * record["dev_standard_error"],
            record=dict(record),
            **{name: record[name] for name in names},
        )

    def to_dict(self) -> dict[str, Any]:
        """As `export-mobile train --json` prints it."""
        return dict(self.record)

    def summary(self) -> str:
        """One line for people."""
        found = self.record
        more = f", exact match {found['dev_exact_match']:.2f} %" if "dev_exact_match" in found else ""
        if "movement_kept" in found:
            more += f", {100 * found['movement_kept']['share']:.2f} % of the kernels' weights kept"
        if "retention" in found:
            kept = found["retention"]
            more += f"; tokens kept: {' '.join(map(str, kept['lengths']))} ({100 * kept['share']:.1f} %)"
        if "typo_probability" in found:
            shares = "dev_accuracy_with_typos" in found
            typos = 100 * found["dev_accuracy_with_typos"] if shares else found["dev_score_with_typos"]
            more += f", with typos in {100 * found['typo_probability']:.0f} % of the tokens {typos:.2f} %"
        return (
            f"dev {metric_title(self.metric)} {self.dev_score:.2f}{metric_unit(self.metric)} (n = {self.dev_rows}, "
            f"standard error {self.dev_standard_error:.2f}){more}; best epoch: {self.best_epoch} of {self.epochs}; "
            f"checkpoint: {self.output}\n"
        )
